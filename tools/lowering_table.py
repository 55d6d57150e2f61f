#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Which lowerings are met in tests: every registered operator of PyTorch, XLA (HLO and StableHLO) and TensorFlow must be lowered in one.

Runs, with the counters of src/lower/coverage.h on, the unit tests of the lowerings (captured programs with the values that JAX and TensorFlow gave), and
`shardproof check --no-falsify` over tests/golden, tests/bugs and tests/soundness; and, where PyTorch and the target lower-dump are there, the
calls of tests/lowering, whose values are compared with PyTorch's (--torch). Prints a table and fails for an operator that was never lowered, unless
tests/lowering_known.txt names it, and for one that is named there and was; of PyTorch's operators only if those calls were run.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from rule_table import LOWERINGS, ROOT, Counts, run, run_programs, total


def against_pytorch(tool: pathlib.Path, counts: pathlib.Path) -> bool:
    """The calls of tests/lowering, and PyTorch's own samples of what they leave out."""
    environment = dict(os.environ, LOWER_DUMP=str(tool), SHARDPROOF_RULE_COUNTS=str(counts))
    folder = ROOT / "tests/lowering"
    for command in (
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test_aten.py")],
        [sys.executable, str(folder / "opinfo.py"), "--tool", str(tool), "--limit", "3", "--composites"],
    ):
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return counts.exists()


def measure(binary: pathlib.Path, tool: pathlib.Path | None) -> tuple[dict[str, Counts], bool]:
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: pathlib.Path(folder, kind) for kind in ("unit", "programs", "pytorch")}
        # Of this repository alone: cases that lie beside it may be other ones elsewhere.
        run([str(binary.with_name("test_lower"))], files["unit"], SHARDPROOF_SHARED=folder)
        run_programs(binary, files["programs"])
        pytorch = tool is not None and against_pytorch(tool, files["pytorch"])
        return {kind: total(path) for kind, path in files.items() if path.exists()}, pytorch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/shardproof")
    parser.add_argument("--torch", action="store_true", help="also run the calls that are compared with PyTorch")
    options = parser.parse_args()
    tool = options.binary.with_name("lower-dump")
    if options.torch and not tool.exists():
        print("no lower-dump beside the binary: build that target", file=sys.stderr)
        return 1
    counts, pytorch = measure(options.binary, tool if options.torch else None)
    found = []
    lines = (ROOT / "tests/lowering_known.txt").read_text(encoding="utf-8").splitlines()
    known = {tuple(line.split()) for line in lines if line and not line.startswith("#")}
    for kind, reader in LOWERINGS.items():
        names = sorted({name for table in counts.values() for name in table[kind]})
        print(
            f"\n{reader}: {len(names)} operators\n\n| operator | {' | '.join(counts)} |\n|---|{'---:|' * len(counts)}"
        )
        for name in names:
            met = [table[kind].get(name, [0, 0])[0] for table in counts.values()]
            print(f"| {name} | {' | '.join(map(str, met))} |")
            if kind == "aten" and not pytorch:
                continue
            if not any(met) and (kind, name) not in known:
                found.append(f"the lowering of {name} ({reader}) is met in no test")
            if any(met) and (kind, name) in known:
                found.append(f"{kind} {name} is met now: take it out of tests/lowering_known.txt")
        gone = [name for of, name in sorted(known) if of == kind and name not in names]
        found += [f"tests/lowering_known.txt: {reader} has no operator {name}" for name in gone]
        if not names:
            found.append(f"no operator of {reader} was counted")
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
