# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes the golden cases: traces small functions into FX text and checks each expected verdict numerically.

A case is a sequential function, a function of the rank, and the manifest that relates them. Both are traced with make_fx on fake
tensors; the graphs are then run node by node, all ranks in lock step, on random inputs. The verdict is a matter of thought (`why`), and the
run must agree with it: outputs of a PROVED case are equal, some output of a REFUTED one differs. What the run cannot see (hangs, literals,
undefined values) says `numeric=False`.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import pathlib
from collections.abc import Callable
from typing import Any

import torch
from placements import expected_parts, full_value, local_parts, mesh_size, rank_groups
from torch.fx.experimental.proxy_tensor import make_fx

TESTS = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = TESTS / "golden"
CASES: dict[str, Case] = {}
COLLECTIVES = torch.ops._c10d_functional


@dataclasses.dataclass
class Tensor:
    """A sequential input: shape, type, placement and, for integers, the range of its random values."""

    shape: tuple[int, ...]
    placement: Any = "Replicate"
    dtype: torch.dtype = torch.float32
    low: int = 0
    high: int = 8

    def sample(self, generator: torch.Generator) -> torch.Tensor:
        if self.dtype == torch.bool:
            return torch.randint(0, 2, self.shape, generator=generator).bool()
        if not self.dtype.is_floating_point:
            return torch.randint(self.low, self.high, self.shape, generator=generator).to(self.dtype)
        return torch.randn(self.shape, generator=generator, dtype=torch.float64).to(self.dtype)


@dataclasses.dataclass
class Case:
    name: str
    seq: Callable[..., Any]
    dist: Callable[..., Any]  # (rank, *local inputs)
    inputs: dict[str, Tensor]
    outputs: dict[
        str, dict[str, Any]
    ]  # name of the sequential output -> entry of the manifest, in order; "dist" is the name on the ranks
    mesh: dict[str, int]
    verdict: str
    why: str
    statuses: dict[str, str] | None = None  # status of each output where it is not the verdict
    accept: list[str] | None = None  # verdicts that are right, too: a weaker one
    kind: str | None = None
    groups: dict[str, Any] | None = None
    manifest: dict[str, Any] = dataclasses.field(default_factory=dict)
    numeric: bool = True
    warnings: int | None = None
    witness: str | None = None  # "shapes": the refutation is by shapes alone, and there are no values to replay
    contains: list[str] = dataclasses.field(default_factory=list)  # words that some assumption or warning must contain
    bug: str | None = None  # the kind in the catalogue of public bug reports: the case goes to tests/bugs
    reports: list[str] = dataclasses.field(default_factory=list)  # the ids of those that it rebuilds
    blame_kinds: list[str] = dataclasses.field(default_factory=list)  # the words for it that are right


def case(name: str, **fields: Any) -> Case:
    made = Case(name=name, **fields)
    key = f"bugs/{name}" if made.bug else name  # two folders, two sets of names
    assert key not in CASES, key
    CASES[key] = made
    return made


def variant(base: Case, suffix: str, **changes: Any) -> Case:
    """The case with something changed; by default it is wrong and its one output refuted."""
    fields = {f.name: copy.copy(getattr(base, f.name)) for f in dataclasses.fields(base)}
    fields.update(verdict="REFUTED", statuses=None, accept=None, kind=None, contains=[], warnings=None, witness=None)
    fields.update(changes, name=f"{base.name}__{suffix}")
    return case(**fields)


def bug(kind: str, name: str, reports: str, wrong: dict[str, tuple[Any, str, str]], **fields: Any) -> Case:
    """A right program, and one wrong variant for each mistake that reports tell of: suffix -> (what the ranks run, why it is wrong, the
    words with which it may be blamed, separated by spaces; none: any)."""
    fields.setdefault("outputs", {"out": {"expect": "Replicate"}})
    fields.setdefault("mesh", {"tp": 2})
    base = case(name, verdict="PROVED", bug=kind, reports=reports.split(), **fields)
    for suffix, (dist, why, kinds) in wrong.items():
        variant(base, suffix, dist=dist, why=why, blame_kinds=kinds.split())
    return base


