#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Checks every tracked source file: its length, its licence header, and that it holds no path of one machine."""

import pathlib
import re
import subprocess
import sys

MAX_LINES = 800
# The checker of certificates is small enough to be read: all of check/ (the readers of src/frontend, which it shares, aside).
MAX_CHECKER_LINES = 5000
LICENCE = "SPDX-License-Identifier: Apache-2.0"
SOURCES = (".h", ".cpp", ".py", ".cmake", ".sh")
# Folders in which somebody's work tree lies; a path below them means nothing to anyone else.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|Users|farm)/[\w.-]+|/tmp/[a-z][\w-]*")


def complaints(root: pathlib.Path) -> list[str]:
    found = []
    checker = 0
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        if name.startswith("tests/golden/"):  # captured programs, as they are
            continue
        path = root / name
        if not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # samples in wire format
            continue
        lines = text.splitlines()
        source = path.suffix in SOURCES
        if name.startswith("check/") and source:
            checker += len(lines)
        if source and len(lines) > MAX_LINES and not name.startswith("tests/"):
            found.append(f"{name}: {len(lines)} lines, more than {MAX_LINES}: split it along its concepts")
        if source and lines and not any(LICENCE in line for line in lines[:3]):
            found.append(f"{name}:1: no licence line ({LICENCE})")
        if name == "tools/check_files.py":
            continue
        for number, line in enumerate(lines, 1):
            if match := MACHINE_PATH.search(line):
                found.append(f"{name}:{number}: {match[0]} is a path of one machine")
    if checker > MAX_CHECKER_LINES:
        found.append(f"check/: {checker} lines, more than {MAX_CHECKER_LINES}: a checker is there to be read")
    return found


def main() -> int:
    found = complaints(pathlib.Path(__file__).resolve().parent.parent)
    for line in found[:200]:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
