#!/usr/bin/env bash
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need: Debian packages (as root; otherwise it says what to install) and, if asked, a Python
# environment in .venv. Does nothing where all is there already, so every make target may call it.
#
# usage: tools/setup.sh [--python] [--capture] [--frameworks] [--ci]
#   (nothing)      what the commands are built from: Debian packages only, no package of PyPI
#   --python       also .venv with the tests' and linters' packages
#   --capture      also PyTorch and JAX in it, for the tests of the capture code
#   --frameworks   also .venv-frameworks, which sees all of .venv, with Transformers, torchtitan, Megatron-core and TensorFlow
#   --ci           as --python, and also the sanitizer and fuzzing tools
#
# Of PyTorch only builds for the CPU are taken: SHARDPROOF_TORCH names another requirement, or the index to ask (see below).
set -euo pipefail
cd "$(dirname "$0")/.."

lists=(tools/debian-packages.txt)
requirements=()
capture= frameworks=
for argument in "$@"; do
  case $argument in
    --python) requirements=(tools/requirements.txt) ;;
    --ci) lists+=(tools/debian-packages-ci.txt) requirements=(tools/requirements.txt) ;;
    --capture) capture=1 requirements=(tools/requirements.txt tools/requirements-capture.txt) ;;
    --frameworks) capture=1 frameworks=1 requirements=(tools/requirements.txt tools/requirements-capture.txt) ;;
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

pip_install() {  # pip_install ENVIRONMENT ARGUMENT...: quietly; pip's words are in ENVIRONMENT/pip.log
  local environment=$1
  shift
  "$environment/bin/python" -m pip install -q --disable-pip-version-check "$@" >"$environment/pip.log" 2>&1
}

version_of() {  # version_of ENVIRONMENT PACKAGE: as PyPI counts it, or nothing
  "$1/bin/python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]).split("+")[0])' "$2" 2>/dev/null || true
}

# PyPI's PyTorch for Linux on x86-64 brings CUDA: gigabytes that no test uses. So: the build for CPUs, from whatever index pip is set up with, else from
# PyTorch's own. Where neither has it, PyTorch is left out, and the tests that capture its programs are skipped.
install_torch() {
  local version there
  version=$(sed -n 's/^torch==//p' tools/requirements-capture.txt)
  there=$(version_of .venv torch)
  [ "$there" != "$version" ] || return 0
  if [ -n "${SHARDPROOF_TORCH:-}" ]; then
    pip_install .venv "$SHARDPROOF_TORCH" && return
    cat .venv/pip.log >&2
    echo "setup: pip could not install SHARDPROOF_TORCH=$SHARDPROOF_TORCH" >&2
  elif [ "$(uname -sm)" = "Linux x86_64" ]; then
    pip_install .venv "torch==$version+cpu" && return
    pip_install .venv --timeout 10 --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu "torch==$version+cpu" && return
    echo "setup: no index that can be reached from here has PyTorch $version for the CPU" >&2
    echo "setup: SHARDPROOF_TORCH=torch==$version tools/setup.sh --capture  takes PyPI's build, with CUDA (several GB)" >&2
  else
    pip_install .venv "torch==$version" && return
    cat .venv/pip.log >&2
    echo "setup: pip could not install PyTorch $version" >&2
  fi
  if [ -n "$there" ]; then
    echo "setup: PyTorch $there, which is installed, is used instead" >&2
  else
    echo "setup: the tests that need PyTorch are skipped" >&2
  fi
}

[ -z "$capture" ] || install_torch
if ! grep -qsF "$wanted" "$stamp"; then
  cat "${requirements[@]}" | grep -v '^torch==' >.venv/requirements.txt
  pip_install .venv -r .venv/requirements.txt || {
    cat .venv/pip.log >&2
    echo "setup: pip could not install what ${requirements[*]} name; its words are above. The commands themselves need none of it: make build" >&2
    exit 1
  }
  # pytest from outside the environment would not find packages inside it: all commands are called as `.venv/bin/python -m NAME`.
  echo "$wanted" >> "$stamp"
fi

[ -n "$frameworks" ] || exit 0
inner=.venv-frameworks
[ -n "$(version_of .venv torch)" ] || { echo "setup: the frameworks need PyTorch, which is not installed (see above)" >&2; exit 1; }
wanted=$(sha256sum <tools/requirements-frameworks.txt)
if ! grep -qsF "$wanted" $inner/.requirements; then
  .venv/bin/python -m venv --system-site-packages $inner
  # An environment made from another one sees the interpreter's packages and not that one's, so they are named to it.
  purelib='import sysconfig; print(sysconfig.get_path("purelib"))'
  .venv/bin/python -c "$purelib" >"$($inner/bin/python -c "$purelib")/outer.pth"
  echo "torch==$(version_of .venv torch)" >$inner/constraints.txt
  # Megatron-core says that it needs Python 3.12; it runs on 3.11.
  pip_install $inner --ignore-requires-python -c $inner/constraints.txt -r tools/requirements-frameworks.txt || {
    cat $inner/pip.log >&2
    echo "setup: pip could not install what tools/requirements-frameworks.txt names; its words are above" >&2
    exit 1
  }
  echo "$wanted" >>$inner/.requirements
fi
