# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""From what frameworks know about a tensor to the manifest's placements, and the part of a tensor that a rank holds."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from shardproof.torch._errors import CaptureError


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Named axes, ranks row-major."""

    axes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, mesh: Mapping[str, int] | Sequence[tuple[str, int]]) -> Mesh:
        try:
            pairs = tuple(mesh.items()) if isinstance(mesh, Mapping) else tuple((a, n) for a, n in mesh)
            axes = tuple((str(a), int(n)) for a, n in pairs)
        except (TypeError, ValueError):
            raise CaptureError(f"mesh={mesh!r}: write axis -> size, e.g. {{'dp': 2, 'tp': 4}}") from None
        if bad := [a for a, n in axes if n < 1]:
            raise CaptureError(f"mesh={mesh!r}: axis {bad[0]!r} needs a size of 1 or more")
        return cls(axes)

    @property
    def size(self) -> int:
        return math.prod(n for _, n in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a for a, _ in self.axes)

    def length(self, axis: str) -> int:
        return dict(self.axes)[axis]

    def coordinates(self, rank: int) -> dict[str, int]:
        out = {}
        for axis, size in reversed(self.axes):
            out[axis] = rank % size
            rank //= size
        return {a: out[a] for a in self.names}

    def group(self, rank: int, axes: Sequence[str]) -> list[int]:
        """The ranks that differ from `rank` in these axes only, in row-major order of the axes as given."""
        where = self.coordinates(rank)
        out = []
        for index in itertools.product(*(range(self.length(a)) for a in axes)):
            place = {**where, **dict(zip(axes, index, strict=True))}
            r = 0
            for axis, size in self.axes:
                r = r * size + place[axis]
            out.append(r)
        return out

    def axes_of(self, rank: int, ranks: Sequence[int]) -> tuple[str, ...] | None:
        """The axes whose group of `rank` is exactly this list; () for a group of one; None if there are none."""
        ranks = list(ranks)
        if len(ranks) <= 1:
            return ()
        real = [a for a, n in self.axes if n > 1]
        for count in range(1, len(real) + 1):
            for axes in itertools.combinations(real, count):
                if math.prod(self.length(a) for a in axes) == len(ranks) and self.group(rank, axes) == ranks:
                    return axes
        return None


@dataclasses.dataclass(frozen=True)
class Step:
    kind: str  # Shard, Partial, On
    axes: tuple[str, ...]
    dim: int = 0
    blocks: tuple[tuple[int, int], ...] | int = 1  # a number of equal blocks, or (size, copies) of each
    chunks: tuple[tuple[int, ...], ...] | str = ()  # or "zigzag"
    op: str = "sum"
    coordinates: tuple[int, ...] = ()


_WORD = re.compile(r"(Replicate|Shard|Partial|On)(?:\(([^()]*)\))?(?:@(?:\(([\w\s,]+)\)|(\w+)))?$")


def parse(placement: Any, mesh: Mesh) -> list[Step]:
    """The steps of a placement in words or of an object; raises CaptureError for what only the checker reads (free terms)."""
    if isinstance(placement, Mapping):
        return _parse_object(placement, mesh)
    steps = []
    for word in re.split(r",\s*(?=(?:Replicate|Shard|Partial|On)\b)", str(placement)):
        match = _WORD.match(word.strip())
        if not match:
            raise CaptureError(
                f"placement {word.strip()!r} is not understood; write e.g. 'Shard(0)@dp', 'Replicate', 'Shard(1, blocks=2)@tp'"
            )
        kind, arguments = match[1], [a.strip() for a in (match[2] or "").split(",") if a.strip()]
        axes = tuple(a.strip() for a in (match[3] or match[4] or "").split(",") if a.strip())
        if kind == "Replicate":
            continue
        for axis in axes:
            if axis not in mesh.names:
                raise CaptureError(
                    f"placement {word.strip()!r} names axis {axis!r}, which the mesh {dict(mesh.axes)} does not have"
                )
        if not axes:
            raise CaptureError(
                f"placement {word.strip()!r} needs an axis, e.g. {word.strip()}@{mesh.names[0] if mesh.names else 'tp'}"
            )
        if kind == "Shard":
            blocks = next((int(a.split("=")[1]) for a in arguments[1:] if a.replace(" ", "").startswith("blocks=")), 1)
            steps.append(Step("Shard", axes, dim=int(arguments[0]), blocks=blocks))
        elif kind == "Partial":
            steps.append(Step("Partial", axes, op=arguments[0] if arguments else "sum"))
        else:
            steps.append(Step("On", axes, coordinates=tuple(int(a) for a in arguments)))
    return steps


def _parse_object(placement: Mapping[str, Any], mesh: Mesh) -> list[Step]:
    if "shard" in placement:
        axis = placement["axis"]
        axes = (axis,) if isinstance(axis, str) else tuple(axis)
        blocks: Any = placement.get("blocks", 1)
        if not isinstance(blocks, int):
            blocks = tuple((b["size"], b.get("copies", 1)) for b in blocks)
        chunks = (
            "zigzag" if placement.get("order") == "zigzag" else tuple(tuple(c) for c in placement.get("chunks", ()))
        )
        if "padded" in placement:
            raise CaptureError(
                "a padded placement cannot be cut from an example input: give the ranks' inputs by their own function (inputs=lambda rank: ...)"
            )
        return [Step("Shard", axes, dim=placement["shard"], blocks=blocks, chunks=chunks)]
    steps = []
    for axis in mesh.names:
        if axis in placement:
            inner = placement[axis]
            steps += (
                parse(inner if str(inner) == "Replicate" else f"{inner}@{axis}", mesh)
                if isinstance(inner, str)
                else _parse_object({**inner, "axis": axis}, mesh)
            )
    return steps


def local_part(tensor: torch.Tensor, placement: Any, mesh: Mesh, rank: int) -> torch.Tensor | None:
    """What `rank` holds; None where it holds nothing. Under Partial every rank has a tensor of the full shape."""
    where = mesh.coordinates(rank)
    for step in parse(placement, mesh):
        index, count = 0, 1
        for axis in step.axes:
            index, count = index * mesh.length(axis) + where[axis], count * mesh.length(axis)
        if step.kind == "On" and index not in step.coordinates:
            return None
        if step.kind == "Shard":
            tensor = _cut(tensor, step, index, count)
    return tensor


def _cut(x: torch.Tensor, step: Step, index: int, count: int) -> torch.Tensor:
    n = x.shape[step.dim]
    if step.chunks:
        chunks = [(r, 2 * count - 1 - r) for r in range(count)] if step.chunks == "zigzag" else list(step.chunks)
        size = n // sum(len(c) for c in chunks)  # type: ignore[arg-type]
        return torch.cat([x.narrow(step.dim, c * size, size) for c in chunks[index]], step.dim)  # type: ignore[operator]
    blocks = ((n // step.blocks, 1),) * step.blocks if isinstance(step.blocks, int) else step.blocks
    parts, start = [], 0
    for size, copies in blocks:
        length = -(-size // (count // copies))
        first = min(index // copies * length, size)
        parts.append(x.narrow(step.dim, start + first, min(length, size - first)))
        start += size
    return parts[0] if len(parts) == 1 else torch.cat(parts, step.dim)


def from_dtensor(spec: Any, mesh: Mesh, rank: int) -> str:
    """The words for a DTensor's placements. Its device mesh may be any sub-mesh or flattening of the given one."""
    import torch.distributed as dist

    words = []
    for dim, placement in enumerate(spec.placements):
        ranks = dist.get_process_group_ranks(spec.mesh.get_group(dim)) if spec.mesh.ndim else [rank]
        axes = mesh.axes_of(rank, ranks)
        if axes == () or placement.is_replicate():
            continue
        if axes is None:
            raise CaptureError(
                f"a tensor is placed over ranks {ranks}, which is no axis of the mesh {dict(mesh.axes)}: give the mesh with the axes that the framework uses"
            )
        axis = axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
        words.append(f"{_word(placement)}@{axis}")
    return ", ".join(words) or "Replicate"


def _word(placement: Any) -> str:
    kind = type(placement).__name__
    if kind == "_StridedShard":
        return (
            f"Shard({placement.dim})"
            if placement.split_factor == 1
            else f"Shard({placement.dim}, blocks={placement.split_factor})"
        )
    if placement.is_shard():
        return f"Shard({placement.dim})"
    if placement.is_partial():
        op = str(placement.reduce_op)
        if op in ("sum", "avg", "max", "min"):
            return f"Partial({op})"
    raise CaptureError(f"the DTensor placement {placement} has no counterpart in a manifest")


def infer_by_shape(full: Sequence[int], local: Sequence[int], axes: Sequence[str], mesh: Mesh) -> str | None:
    """The placement that shapes leave no choice in: one dimension cut evenly by one of the axes (or by nothing)."""
    differing = [d for d, (n, k) in enumerate(zip(full, local, strict=True)) if n != k]
    if len(full) != len(local) or len(differing) > 1:
        return None
    if not differing:
        return "Replicate"
    (dim,) = differing
    fits = [a for a in axes if local[dim] * mesh.length(a) == full[dim]]
    return f"Shard({dim})@{fits[0]}" if len(fits) == 1 else None
