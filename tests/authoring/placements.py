# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The manifest's placements on concrete tensors: a second, plain reading, for checking the golden cases only."""

from __future__ import annotations

import math
import re
from typing import Any

import torch

TOLERANCE = 1e-4


def mesh_size(mesh: dict[str, int]) -> int:
    return math.prod(mesh.values())


def coordinates(rank: int, mesh: dict[str, int]) -> dict[str, int]:
    out = {}
    for axis, size in reversed(mesh.items()):
        out[axis] = rank % size
        rank //= size
    return out


def rank_groups(groups: dict[str, Any], mesh: dict[str, int]) -> dict[str, list[list[int]]]:
    """Group name -> its rank lists."""
    world = list(range(mesh_size(mesh)))
    out = {}
    for name, value in groups.items():
        if value == "world":
            out[name] = [world]
        elif isinstance(value, str) or all(isinstance(v, str) for v in value):
            axes = [value] if isinstance(value, str) else value
            table: dict[tuple, list[int]] = {}
            for rank in world:
                where = coordinates(rank, mesh)
                table.setdefault(tuple(c for a, c in where.items() if a not in axes), []).append(rank)
            out[name] = list(table.values())
        else:
            out[name] = value
    return out


WORD = re.compile(r"(Replicate|Shard|Partial|On)(?:\(([^)]*)\))?(?:@\(?([\w, ]+)\)?)?$")


def steps(placement: Any, mesh: dict[str, int]) -> list[dict[str, Any]]:
    """A placement as a list of {kind, dim/op/coordinates, axes, ...} in the order of application."""
    if isinstance(placement, dict):
        if "shard" in placement:
            return [{"kind": "Shard", "dim": placement["shard"], **placement, "axes": [placement["axis"]]}]
        out = []
        for axis in mesh:
            if axis in placement:
                inner = placement[axis]
                out += steps(f"{inner}@{axis}" if isinstance(inner, str) else {**inner, "axis": axis}, mesh)
        return out
    out = []
    for word in re.split(r",\s*(?![^(]*\))", placement):
        match = WORD.match(word.strip())
        assert match, word
        kind, argument, axes = match[1], match[2] or "", match[3]
        if kind == "Replicate":
            continue
        step: dict[str, Any] = {"kind": kind, "axes": [a.strip() for a in axes.split(",")]}
        if kind == "Shard":
            parts = [p.strip() for p in argument.split(",")]
            step["dim"] = int(parts[0])
            for part in parts[1:]:
                key, value = part.split("=")
                step[key] = int(value)
        elif kind == "Partial":
            step["op"] = argument or "sum"
        else:
            step["coordinates"] = [int(p) for p in argument.split(",")]
        out.append(step)
    return out


def cut(x: torch.Tensor, step: dict[str, Any], index: int, count: int) -> torch.Tensor:
    """The part of x that the rank at `index` of `count` holds."""
    dim = step["dim"]
    n = x.shape[dim]
    if "chunks" in step or step.get("order") == "zigzag":
        chunks = step.get("chunks") or [[r, 2 * count - 1 - r] for r in range(count)]
        size = n // sum(len(c) for c in chunks)
        return torch.cat([x.narrow(dim, c * size, size) for c in chunks[index]], dim)
    blocks = step.get("blocks")
    if isinstance(blocks, int):
        blocks = [{"size": n // blocks}] * blocks
    if blocks:
        out, start = [], 0
        for block in blocks:
            copies = block.get("copies", 1)
            length = block["size"] // (count // copies)
            out.append(x.narrow(dim, start + index // copies * length, length))
            start += block["size"]
        return torch.cat(out, dim)
    length = -(-n // count)
    start = min(index * length, n)
    part = x.narrow(dim, start, min(length, n - start))
    if "padded" in step:
        shape = list(part.shape)
        shape[dim] = step["padded"] - part.shape[dim]
        fill = step.get("fill", 0)
        pad = torch.randn(shape).to(x.dtype) if fill == "any" else torch.full(shape, fill, dtype=x.dtype)
        part = torch.cat([part, pad], dim)
    return part


def apply_cuts(x: torch.Tensor, placement: Any, mesh: dict[str, int], rank: int) -> torch.Tensor | None:
    where = coordinates(rank, mesh)
    for step in steps(placement, mesh):
        index, count = 0, 1
        for axis in step["axes"]:
            index, count = index * mesh[axis] + where[axis], count * mesh[axis]
        if step["kind"] == "On" and index not in step["coordinates"]:
            return None
        if step["kind"] == "Shard":
            x = cut(x, step, index, count)
    return x


def full_value(x: torch.Tensor, placement: Any) -> torch.Tensor:
    return x


def local_parts(sample: dict[str, torch.Tensor], spec: Any, rank: int) -> dict[str, torch.Tensor | None]:
    """What each rank holds of every input. A partial sum is made by giving the whole to random shares that add up."""
    out = {}
    for name, tensor in spec.inputs.items():
        x: torch.Tensor | None = sample[name]
        placement = tensor.placement
        if isinstance(placement, list) or (isinstance(placement, str) and "r0." in placement):
            x = term_part(sample[name], placement, rank)
        else:
            partial = [s for s in steps(placement, spec.mesh) if s["kind"] == "Partial"]
            if partial:
                (step,) = partial
                count, index = spec.mesh[step["axes"][0]], coordinates(rank, spec.mesh)[step["axes"][0]]
                generator = torch.Generator().manual_seed(3)
                shares = torch.randn((count, *x.shape), generator=generator).to(x.dtype)
                if step["op"] == "sum":
                    shares[-1] = x - shares[:-1].sum(0)
                elif step["op"] == "avg":
                    shares[-1] = count * x - shares[:-1].sum(0)
                else:
                    raise AssertionError(step["op"])
                x = shares[index]
            x = apply_cuts(x, placement, spec.mesh, rank)
        out[name] = x if x is None else x.clone()
    return out


def term_part(x: torch.Tensor, placement: str, rank: int) -> torch.Tensor:
    """`concat(d, r0.x, r1.x)`: equal parts in the order of the term."""
    match = re.match(r"concat\((\d+), (.*)\)$", placement)
    assert match, placement
    order = [int(w.strip().split(".")[0][1:]) for w in match[2].split(",")]
    return torch.chunk(x, len(order), int(match[1]))[order.index(rank)]


def close(x: torch.Tensor, y: torch.Tensor) -> bool:
    if x.shape != y.shape:
        return False
    if not x.dtype.is_floating_point:
        return torch.equal(x, y.to(x.dtype))
    return torch.allclose(x.double(), y.double(), rtol=TOLERANCE, atol=TOLERANCE)


def expected_parts(
    reference: torch.Tensor, values: list[torch.Tensor | None], placement: Any, mesh: dict[str, int]
) -> bool:
    """Do the ranks' values form `reference` under `placement`?"""
    found = steps(placement, mesh)
    partial = [s for s in found if s["kind"] == "Partial"]
    combined = list(values)
    for step in partial:
        axis = step["axes"][0]
        for group in rank_groups({"g": axis}, mesh)["g"]:
            stack = torch.stack([values[r] for r in group])
            total = {
                "sum": stack.sum(0),
                "avg": stack.mean(0) if stack.dtype.is_floating_point else stack,
                "max": stack.amax(0),
                "min": stack.amin(0),
            }[step["op"]]
            for r in group:
                combined[r] = total
    for rank, value in enumerate(combined):
        want = apply_cuts(reference, placement, mesh, rank)
        if (want is None) != (value is None):
            return False
        if want is not None and not close(want, value):
            return False
    return True
