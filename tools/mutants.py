#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs `shardproof mutate` over many base programs and writes one table of all.

Bases are folders with a case.json: given, or all that are found below given folders. Wrong programs (a truth.json or expected.json whose
verdict is not PROVED), variants (a name with __ or - in it) and programs that are not proved are left out unless --all. The exit code is 1 if any mutant that differs
was proved. What the command refuted on a witness that the evaluation did not meet is printed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = ("different", "refuted", "unknown", "wrong_proved", "same", "proved_same", "undecided", "invalid")
TITLES = ("different", "refuted", "unknown", "wrong proved", "same", "same proved", "undecided", "invalid")


def is_right(folder: pathlib.Path) -> bool:
    for name in ("truth.json", "expected.json"):
        path = folder / name
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8")).get("verdict") == "PROVED"
    return True


def bases(paths: list[pathlib.Path], everything: bool) -> list[pathlib.Path]:
    found = []
    for path in paths:
        folders = [path] if (path / "case.json").exists() else sorted(p.parent for p in path.rglob("case.json"))
        found += [f for f in folders if everything or f == path or is_right(f)]
    return found


def run(binary: pathlib.Path, case: pathlib.Path, options: argparse.Namespace) -> dict[str, Any] | str:
    """The answer, or why there is none."""
    command = [str(binary), "mutate", str(case), "--n", str(options.n), "--seed", str(options.seed), "--json"]
    command += [
        "--edits",
        str(options.edits),
        "--time-limit",
        str(options.seconds),
        "--mutant-limit",
        str(options.mutant_limit),
    ]
    if options.keep:
        command += ["--keep", str(options.keep / case.name)]
    if options.dump:
        command += ["--dump", str(options.dump)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.seconds + 20 * options.mutant_limit + 60
        )
    except subprocess.TimeoutExpired:
        return "took too long"
    if done.returncode not in (0, 1):
        return f"exit {done.returncode}: {done.stderr.strip()[:200]}"
    return dict(json.loads(done.stdout))


def add(total: dict[str, int], counts: dict[str, int]) -> None:
    for field in FIELDS:
        total[field] = total.get(field, 0) + counts.get(field, 0)


def table(head: str, rows: list[tuple[str, dict[str, int]]]) -> str:
    lines = ["| " + " | ".join((head, *TITLES)) + " |", "|---|" + "---:|" * len(TITLES)]
    lines += ["| " + " | ".join((name, *(str(row.get(f, 0)) for f in FIELDS))) + " |" for name, row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "paths", nargs="*", type=pathlib.Path, help="cases, or folders of cases (default: tests/golden)"
    )
    parser.add_argument("--n", type=int, default=200, help="mutants of each base")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edits", type=int, default=1, help="mistakes in each mutant")
    parser.add_argument("--seconds", type=float, default=30, help="for one base")
    parser.add_argument("--mutant-limit", type=float, default=4, help="seconds for one mutant")
    parser.add_argument("--total", type=float, default=0, help="seconds for all bases (0: no limit)")
    parser.add_argument("--all", action="store_true", help="wrong base programs, too")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for what reproduces wrong proofs")
    parser.add_argument("--dump", type=pathlib.Path, help="file for small mutants, for tests/mutants/numpy_eval.py")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables to this file")
    parser.add_argument("--json", type=pathlib.Path, help="write all counts to this file")
    options = parser.parse_args()
    binary = pathlib.Path(os.environ.get("SHARDPROOF", ROOT / "build/release/shardproof"))
    start = time.monotonic()
    total: dict[str, int] = {}
    kinds: dict[str, dict[str, int]] = {}
    rows: list[tuple[str, dict[str, int]]] = []
    findings, failed, answers = [], [], {}
    for case in bases(options.paths or [ROOT / "tests/golden"], options.all):
        if options.total and time.monotonic() - start > options.total:
            failed.append(f"{case.name}: no time left")
            continue
        answer = run(binary, case, options)
        if isinstance(answer, str):
            failed.append(f"{case.name}: {answer}")
            continue
        answers[str(case)] = answer
        findings += [(case.name, f) for f in answer["findings"]]
        if answer["base"] != "PROVED" and not options.all:
            # What is the same as a program that is not proved is not proved either.
            failed.append(f"{case.name}: is itself {answer['base']}, so not in the table")
            total["wrong_proved"] = total.get("wrong_proved", 0) + answer.get("wrong_proved", 0)
            continue
        counts = {f: answer.get(f, 0) for f in FIELDS}
        rows.append((case.name, counts))
        add(total, counts)
        for kind, count in answer["kinds"].items():
            add(kinds.setdefault(kind, {}), count)
        print(f"{case.name}: {answer['n']} in {answer['seconds']:.1f} s, {counts}", file=sys.stderr)
    mutants = sum(total.get(f, 0) for f in ("different", "same", "undecided"))
    seconds = time.monotonic() - start
    summary = f"{mutants} mutants of {len(rows)} base programs, seed {options.seed}, up to {options.n} each, in {seconds:.0f} s.\n"
    by_kind = table("kind", [*kinds.items(), ("**all**", total)])
    print(summary + "\n" + by_kind)
    for name, f in findings:
        print(f"{f['trouble']}: {name}, draw {f['draw']}, {f['kind']}\n  {f['edit']}\n  {f['detail']}")
    for line in failed:
        print("left out:", line)
    if options.markdown:
        options.markdown.write_text(summary + "\n" + by_kind + "\n" + table("base program", rows), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(answers, indent=1), encoding="utf-8")
    return 1 if total.get("wrong_proved") else 0


if __name__ == "__main__":
    sys.exit(main())
