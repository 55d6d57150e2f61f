# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, run in a pytest of its own."""

import pathlib

import pytest

pytest_plugins = ["pytester"]
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def run(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    pytester.makepyfile(
        f"import pytest\nfrom shardproof.pytest_plugin import assert_refines\nGOLDEN = {str(GOLDEN)!r}\n{body}"
    )
    return pytester.runpytest_inprocess("-p", "shardproof.pytest_plugin", "--strict-markers")


def test_assert_refines(binary: pathlib.Path, pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_right():\n    assert assert_refines(GOLDEN + '/mlp_tp2').proved\n")
    result.assert_outcomes(passed=1)


def test_a_failure_shows_the_report_and_no_traceback(binary: pathlib.Path, pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_wrong():\n    assert_refines(GOLDEN + '/mlp_tp2__no_reduce')\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*REFUTED*"])
    assert "pytest_plugin.py" not in result.stdout.str()


def test_mark(binary: pathlib.Path, pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        "@pytest.mark.shardproof(GOLDEN + '/mlp_tp2')\n"
        "def test_right(shardproof_report):\n    assert shardproof_report.proved\n"
        "@pytest.mark.shardproof(GOLDEN + '/mlp_tp2__no_reduce')\n"
        "def test_wrong():\n    raise RuntimeError('the body must not run')\n",
    )
    result.assert_outcomes(passed=1, errors=1)
    assert "must not run" not in result.stdout.str().replace("raise RuntimeError", "")


def test_unknown_can_be_allowed(binary: pathlib.Path, pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        "def test_unknown():\n    assert assert_refines(GOLDEN + '/constant_output', allow_unknown=True).verdict == 'UNKNOWN'\n",
    )
    result.assert_outcomes(passed=1)
