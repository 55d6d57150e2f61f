# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Every registered lowering of XLA and TensorFlow is met in a test (tools/lowering_table.py), but for those of lowering_known.txt."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools/lowering_table.py"


def test_every_lowering_is_met(binary: pathlib.Path) -> None:
    if not binary.with_name("test_lower").exists():
        pytest.skip("this build has no unit tests")
    command = [sys.executable, str(TOOL), "--binary", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
