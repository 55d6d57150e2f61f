# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Every rule of the prover is applied in tests, and every side condition says no in one (tools/rule_table.py)."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools/rule_table.py"


def test_code_and_docs_name_the_same_rules() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--names"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_rule_is_tried(binary: pathlib.Path) -> None:
    if not binary.with_name("test_prove").exists():
        pytest.skip("this build has no unit tests")
    done = subprocess.run([sys.executable, str(TOOL), "--binary", str(binary)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
