#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit reports and prints the closing line of a test run: "N passed, N failed, N skipped".

usage: count_tests.py [--steps PASSED FAILED] REPORT.xml ...        exit status 1 if anything failed or nothing ran
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count(report: pathlib.Path) -> tuple[int, int, int]:
    """(passed, failed, skipped) of one report; ctest and pytest differ in which totals they write, so the cases are counted."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", type=pathlib.Path)
    parser.add_argument(
        "--steps", nargs=2, type=int, default=(0, 0), metavar=("PASSED", "FAILED"), help="steps that write no report"
    )
    args = parser.parse_args()
    passed, failed, skipped = args.steps[0], args.steps[1], 0
    for report in args.reports:
        try:
            p, f, s = count(report)
        except (OSError, ElementTree.ParseError) as error:
            print(f"count_tests: {report}: {error}", file=sys.stderr)
            p, f, s = 0, 1, 0
        passed, failed, skipped = passed + p, failed + f, skipped + s
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