# What the functions of the cases call.
def all_reduce(x: torch.Tensor, op: str = "sum", group: str = "0") -> torch.Tensor:
    return COLLECTIVES.wait_tensor(COLLECTIVES.all_reduce(x, op, group))


def all_gather(x: torch.Tensor, size: int, group: str = "0", dim: int = 0) -> torch.Tensor:
    out = COLLECTIVES.wait_tensor(COLLECTIVES.all_gather_into_tensor(x, size, group))
    return out if dim == 0 else torch.cat(torch.split(out, x.shape[0], 0), dim)


def reduce_scatter(x: torch.Tensor, size: int, op: str = "sum", group: str = "0") -> torch.Tensor:
    return COLLECTIVES.wait_tensor(COLLECTIVES.reduce_scatter_tensor(x, op, size, group))


def all_to_all(x: torch.Tensor, out_splits: list[int], in_splits: list[int], group: str = "0") -> torch.Tensor:
    return COLLECTIVES.wait_tensor(COLLECTIVES.all_to_all_single(x, out_splits, in_splits, group))


def trace(
    function: Callable[..., Any], args: list[torch.Tensor], names: list[str], out_names: list[str]
) -> torch.fx.GraphModule:
    def flat(*xs: torch.Tensor) -> Any:
        out = function(*xs)
        return out if isinstance(out, (tuple, list)) else (out,)

    gm = make_fx(flat, tracing_mode="fake")(*args)
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    for node, name in zip(placeholders, names, strict=True):
        node._rename(name)
        node.target = name
    (output,) = (n for n in gm.graph.nodes if n.op == "output")
    seen = set()
    for node, name in zip(output.args[0], out_names, strict=True):
        if node is not None and node.op != "placeholder" and node not in seen:
            node._rename(name)
            seen.add(node)
    gm.graph.eliminate_dead_code(is_impure_node=keep)
    gm.recompile()
    return gm


def keep(node: torch.fx.Node) -> bool:
    """Is the node there for what it does, beside its value?"""
    schema = getattr(node.target, "_schema", None)
    return (
        node.op in ("placeholder", "output") or "c10d" in str(node.target) or (schema is not None and schema.is_mutable)
    )


def text(gm: torch.fx.GraphModule) -> str:
    lines = gm.print_readable(print_output=False, include_stride=False, include_device=False).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip() and "# No stacktrace" not in line) + "\n"


def run_lockstep(
    gms: list[torch.fx.GraphModule], inputs: list[list[torch.Tensor]], groups: dict[str, list[list[int]]]
) -> list[list[Any]]:
    """Runs all ranks; at a collective every rank waits until the members of its group are there."""
    from lockstep import Machine

    return Machine(gms, inputs, groups).run()


def names_of(spec: Case, rank: int | None) -> list[str]:
    """Names of the values that the function returns; an input that it writes to is not among them."""
    returned = {n: e for n, e in spec.outputs.items() if not n.startswith("mut:")}
    if rank is None:
        return list(returned)
    out = []
    for name, entry in returned.items():
        dist = entry.get("dist", name)
        out.append(dist[rank] if isinstance(dist, list) else dist)
    return [n for n in out if n is not None]


