#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs the command on the folders that README.md names in `<!-- output: FOLDER -->` and puts what it prints into the block below.

usage: update_readme.py [BINARY]
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- output: (\S+) -->\n)(?:```\n.*?```\n)?", re.DOTALL)


def filled(text: str, binary: str) -> str:
    """The README with what the command prints today."""

    def fill(match: re.Match[str]) -> str:
        done = subprocess.run([binary, "check", match[2]], cwd=ROOT, capture_output=True, text=True)
        # The last line has times.
        text = done.stdout.rsplit("\n\n", 1)[0].rstrip()
        return f"{match[1]}```\n$ shardproof check {match[2]}\n{text}\n```\n"

    return BLOCK.sub(fill, text)


def main() -> int:
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/shardproof")
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8"), binary), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
