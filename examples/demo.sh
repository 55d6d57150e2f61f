#!/usr/bin/env bash
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# A transformer block under tensor parallelism, forward, loss and backward: right, then with one all-reduce of the backward pass forgotten.
set -uo pipefail
cd "$(dirname "$0")/transformer_tp2"
shardproof=${SHARDPROOF:-../../build/release/shardproof}

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
failed=0
run() {  # run EXPECTED_EXIT ARGUMENTS...
  local expected=$1
  shift
  printf '$ shardproof %s\n\n' "$*"
  "$shardproof" "$@"
  local status=$?
  if [ $status -ne "$expected" ]; then
    echo "demo: exit code $status, expected $expected" >&2
    failed=1
  fi
}

say "1. The tensor-parallel block of model.py against the one-device block (two ranks, all gradients):"
run 0 check right
say "2. The same with ForgetfulEnterParallel: the backward pass does not reduce the gradient of the activation."
run 1 check wrong --witness "${TMPDIR:-/tmp}/shardproof-demo-witness.json"
say "3. The witness is replayed: both programs are evaluated on inputs of the real size."
run 0 replay "${TMPDIR:-/tmp}/shardproof-demo-witness.json" --manifest wrong
exit $failed
