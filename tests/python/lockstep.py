# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs captured graphs, as their text says, on random values: every rank in a thread, with collectives on real tensors.

An independent check of the capture: what the manifest claims must hold numerically wherever the program is right.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch

from shardproof.torch._placements import Mesh, local_part, parse

REDUCE = {
    "sum": lambda s: s.sum(0),
    "avg": lambda s: s.mean(0),
    "max": lambda s: s.amax(0),
    "min": lambda s: s.amin(0),
    "product": lambda s: s.prod(0),
}


class World:
    """Meeting points for the threads of all ranks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = threading.Condition()
        self.slots: dict[Any, dict[int, Any]] = {}
        self.failed = False

    def exchange(self, key: Any, members: list[int], rank: int, value: Any) -> list[Any]:
        with self.lock:
            slot = self.slots.setdefault(key, {})
            slot[rank] = value
            self.lock.notify_all()
            assert self.lock.wait_for(lambda: self.failed or len(slot) == len(members), timeout=60), (
                f"rank {rank} waits in {key}"
            )
            assert not self.failed
            return [slot[m] for m in members]


class Collectives:
    """Stands for torch.ops._c10d_functional in the text of one rank."""

    def __init__(self, world: World, rank: int, groups: dict[str, list[int]]) -> None:
        self.world, self.rank, self.groups, self.counts = world, rank, groups, {}

    def meet(self, group: str, value: Any) -> list[Any]:
        members = self.groups[group]
        self.counts[group] = self.counts.get(group, 0) + 1
        return self.world.exchange((tuple(members), self.counts[group]), members, self.rank, value)

    def __getattr__(self, name: str) -> Any:
        outer = self

        class Overload:
            @staticmethod
            def default(*args: Any) -> Any:
                return getattr(outer, "do_" + name)(*args)

        return Overload

    def do_wait_tensor(self, x: Any) -> Any:
        return x

    def do_all_reduce(self, x: torch.Tensor, op: str, group: str) -> torch.Tensor:
        return REDUCE[op](torch.stack(self.meet(group, x)))

    def do_all_gather_into_tensor(self, x: torch.Tensor, size: int, group: str) -> torch.Tensor:
        return torch.cat(self.meet(group, x))

    def do_reduce_scatter_tensor(self, x: torch.Tensor, op: str, size: int, group: str) -> torch.Tensor:
        return torch.chunk(REDUCE[op](torch.stack(self.meet(group, x))), size)[self.groups[group].index(self.rank)]

    def do_all_to_all_single(self, x: torch.Tensor, out: list[int], into: list[int], group: str) -> torch.Tensor:
        parts = self.meet(group, torch.split(x, into))
        return torch.cat([p[self.groups[group].index(self.rank)] for p in parts])

    def do_broadcast(self, x: torch.Tensor, root: int, group: str) -> torch.Tensor:
        return self.meet(group, x)[root]

    def do_isend(self, x: torch.Tensor, dst: int, tag: int, group: str) -> torch.Tensor:
        key = ("p2p", self.rank, dst, tag, self.counts.setdefault(("s", dst, tag), 0))
        self.counts[("s", dst, tag)] += 1
        with self.world.lock:
            self.world.slots[key] = {0: x}
            self.world.lock.notify_all()
        return torch.empty(0)

    def do_irecv(self, x: torch.Tensor, src: int, tag: int, group: str) -> torch.Tensor:
        key = ("p2p", src, self.rank, tag, self.counts.setdefault(("r", src, tag), 0))
        self.counts[("r", src, tag)] += 1
        with self.world.lock:
            assert self.world.lock.wait_for(lambda: key in self.world.slots, timeout=60), f"nothing is sent: {key}"
            return self.world.slots[key][0]


def load(text: str, collectives: Any, constants: dict[str, Any]) -> Any:
    names: dict[str, Any] = {
        "torch": torch,
        "device": torch.device,
        "inf": float("inf"),
        "nan": float("nan"),
        "C": collectives,
    }
    exec(text.replace("torch.ops._c10d_functional", "C"), names)
    module = names["Captured"]()
    for name, value in constants.items():
        setattr(module, name, value)
    return module


def compare(capture: Any, seed: int = 0, ranges: dict[str, int] | None = None) -> dict[str, float]:
    """Output -> largest difference between what the ranks compute and what the manifest expects of them (inf where shapes differ)."""
    mesh: Mesh = capture.mesh
    manifest = capture.manifest.to_dict()
    generator = torch.Generator().manual_seed(seed)
    limits = {f.split(" ")[0]: int(f.split(",")[1].split(")")[0]) for f in manifest.get("facts", []) if " in [0, " in f}
    values: dict[str, torch.Tensor] = {}
    for value, node in zip(capture.sequential.inputs, _dtypes(capture.sequential.graph), strict=True):
        if node.is_floating_point:
            values[value.name] = torch.randn(value.shape, generator=generator, dtype=torch.float64).to(node) * (
                0.2 if value.kind != "state" else 0.0
            ) + (0.3 if value.kind == "state" else 0.0)
        else:
            values[value.name] = torch.randint(
                0, (ranges or {}).get(value.name, limits.get(value.name, 2)), value.shape, generator=generator
            ).to(node)
    constants = {
        n: torch.from_numpy(np.asarray(v)) for p in (capture.sequential, *capture.ranks) for n, v in p.constants.items()
    }
    alone = Collectives(World(1), 0, {n: [0] for n in ("self", "world")})
    reference = load(capture.sequential.graph, alone, constants)(*values.values())
    results: list[Any] = [None] * mesh.size
    world = World(mesh.size)

    def run(rank: int) -> None:
        try:
            program = capture.ranks[rank]
            groups = {"self": [rank], **{n: _members(r, mesh, rank) for n, r in manifest.get("groups", {}).items()}}
            args = [
                local_part(values[s.name], manifest["inputs"][s.name], mesh, rank).contiguous()
                for s in _in_order(capture, program)
            ]
            with torch.no_grad():
                results[rank] = load(program.graph, Collectives(world, rank, groups), constants)(*args)
        except BaseException as error:
            results[rank] = error
            with world.lock:
                world.failed = True
                world.lock.notify_all()

    threads = [threading.Thread(target=run, args=(r,)) for r in range(mesh.size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return {n: _difference(capture, manifest, n, e, reference, results, mesh) for n, e in manifest["outputs"].items()}


def _dtypes(text: str) -> list[torch.dtype]:
    from torch.utils._dtype_abbrs import dtype_abbrs

    back = {v: k for k, v in dtype_abbrs.items()}
    header = text.splitlines()[1]
    return [back[part.split("[")[0]] for part in header.split('"')[1::2]]


def _in_order(capture: Any, program: Any) -> list[Any]:
    sequential = {(v.kind, v.fqn): v for v in capture.sequential.inputs}
    return [sequential[(v.kind, v.fqn)] for v in program.inputs]


def _members(ranks: Any, mesh: Mesh, rank: int) -> list[int]:
    if ranks == "world":
        return list(range(mesh.size))
    if ranks == "self":
        return [rank]
    if isinstance(ranks, str):
        return mesh.group(rank, [ranks])
    if all(isinstance(r, str) for r in ranks):
        return mesh.group(rank, ranks)
    return next((m for m in ranks if rank in m), [])


def _difference(capture: Any, manifest: Any, name: str, entry: Any, reference: Any, results: Any, mesh: Mesh) -> float:
    index = [v.name for v in capture.sequential.outputs].index(name)
    want = reference[index].double()
    placement = entry.get("expect") or (manifest["inputs"][entry["of"]] if "of" in entry else "Replicate")
    dist = entry.get("dist", name)
    found: list[Any] = []
    for rank, program in enumerate(capture.ranks):
        wanted = dist[rank] if isinstance(dist, list) else dist
        found.append(
            None if wanted is None else results[rank][[v.name for v in program.outputs].index(wanted)].double()
        )
    for step in parse(placement, mesh):
        if step.kind == "Partial":
            found = [
                None if x is None else REDUCE[step.op](torch.stack([found[r] for r in mesh.group(rank, step.axes)]))
                for rank, x in enumerate(found)
            ]
    worst = 0.0
    for rank, x in enumerate(found):
        part = local_part(want, placement, mesh, rank)
        if (part is None) != (x is None) or (part is not None and part.shape != x.shape):
            return float("inf")
        if part is not None and part.numel():
            worst = max(worst, float((part - x).abs().max()) / (1e-3 + float(part.abs().max())))
    return worst
