#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/bugs.md from the catalogue of public bug reports and from tests/bugs, or checks that they are up to date.

Every kind in the catalogue must be rebuilt in tests/bugs, by a right program and a wrong one, or be listed in UNSEEN with the reason.

usage: bug_table.py [--check]       the catalogue is ../shared/bugs/public_bugs.json; without it nothing is done
"""

import collections
import json
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
CATALOGUE = ROOT.parent / "shared/bugs/public_bugs.json"
PAGE = ROOT / "docs/bugs.md"
BUGS = ROOT / "tests/bugs"
MARK = "<!-- tools/bug_table.py {} {} -->"

# Kinds that no graph shows.
UNSEEN = {
    "kernel/runtime": "a race, or a buffer that the backend overwrites: the graph says what is asked for, not how it is carried out",
    "comm-overlap": "communication fused into a kernel: the graph has the kernel's contract, and the suspicion is of what is below it",
}
# Single reports of kinds that are seen otherwise.
NOT_REBUILT = {
    "B126": "the backend's `avg` does not average: below the graph",
    "B065": "a wrong kernel on one device: below the graph",
    "B215": "equal over the reals; only floating point overflows",
    "B223": "0/0 on a rank without tokens: needs the facts about the mask that the user has not stated",
    "B193": "index of the maximum over a cut dimension: its right form is not proved yet",
    "B244": "the loss depends on the size of the ring, and the report does not know why",
}


def address(report: dict[str, Any]) -> str:
    """A link to the report; a number like 7452-3 is the third finding of issue 7452."""
    number = str(report["number"])
    issue = re.match(r"\d+", number)
    assert issue, number
    return f"[{report['repo']}#{number}](https://github.com/{report['repo']}/issues/{issue[0]})"


def rebuilt() -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Kind -> (name, expected) of the cases in tests/bugs."""
    out = collections.defaultdict(list)
    for path in sorted(BUGS.glob("*/expected.json")):
        expected = json.loads(path.read_text(encoding="utf-8"))
        out[expected["bug"]].append((path.parent.name, expected))
    return out


def known_failures() -> set[str]:
    lines = (BUGS / "known_failures.txt").read_text(encoding="utf-8").splitlines()
    return {line.partition(":")[0].strip() for line in lines if line and not line.startswith("#")}


def tables(catalogue: list[dict[str, Any]]) -> dict[str, str]:
    cases, known = rebuilt(), known_failures()
    kinds = list(dict.fromkeys(r["kind"] for r in catalogue))
    seen = ["| kind | public reports | right program | what is refuted |", "| --- | --- | --- | --- |"]
    unseen = ["| kind or report | public reports | why |", "| --- | --- | --- |"]
    problems = []
    covered = {b for made in cases.values() for _, e in made for b in e.get("reports", [])}
    for kind in sorted(kinds):
        reports = [r for r in catalogue if r["kind"] == kind]
        if kind in UNSEEN:
            unseen.append(f"| {kind} | {', '.join(map(address, reports))} | {UNSEEN[kind]} |")
            continue
        right = [n for n, e in cases[kind] if e["verdict"] == "PROVED"]
        wrong = [(n, e) for n, e in cases[kind] if e["verdict"] == "REFUTED"]
        if not right or not wrong:
            problems.append(f"tests/bugs has no {'wrong' if right else 'right'} program for {kind}")
        listed = ", ".join(address(r) for r in reports if r["id"] not in NOT_REBUILT)
        first = "<br>".join(f"`{n}`" + (" (UNKNOWN so far)" if n in known else "") for n in right)
        second = "<br>".join(f"`{n}`: {e['why'][:1].lower()}{e['why'][1:].rstrip('.')}" for n, e in wrong)
        seen.append(f"| {kind} | {listed} | {first} | {second} |")
    for r in catalogue:
        if r["kind"] in UNSEEN:
            continue
        if r["id"] in NOT_REBUILT:
            unseen.append(f"| {r['kind']} | {address(r)} | {NOT_REBUILT[r['id']]} |")
        elif r["id"] not in covered:
            problems.append(
                f"{r['id']} ({r['kind']}) is neither rebuilt nor listed as one that is not: {r['wrong'][:90]}"
            )
    wrong_count = sum(e["verdict"] == "REFUTED" for made in cases.values() for _, e in made)
    count = f"{len(catalogue)} reports of {len(kinds)} kinds; {sum(map(len, cases.values()))} programs, {wrong_count} of them wrong."
    for problem in problems:
        print(problem)
    if problems:
        raise SystemExit(1)
    return {"count": count, "seen": "\n".join(seen), "unseen": "\n".join(unseen)}


def main() -> int:
    if not CATALOGUE.exists():
        print("no catalogue of public bug reports here: nothing to do")
        return 0
    made = tables(json.loads(CATALOGUE.read_text(encoding="utf-8")))
    old = page = PAGE.read_text(encoding="utf-8")
    for name, text in made.items():
        begin, end = MARK.format(name, "begin"), MARK.format(name, "end")
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"
    if page == old:
        return 0
    if "--check" in sys.argv:
        print("docs/bugs.md is not up to date: run tools/bug_table.py")
        return 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
