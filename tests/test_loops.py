# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Loops by induction (L-73): the cases of tests/golden that are about loops, without the certificates for which loops are unrolled."""

import json
import pathlib
import subprocess
from typing import Any

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent / "golden"
CASES = sorted(p.parent.name for p in FOLDER.glob("loop_*/case.json"))
EXPECTED = {name: json.loads((FOLDER / name / "expected.json").read_text(encoding="utf-8")) for name in CASES}


def answer(binary: pathlib.Path, name: str, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(binary), "check", str(FOLDER / name), "--json", *options], capture_output=True, text=True, timeout=60
    )
    out: dict[str, Any] = json.loads(done.stdout)
    assert "verdict" in out, done.stdout
    return out


def named(by: str) -> list[str]:
    return [name for name in CASES if EXPECTED[name].get("by", "") == by]


def test_there_are_cases() -> None:
    assert len(named("induction")) >= 7
    assert len(named("unrolling")) >= 1
    assert len(named("")) >= 15


@pytest.mark.parametrize("name", named("induction"))
def test_proved_by_induction(name: str, binary: pathlib.Path) -> None:
    once = answer(binary, name)
    assert once["verdict"] == "PROVED"
    assert once["loops"], "no loop was proved by induction"
    unrolled = answer(binary, name, "--unroll")
    assert unrolled["verdict"] == "PROVED"
    assert "loops" not in unrolled
    assert [o["relation"] for o in once["outputs"]] == [o["relation"] for o in unrolled["outputs"]]


@pytest.mark.parametrize("name", named("unrolling"))
def test_no_relation_is_kept(name: str, binary: pathlib.Path) -> None:
    found = answer(binary, name)
    assert found["verdict"] == "PROVED"
    assert "loops" not in found


@pytest.mark.parametrize("name", named(""))
def test_wrong_program_is_not_proved(name: str, binary: pathlib.Path) -> None:
    assert EXPECTED[name]["verdict"] == "REFUTED"
    assert answer(binary, name, "--no-falsify")["verdict"] != "PROVED"
    assert answer(binary, name)["verdict"] == "REFUTED"
