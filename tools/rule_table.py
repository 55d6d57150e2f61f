#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""How often each rule of the prover is applied in tests, and how often its side condition says no.

Runs the unit tests of the prover (each rule on tiny shapes and random graphs, against the reference interpreter) and `shardproof check
--no-falsify` over tests/golden, tests/bugs and tests/soundness, with the counters of src/prove/coverage.h on. Fails where a rule was never
applied, a side condition never said no, or an operator or scalar function was never met; and where that file and docs/lemmas.md do not
name the same rules. --names only compares the names; --write puts the table into docs/rules.md.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("golden", "bugs", "soundness")
KINDS = ("rules", "operators", "functions")
LOWERINGS = {"aten": "PyTorch", "hlo": "XLA (HLO and StableHLO)", "tensorflow": "TensorFlow"}
# A constant for each rank once programs are linked; and tuples, of which only the results have values.
NO_VALUE = {"rank_id", "sort", "opaque"}
Counts = dict[str, dict[str, list[int]]]


def in_code() -> dict[str, bool]:
    """Number -> whether it has a side condition that can say no."""
    text = (ROOT / "src/prove/coverage.h").read_text(encoding="utf-8")
    return {f"L-{n}": flag == "true" for n, flag in re.findall(r"\bX\((\d+), (true|false)\)", text)}


def in_docs() -> list[str]:
    out: list[str] = []
    for line in (ROOT / "docs/lemmas.md").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\| (L-\d+(?:, L-\d+)*) \|", line):
            out += match[1].split(", ")
    return out


def names_agree() -> list[str]:
    code, docs = set(in_code()), in_docs()
    found = [f"{name} stands twice in docs/lemmas.md" for name in sorted(set(docs)) if docs.count(name) > 1]
    found += [f"{name} is not in docs/lemmas.md" for name in sorted(code - set(docs))]
    found += [f"{name} is not in src/prove/coverage.h: nothing counts it" for name in sorted(set(docs) - code)]
    return found


def enumerators(enum: str) -> list[str]:
    """The operators or functions of src/ir/graph.h, as ir::name writes them; of the operators only those that stay after linking."""
    text = (ROOT / "src/ir/graph.h").read_text(encoding="utf-8")
    body = text.split(f"enum class {enum} : uint8_t {{", 1)[1].split("};", 1)[0].split("// --- collectives", 1)[0]
    body = re.sub(r"//.*", "", body)
    names = [n.strip() for n in body.split(",") if n.strip()]
    return [n for n in (re.sub(r"(?<!^)(?=[A-Z])", "_", n).lower() for n in names) if n not in NO_VALUE | {"none"}]


def run(command: list[str], counts: pathlib.Path, **more: str) -> None:
    environment = dict(os.environ, SHARDPROOF_RULE_COUNTS=str(counts), SHARDPROOF_NO_FORK="1", **more)
    subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900, check=False
    )


def total(path: pathlib.Path) -> Counts:
    out: Counts = {kind: {} for kind in (*KINDS, *LOWERINGS)}
    for line in path.read_text(encoding="utf-8").splitlines():
        for kind, entries in json.loads(line).items():
            for name, pair in entries.items():
                sums = out[kind].setdefault(name, [0, 0])
                sums[0] += pair[0]
                sums[1] += pair[1]
    return out


def run_programs(binary: pathlib.Path, counts: pathlib.Path) -> None:
    for name in FOLDERS:
        for case in sorted((ROOT / "tests" / name).glob("*/case.json")):
            run([str(binary), "check", str(case.parent), "--no-falsify", "--json"], counts)


def measure(binary: pathlib.Path, units: pathlib.Path) -> tuple[Counts, Counts]:
    with tempfile.TemporaryDirectory() as folder:
        unit, programs = pathlib.Path(folder, "unit"), pathlib.Path(folder, "programs")
        run([str(units)], unit)
        run_programs(binary, programs)
        return total(unit), total(programs)


def gaps(unit: Counts, programs: Counts) -> list[str]:
    def both(kind: str, name: str, which: int) -> int:
        return unit[kind].get(name, [0, 0])[which] + programs[kind].get(name, [0, 0])[which]

    found = []
    for name, condition in in_code().items():
        if both("rules", name, 0) == 0:
            found.append(f"{name} was never applied")
        if condition and both("rules", name, 1) == 0:
            found.append(f"the side condition of {name} never said no")
    for kind, enum in (("operators", "Op"), ("functions", "Fn")):
        for name in enumerators(enum):
            if both(kind, name, 0) + both(kind, name, 1) == 0:
                found.append(f"{name} of {kind} was never met")
    return found


def table(unit: Counts, programs: Counts) -> str:
    def rows(kind: str, names: list[str], conditions: dict[str, bool]) -> list[str]:
        out = []
        for name in names:
            a, b = unit[kind].get(name, [0, 0]), programs[kind].get(name, [0, 0])
            no = [str(x[1]) if conditions.get(name, True) else "" for x in (a, b)]
            out.append(f"| {name} | {a[0]} | {no[0]} | {b[0]} | {no[1]} |")
        return out

    def head(first: str, yes: str, no: str) -> list[str]:
        return [f"| {first} | unit: {yes} | {no} | programs: {yes} | {no} |", "|---|---:|---:|---:|---:|"]

    code = in_code()
    lines = head("rule", "applied", "refused") + rows("rules", list(code), code)
    lines += [
        "",
        "Operators: how often the value was written out, and how often it was left an unknown of its own.",
        "",
    ]
    lines += head("operator", "written", "unknown") + rows("operators", enumerators("Op"), {})
    lines += ["", "Scalar functions: how often one was written as something else, and how often it stayed itself.", ""]
    lines += head("function", "rewritten", "kept") + rows("functions", enumerators("Fn"), {})
    return "\n".join(lines) + "\n"


HEAD = """# How often each rule was tried

Generated by `tools/rule_table.py --write`; do not edit. "Unit" are the tests of `tests/unit/prove`: each rule on tiny shapes (sizes 0 to 3, all cuts), with
side conditions that hold and such that do not, thousands of random graphs and formulas, and all pairs of scalar functions; whatever is called
equal there must evaluate equally in the reference interpreter. "Programs" are those of `tests/golden`, `tests/bugs` and `tests/soundness`, whose verdicts are known.
The statements are in [lemmas.md](lemmas.md). A rule that is never applied, or a side condition that never says no, fails `tests/test_rules.py`. The
lowerings are tried against PyTorch, JAX and TensorFlow themselves (`tests/lowering`, [coverage.md](coverage.md)); `tools/lowering_table.py` counts which.

"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="only compare the names in code and docs")
    parser.add_argument("--write", action="store_true", help="write docs/rules.md")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/shardproof")
    parser.add_argument("--units", type=pathlib.Path, help="default: test_prove beside the binary")
    options = parser.parse_args()
    found = names_agree()
    if not options.names:
        unit, programs = measure(options.binary, options.units or options.binary.with_name("test_prove"))
        found += gaps(unit, programs)
        text = table(unit, programs)
        if options.write:
            (ROOT / "docs/rules.md").write_text(HEAD + text, encoding="utf-8")
        else:
            print(text)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
