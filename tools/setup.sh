#!/usr/bin/env bash
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need: Debian packages (as root; otherwise it says what to install) and, if asked, a Python
# environment in .venv. Does nothing where all is there already, so every make target may call it.
#
# usage: tools/setup.sh [--python] [--capture] [--ci]
#   (nothing)   what the commands are built from: Debian packages only, no package of PyPI
#   --python    also .venv with the tests' and linters' packages
#   --capture   also PyTorch and JAX in it, for the tests of the capture code
#   --ci        as --python, and also the sanitizer and fuzzing tools
set -euo pipefail
cd "$(dirname "$0")/.."

lists=(tools/debian-packages.txt)
requirements=()
for argument in "$@"; do
  case $argument in
    --python) requirements=(tools/requirements.txt) ;;
    --ci) lists+=(tools/debian-packages-ci.txt) requirements=(tools/requirements.txt) ;;
    --capture) requirements=(tools/requirements.txt tools/requirements-capture.txt) ;;
    *) echo "setup: unknown argument $argument" >&2; exit 2 ;;
  esac
done

debian_packages() {
  local missing=() package
  while read -r package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done < <(grep -hv '^#' "${lists[@]}")
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -eq 0 ]; then
    echo "setup: installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    return
  fi
  # A compiler and CMake of another origin (conda, pip, a newer release) serve as well, so this is advice and not an error.
  echo "setup: these Debian packages are not installed, and you are not root: ${missing[*]}" >&2
  echo "setup: if the build fails for want of one of them, run:  sudo apt-get install ${missing[*]}" >&2
}

if command -v dpkg-query >/dev/null; then
  debian_packages
else
  echo "setup: not a Debian system: a C++20 compiler, CMake >= 3.25, Ninja, zlib and FLINT (with Arb) must be installed" >&2
fi

[ ${#requirements[@]} -gt 0 ] || exit 0

# The frameworks are large: an environment that sees the packages of the interpreter that made it takes them from there.
python=${PYTHON:-python3}
stamp=.venv/.requirements
wanted=$(cat "${requirements[@]}" | sha256sum)
if [ ! -x .venv/bin/python ]; then
  "$python" -m venv --system-site-packages .venv || {
    echo "setup: $python cannot make a virtual environment; on Debian:  sudo apt-get install python3-venv" >&2
    exit 1
  }
fi
if ! grep -qsF "$wanted" "$stamp"; then
  log=.venv/pip.log
  .venv/bin/python -m pip install -q --disable-pip-version-check $(printf -- '-r %s ' "${requirements[@]}") >"$log" 2>&1 || {
    cat "$log" >&2
    echo "setup: pip could not install what ${requirements[*]} name; its words are above. The commands themselves need none of it: make build" >&2
    exit 1
  }
  # pytest from outside the environment would not find packages inside it: all commands are called as `.venv/bin/python -m NAME`.
  echo "$wanted" >> "$stamp"
fi
