# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The answer as typed values, and its renderings."""

import pytest

from shardproof import InputError, Report

ANSWER = {
    "version": 1,
    "verdict": "REFUTED",
    "reason": None,
    "outputs": [
        {
            "name": "div",
            "label": "loss",
            "status": "PROVED",
            "relation": "Replicate",
            "expected": "Replicate",
            "dist": "div",
            "reason": None,
            "blame": None,
        },
        {
            "name": "mm_3",
            "label": "grad <w>",
            "status": "REFUTED",
            "relation": "Partial(sum)@tp",
            "expected": "Replicate",
            "dist": "mm_3",
            "reason": None,
            "blame": None,
        },
        {
            "name": "x",
            "label": None,
            "status": "UNCHECKED",
            "relation": None,
            "expected": None,
            "dist": None,
            "reason": None,
            "blame": None,
        },
    ],
    "blame": {
        "sequential": {"node": "mm_3", "op": "aten.mm.default", "file": "model.py", "line": 31},
        "distributed": [{"rank": 0, "node": "mm_3", "op": "aten.mm.default", "file": "model.py", "line": 40}],
        "code": "SP103",
        "kind": "missing-all-reduce",
        "explanation": "a partial sum over tp",
        "repair": "all_reduce(sum, tp) after mm_3",
    },
    "assumptions": ["sums are reordered"],
    "warnings": ["1 output is not checked"],
    "stats": {"sequential_operators": 3},
    "certificate": None,
    "witness": "w.json",
}


def test_fields() -> None:
    report = Report.from_json(ANSWER)
    assert report.verdict == "REFUTED"
    assert not report.proved
    assert report.output("loss").relation == "Replicate"
    assert report.output("mm_3").status == "REFUTED"
    assert report.blame is not None
    assert report.blame.distributed[0].rank == 0
    assert report.blame.distributed[0].line == 40
    assert report.assumptions == ("sums are reordered",)
    assert str(report.witness) == "w.json"
    with pytest.raises(KeyError):
        report.output("nothing")


def test_a_report_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="three verdicts"):
        bool(Report.from_json(ANSWER))


def test_text_puts_the_verdict_first_and_what_is_wrong_before_what_is_right() -> None:
    lines = str(Report.from_json(ANSWER)).splitlines()
    assert lines[0] == "REFUTED: 1 proved, 1 refuted, 1 unchecked"
    assert lines[1].split()[0] == "REFUTED"
    assert "repair: all_reduce(sum, tp) after mm_3" in "\n".join(lines)
    assert "model.py:40" in "\n".join(lines)


def test_html_escapes_names() -> None:
    page = Report.from_json(ANSWER)._repr_html_()
    assert "grad &lt;w&gt;" in page
    assert "<w>" not in page


def test_rich_shows_the_same() -> None:
    console_module = pytest.importorskip("rich.console")
    console = console_module.Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(Report.from_json(ANSWER))
    text = console.export_text()
    assert "Partial(sum)@tp" in text
    assert "missing-all-reduce" in text


def test_raise_unless_proved() -> None:
    with pytest.raises(AssertionError, match="missing-all-reduce"):
        Report.from_json(ANSWER).raise_unless_proved()
    proved = Report.from_json({**ANSWER, "verdict": "PROVED"})
    assert proved.raise_unless_proved() is proved


def test_errors_become_exceptions() -> None:
    with pytest.raises(InputError, match=r"case.json:3:9: \[SP201\] unknown key") as caught:
        Report.from_json(
            {
                "version": 1,
                "error": {"code": "SP201", "message": "unknown key", "file": "case.json", "line": 3, "column": 9},
            }
        )
    assert caught.value.code == "SP201"
    assert caught.value.line == 3
