#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Compares the answers of ../shared/tools/score with the list of those that are known to be wrong.

usage: check_score.py [--only-unsound] SCORE.json KNOWN.txt      exit status 1 for an UNSOUND answer, or another wrong one that is not listed
"""

import json
import pathlib
import sys

WRONG = ("UNSOUND", "ALARM", "untrusted", "error")


def main() -> int:
    only_unsound = "--only-unsound" in sys.argv
    score, listed = [a for a in sys.argv[1:] if not a.startswith("--")]
    answers = json.loads(pathlib.Path(score).read_text(encoding="utf-8"))
    lines = pathlib.Path(listed).read_text(encoding="utf-8").splitlines()
    known = {tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")}
    found = {(a["answer"], name) for name, a in answers.items() if a["answer"] in WRONG}
    new = sorted(f for f in found if f[0] == "UNSOUND" or (not only_unsound and f not in known))
    for answer, name in new:
        print(f"{answer} {name}: {answers[name].get('why', '')}"[:300])
    mended = sorted(k for k in known - found if k[1] in answers)
    for answer, name in mended:
        print(f"mended, take it out of {listed}: {answer} {name}")
    ok = sum(a["answer"] == "ok" for a in answers.values())
    print(f"score: {ok} of {len(answers)} ok, {len(found)} wrong, of which {len(new)} new")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