def write(spec: Case) -> None:
    folder = TESTS / ("bugs" if spec.bug else "golden") / spec.name
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(7)
    world = mesh_size(spec.mesh)
    groups = (
        spec.groups
        if spec.groups is not None
        else {"0": next(iter(spec.mesh))}
        if len(spec.mesh) == 1
        else {a: a for a in spec.mesh}
    )
    names = list(spec.inputs)
    sample = {n: t.sample(generator) for n, t in spec.inputs.items()}
    seq = trace(spec.seq, [full_value(sample[n], spec.inputs[n].placement) for n in names], names, names_of(spec, None))
    locals_ = [local_parts(sample, spec, rank) for rank in range(world)]
    ranks = []
    for rank in range(world):
        present = [n for n in names if locals_[rank][n] is not None]
        extra = spec.manifest.get("extra_inputs", {})
        args = [locals_[rank][n] for n in present] + [torch.as_tensor(extra_value(v)) for v in extra.values()]
        ranks.append(trace(lambda *xs, rank=rank: spec.dist(rank, *xs), args, [*present, *extra], names_of(spec, rank)))
    if spec.numeric:
        check_numerically(spec, seq, ranks, groups, world)
    (folder / "seq.fx.txt").write_text(text(seq))
    texts = [text(gm) for gm in ranks]
    same = len(set(texts)) == 1
    for stale in folder.glob("rank*.fx.txt"):
        stale.unlink()
    for rank, body in enumerate(texts[:1] if same else texts):
        (folder / f"rank{rank}.fx.txt").write_text(body)
    manifest = {
        "sequential": "seq.fx.txt",
        "distributed": ["rank0.fx.txt"] * world if same else "rank{rank}.fx.txt",
        "mesh": spec.mesh,
        "groups": groups,
        "inputs": {n: t.placement for n, t in spec.inputs.items()},
        "outputs": spec.outputs,
        **spec.manifest,
    }
    (folder / "case.json").write_text(json.dumps(manifest, indent=1) + "\n")
    write_expected(spec, folder)


def extra_value(value: Any) -> Any:
    return value if isinstance(value, (int, float, list)) else 0


def write_expected(spec: Case, folder: pathlib.Path) -> None:
    expected: dict[str, Any] = {"verdict": spec.verdict, "why": spec.why}
    if spec.accept:
        expected["accept"] = spec.accept
    if spec.verdict in ("PROVED", "REFUTED"):
        expected["outputs"] = {n: (spec.statuses or {}).get(n, spec.verdict) for n in spec.outputs}
    for key in ("kind", "warnings", "contains", "witness", "bug", "reports", "blame_kinds"):
        if getattr(spec, key) not in (None, []):
            expected[key] = getattr(spec, key)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def check_numerically(spec: Case, seq: Any, ranks: list[Any], groups: dict[str, Any], world: int) -> None:
    differs: set[str] = set()
    for seed in range(3):
        generator = torch.Generator().manual_seed(100 + seed)
        sample = {n: t.sample(generator) for n, t in spec.inputs.items()}
        parts = [local_parts(sample, spec, rank) for rank in range(world)]
        extra = [torch.as_tensor(extra_value(v)) for v in spec.manifest.get("extra_inputs", {}).values()]
        reference = run_lockstep([seq], [[full_value(sample[n], t.placement) for n, t in spec.inputs.items()]], {})[0]
        table = rank_groups(groups, spec.mesh)
        found = run_lockstep(ranks, [[v for v in p.values() if v is not None] + extra for p in parts], table)
        positions = [0] * world
        for index, (name, entry) in enumerate(spec.outputs.items()):
            dist = entry.get("dist", name)
            values: list[Any] = []
            for rank in range(world):
                if isinstance(dist, list) and dist[rank] is None:
                    values.append(None)
                    continue
                values.append(found[rank][positions[rank]])
                positions[rank] += 1
            if entry.get("expect") == "any" or (
                "expect" not in entry and entry.get("role") not in ("loss", "gradient", "updated")
            ):
                continue
            placement = entry.get("expect") or (
                "Replicate" if entry["role"] == "loss" else spec.inputs[entry["of"]].placement
            )
            if not expected_parts(reference[index], values, placement, spec.mesh):
                differs.add(name)
    want = {n for n in spec.outputs if (spec.statuses or {}).get(n, spec.verdict) == "REFUTED"}
    assert differs == want or spec.verdict == "UNKNOWN", (
        f"{spec.name}: these outputs differ: {sorted(differs)}, expected {sorted(want)}"
    )
