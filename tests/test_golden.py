# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs the command over tests/golden and tests/bugs: each program against itself, then the pair against its expected.json.

tests/bugs rebuilds public bug reports, a right program and a wrong one for each; there the blame's kind is checked, too. Every PROVED must come with a certificate that shardproof-check accepts, every REFUTED with a witness that `shardproof replay` confirms.
"""

import json
import pathlib
import subprocess
from typing import Any

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
FOLDERS = ("golden", "bugs")
CASES = sorted(str(p.parent.relative_to(TESTS)) for f in FOLDERS for p in (TESTS / f).glob("*/case.json"))
EXIT = {0: "PROVED", 1: "REFUTED", 2: "ERROR", 3: "UNKNOWN"}
LIMIT = 60  # seconds for one command


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=LIMIT)


def check(binary: pathlib.Path, manifest: pathlib.Path, *options: object) -> tuple[str, dict[str, Any], str]:
    """(verdict, answer, messages); the exit code and the answer must agree."""
    done = run(binary, "check", manifest, "--json", *options)
    assert done.returncode in EXIT, f"exit {done.returncode}: {done.stderr}"
    answer = json.loads(done.stdout)
    verdict = EXIT[done.returncode]
    assert ("error" in answer) == (verdict == "ERROR"), done.stdout
    if verdict != "ERROR":
        assert answer["verdict"] == verdict
    return verdict, answer, done.stderr


def known_failures() -> dict[str, str]:
    """Name -> reason, from known_failures.txt: what the prover or the falsifier cannot do yet. Nothing that is wrong may stand there."""
    out = {}
    for folder in FOLDERS:
        for line in (TESTS / folder / "known_failures.txt").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                name, _, reason = line.partition(":")
                out[f"{folder}/{name.strip()}"] = reason.strip()
    return out


KNOWN = known_failures()


def test_there_are_cases() -> None:
    assert len(CASES) > 250
    assert set(KNOWN) <= set(CASES), "known_failures.txt names cases that do not exist"


def test_the_checker_is_built(checker: pathlib.Path | None) -> None:
    if checker is None:
        pytest.skip("this build has no shardproof-check: certificates are not re-checked")


@pytest.mark.parametrize("name", CASES)
def test_pair(name: str, binary: pathlib.Path, checker: pathlib.Path | None, tmp_path: pathlib.Path) -> None:
    folder = TESTS / name
    expected = json.loads((folder / "expected.json").read_text())
    certificate, witness = tmp_path / "certificate", tmp_path / "witness"
    verdict, answer, messages = check(binary, folder, "--certificate", certificate, "--witness", witness)
    assert (verdict, expected["verdict"]) not in (("PROVED", "REFUTED"), ("REFUTED", "PROVED")), (
        f"{expected['why']}\n{json.dumps(answer, indent=1)}"
    )
    if name in KNOWN and verdict == "UNKNOWN":
        pytest.xfail(KNOWN[name])
    assert verdict in [expected["verdict"], *expected.get("accept", [])], (
        f"{expected['why']}\n{json.dumps(answer, indent=1)}"
    )
    if verdict == expected["verdict"] and "outputs" in expected:
        assert {o["name"]: o["status"] for o in answer["outputs"]} == expected["outputs"]
        if "kind" in expected and verdict == "REFUTED":
            blame = answer["blame"] or {}
            if expected["kind"] in ("would-hang", "mismatched-collective"):
                assert blame.get("kind") in ("would-hang", "mismatched-collective")
        if "blame_kinds" in expected and verdict == "REFUTED":
            kind = (answer["blame"] or {}).get("kind")
            if name in KNOWN and kind not in expected["blame_kinds"]:
                pytest.xfail(f"{KNOWN[name]}: {kind}")
            assert kind in expected["blame_kinds"]
    text = json.dumps(answer) + messages
    if verdict == expected["verdict"]:
        for word in expected.get("contains", []):
            assert word in text, f"{word!r} is not in the answer"
        if "warnings" in expected:
            assert len(answer["warnings"]) >= expected["warnings"], answer["warnings"]
    if verdict == "PROVED" and checker is not None:
        done = run(checker, certificate, "--manifest", folder)
        if name in KNOWN and done.returncode == 1:
            pytest.xfail(f"certificate: {KNOWN[name]}")
        assert done.returncode == 0, f"the checker rejects the certificate: {done.stdout}{done.stderr}"
    if verdict == "REFUTED" and expected.get("witness") != "shapes":
        done = run(binary, "replay", witness, "--manifest", folder)
        assert done.returncode == 0, f"replay does not confirm the witness: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", CASES)
def test_identity(name: str, binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The sequential program, run by one rank, computes what it computes."""
    folder = TESTS / name
    case = json.loads((folder / "case.json").read_text())
    program = folder / case["sequential"]
    if json.loads((folder / "expected.json").read_text())["verdict"] == "ERROR":
        return
    manifest = {
        "sequential": str(program),
        "distributed": [str(program)] if program.suffix == ".txt" and ".fx" in program.name else str(program),
        "mesh": {},
        "inputs": dict.fromkeys(case["inputs"], "Replicate"),
        "facts": case.get("facts", []),
        "constants": {k[4:]: v for k, v in case.get("constants", {}).items() if k.startswith("seq:")},
    }
    path = tmp_path / "case.json"
    path.write_text(json.dumps(manifest))
    verdict, answer, _ = check(binary, path)
    assert verdict == "PROVED", json.dumps(answer, indent=1)


def test_answers_are_deterministic(binary: pathlib.Path) -> None:
    """Two runs give the same bytes, apart from times."""
    for name in CASES[::10]:
        answers = []
        for _ in range(2):
            _, answer, _ = check(binary, TESTS / name)
            answer.get("stats", {}).pop("seconds", None)
            answer.get("stats", {}).pop("peak_bytes", None)
            answers.append(json.dumps(answer))
        assert answers[0] == answers[1], name
