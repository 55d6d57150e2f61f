# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs one FX graph per rank node by node, all ranks in one process, with collectives on real values."""

from __future__ import annotations

from typing import Any

import torch

REDUCE = {
    "sum": lambda s: s.sum(0),
    "avg": lambda s: s.mean(0),
    "max": lambda s: s.amax(0),
    "min": lambda s: s.amin(0),
    "product": lambda s: s.prod(0),
}


class StuckError(Exception):
    """No rank can go on."""


class Machine:
    def __init__(
        self, gms: list[torch.fx.GraphModule], inputs: list[list[torch.Tensor]], groups: dict[str, list[list[int]]]
    ) -> None:
        self.gms, self.groups = gms, groups
        self.nodes = [list(gm.graph.nodes) for gm in gms]
        self.values: list[dict[Any, Any]] = [{} for _ in gms]
        self.position = [0] * len(gms)
        self.inputs = [list(x) for x in inputs]
        self.mail: dict[tuple, list[torch.Tensor]] = {}

    def run(self) -> list[list[Any]]:
        while any(p < len(n) for p, n in zip(self.position, self.nodes, strict=True)):
            if not any(self.advance(rank) for rank in range(len(self.gms))) and not self.collective():
                raise StuckError
        return [list(v["output"]) for v in self.values]

    def arguments(self, rank: int, node: torch.fx.Node) -> tuple[Any, Any]:
        def load(x: torch.fx.Node) -> Any:
            return self.values[rank][x]

        return torch.fx.map_arg(node.args, load), torch.fx.map_arg(node.kwargs, load)

    def advance(self, rank: int) -> bool:
        """Runs nodes of the rank up to its next collective."""
        moved = False
        while self.position[rank] < len(self.nodes[rank]):
            node = self.nodes[rank][self.position[rank]]
            name = str(node.target)
            if "c10d" in name and "wait_tensor" not in name and not self.point_to_point(rank, node, name):
                return moved
            if "c10d" not in name or "wait_tensor" in name:
                self.plain(rank, node)
            self.position[rank] += 1
            moved = True
        return moved

    def plain(self, rank: int, node: torch.fx.Node) -> None:
        if node.op == "placeholder":
            self.values[rank][node] = self.inputs[rank].pop(0)
        elif node.op == "output":
            self.values[rank]["output"] = self.arguments(rank, node)[0][0]
        elif node.op == "get_attr":
            self.values[rank][node] = getattr(self.gms[rank], node.target)
        elif "wait_tensor" in str(node.target):
            self.values[rank][node] = self.arguments(rank, node)[0][0]
        else:
            args, kwargs = self.arguments(rank, node)
            self.values[rank][node] = node.target(*args, **kwargs)

    def point_to_point(self, rank: int, node: torch.fx.Node, name: str) -> bool:
        """A send always goes on; a receive once its message is there."""
        args, _ = self.arguments(rank, node)
        if "isend" in name:
            self.mail.setdefault((rank, args[1], args[2]), []).append(args[0].clone())
            self.values[rank][node] = torch.empty(0)
            return True
        if "irecv" in name:
            box = self.mail.get((args[1], rank, args[2]), [])
            if not box:
                return False
            self.values[rank][node] = box.pop(0)
            return True
        return False

    def collective(self) -> bool:
        """Finds a group whose ranks all stand at a collective over it, and carries that out."""
        for rank, nodes in enumerate(self.nodes):
            if self.position[rank] >= len(nodes):
                continue
            node = nodes[self.position[rank]]
            args, _ = self.arguments(rank, node)
            members = next(m for m in self.groups[args[-1]] if rank in m)
            here = [self.nodes[r][self.position[r]] if self.position[r] < len(self.nodes[r]) else None for r in members]
            if any(
                n is None
                or str(n.target) != str(node.target)
                or next(m for m in self.groups.get(n.args[-1], []) if r in m) != members
                for r, n in zip(members, here, strict=True)
            ):
                continue
            all_args = [self.arguments(r, n)[0] for r, n in zip(members, here, strict=True)]
            for r, n, value in zip(members, here, self.compute(str(node.target), all_args), strict=True):
                self.values[r][n] = value
                self.position[r] += 1
            return True
        return False

    @staticmethod
    def compute(name: str, args: list[Any]) -> list[torch.Tensor]:
        xs = [a[0] for a in args]
        count = len(xs)
        if "all_reduce" in name:
            out = REDUCE[args[0][1]](torch.stack(xs))
            return [out.clone() for _ in xs]
        if "all_gather" in name:
            return [torch.cat(xs) for _ in xs]
        if "reduce_scatter" in name:
            return list(torch.chunk(REDUCE[args[0][1]](torch.stack(xs)), count))
        if "all_to_all" in name:
            parts = [torch.split(x, a[2]) for x, a in zip(xs, args, strict=True)]
            return [torch.cat([parts[s][r] for s in range(count)]) for r in range(count)]
        if "broadcast" in name:
            return [xs[args[0][1]].clone() for _ in xs]
        raise AssertionError(name)
