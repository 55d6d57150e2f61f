#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""How often the blame of a REFUTED case says what its truth.json says: the kind of mistake, and one of the operators where it is.

usage: blame_kinds.py [--binary PATH] [--only TEXT] [--show] [FOLDER ...]      default folder: ../shared/cases
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blame_of(binary: str, case: pathlib.Path, limit: float) -> tuple[str, dict[str, Any]]:
    """(verdict, blame) of one case."""
    try:
        done = subprocess.run([binary, "check", case, "--json"], capture_output=True, text=True, timeout=limit)
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return "error", {}
    return answer.get("verdict", "error"), answer.get("blame") or {}


def nodes_of(blame: dict[str, Any]) -> set[str]:
    sites = [blame.get("sequential") or {}, *(blame.get("distributed") or [])]
    return {s["node"] for s in sites if "node" in s}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.environ.get("SHARDPROOF", str(ROOT / "build/release/shardproof")))
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--show", action="store_true", help="every case whose kind or operator is another one")
    parser.add_argument("folders", nargs="*", type=pathlib.Path, default=[ROOT.parent / "shared/cases"])
    options = parser.parse_args()
    confusions: collections.Counter[tuple[str, str]] = collections.Counter()
    kinds = nodes = nodes_known = count = 0
    for folder in options.folders:
        for path in sorted(folder.rglob("truth.json")):
            truth = json.loads(path.read_text(encoding="utf-8"))
            if (
                truth["verdict"] != "REFUTED"
                or options.only not in str(path)
                or not (path.parent / "case.json").exists()
            ):
                continue
            verdict, blame = blame_of(options.binary, path.parent, options.limit)
            if verdict != "REFUTED":
                continue
            count += 1
            kind, found = str(truth.get("kind")), str(blame.get("kind"))
            kinds += kind == found
            right = bool(nodes_of(blame) & set(truth.get("blame_nodes", [])))
            nodes_known += "blame_nodes" in truth
            nodes += right
            if kind != found:
                confusions[kind, found] += 1
            if options.show and (kind != found or ("blame_nodes" in truth and not right)):
                where = (
                    ""
                    if right or "blame_nodes" not in truth
                    else f"  at {sorted(nodes_of(blame))}, not {truth['blame_nodes']}"
                )
                print(f"{path.parent.relative_to(folder)}: {found} for {kind}{where}\n    {blame.get('explanation')}")
    for (kind, found), times in confusions.most_common():
        print(f"{times:4} {kind} called {found}")
    print(f"{count} refuted; kind right in {kinds}; operator right in {nodes} of {nodes_known} that name one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
