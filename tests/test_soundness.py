# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Wrong programs of tests/soundness that the prover once proved, each with why.txt: never again, neither by the prover alone nor with the falsifier.

Most are wrong at single points only (a zero, an infinity, the least integer, an index out of range), which the falsifier need not meet.
"""

import json
import pathlib
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent / "soundness"
CASES = sorted(p.parent.name for p in FOLDER.glob("*/case.json"))


def verdict(binary: pathlib.Path, manifest: pathlib.Path, *options: str) -> str:
    command = [str(binary), "check", str(manifest), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert "verdict" in answer, done.stdout
    return str(answer["verdict"])


def test_there_are_cases() -> None:
    assert len(CASES) >= 13


@pytest.mark.parametrize("name", CASES)
def test_wrong_program_is_not_proved(name: str, binary: pathlib.Path) -> None:
    why = (FOLDER / name / "why.txt").read_text(encoding="utf-8")
    assert verdict(binary, FOLDER / name, "--no-falsify") == "UNKNOWN", why
    assert verdict(binary, FOLDER / name) != "PROVED", why


# These hold operators or inputs that nothing equals, not even themselves.
NOT_KNOWN = {
    "bitwise_reduction",
    "two_8_bit_formats",
    "symbolic_inputs_swapped",
    "unknown_operator_of_one_text",
    "effects_of_one_text",
    "unknown_draw_of_one_text",
    "observer_writes_unsaid",
    "private_operator_writes",
}


@pytest.mark.parametrize("name", [n for n in CASES if n not in NOT_KNOWN])
def test_sequential_program_is_proved(name: str, binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """What keeps the wrong program from being proved does not keep the right one."""
    case = json.loads((FOLDER / name / "case.json").read_text(encoding="utf-8"))
    program = str(FOLDER / name / case["sequential"])
    case.update(sequential=program, distributed=[program], mesh={}, groups={}, outputs={})
    case["inputs"] = dict.fromkeys(case["inputs"], "Replicate")
    del case["outputs"]
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case), encoding="utf-8")
    assert verdict(binary, path) == "PROVED"
