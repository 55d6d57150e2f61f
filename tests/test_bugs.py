# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""docs/bugs.md names every kind and every report of the catalogue of public bug reports; test_golden.py runs what rebuilds them."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_every_report_is_in_the_table() -> None:
    if not (ROOT.parent / "shared/bugs/public_bugs.json").exists():
        pytest.skip("no catalogue of public bug reports here")
    done = subprocess.run([sys.executable, ROOT / "tools/bug_table.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
