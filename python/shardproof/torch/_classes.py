# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Ranks that run the same program: when the caller says along which axes they do, some of each class are captured instead of all.

Along an axis, programs may differ in whole numbers that grow evenly with the rank's place on it: where its part of a vocabulary begins, the piece that it takes
of what it would send. So of each class are captured: the first rank, its neighbour on each axis (which shows the steps), and the last, which must be what the steps
say. That the ranks between are so, too, is an assumption, and is among the program's notes. Whatever else differs is refused.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence

from shardproof.torch._errors import CaptureError
from shardproof.torch._placements import Mesh
from shardproof.torch._program import Program

# What a line of a graph is made of: names, numbers, all else.
_TOKEN = re.compile(r"[A-Za-z_]\w*|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|.")
_WHOLE = re.compile(r"-?\d+")
_NAME = re.compile(r"([A-Za-z_]\w*?)(?:_([1-9]\d*))?")


def rank_classes(mesh: Mesh, alike: Sequence[str]) -> list[list[int]]:
    """The ranks in classes: those of one differ only in their coordinates on the axes `alike`."""
    unknown = [a for a in alike if a not in mesh.names]
    if unknown:
        raise CaptureError(f"alike names the axis {unknown[0]!r}; the mesh has {', '.join(mesh.names)}")
    classes: dict[tuple[int, ...], list[int]] = {}
    for rank in range(mesh.size):
        where = mesh.coordinates(rank)
        classes.setdefault(tuple(where[a] for a in mesh.names if a not in alike), []).append(rank)
    return list(classes.values())


def _steps(members: Sequence[int], mesh: Mesh) -> dict[str, int]:
    """Axis -> the first rank's neighbour on it, for the axes along which the class extends."""
    first = mesh.coordinates(members[0])
    found: dict[str, int] = {}
    for rank in members:
        moved = [a for a, place in mesh.coordinates(rank).items() if place != first[a]]
        if len(moved) == 1:
            found.setdefault(moved[0], rank)
    return found


def captured_ranks(classes: Sequence[Sequence[int]], mesh: Mesh) -> list[int]:
    """The first of each class, its neighbours and the last."""
    return sorted({r for members in classes for r in (members[0], members[-1], *_steps(members, mesh).values())})


def all_ranks(captured: Sequence[Program], classes: Sequence[Sequence[int]], mesh: Mesh) -> list[Program]:
    """Every rank's program: those that were not captured follow from the others of their class. Raises CaptureError where these differ in another way."""
    programs = {p.rank: p for p in captured}
    for members in classes:
        missing = [r for r in members if r not in programs]
        if not missing:
            continue
        known = [programs[r] for r in members if r in programs]
        for program in known[1:]:
            _must_agree(known[0], program, mesh)
        graphs, moving = _graphs(known, missing, _steps(members, mesh), mesh)
        note = (
            f"ranks {_listed(members)} are assumed to run one program"
            + (f" but for {moving} numbers that grow evenly from rank to rank" if moving else "")
            + f": {_listed([p.rank for p in known])} were captured and {'agree' if moving else 'are equal'}"
        )
        for rank, graph in zip(missing, graphs, strict=True):
            programs[rank] = dataclasses.replace(
                copy.deepcopy(known[0]), rank=rank, graph=graph, notes=[*known[0].notes, note], seconds=0.0
            )
    return [programs[rank] for rank in range(mesh.size)]


def _listed(ranks: Sequence[int | None]) -> str:
    words = [str(r) for r in ranks]
    return ", ".join(words) if len(words) < 9 else f"{', '.join(words[:3])}, ..., {words[-1]}"


def _must_agree(first: Program, other: Program, mesh: Mesh) -> None:
    """In everything but the text of the graph."""
    where = f"ranks {first.rank} and {other.rank} are not alike"
    if any(isinstance(g, list) and all(isinstance(r, list) for r in g) for g in first.groups.values()):
        raise CaptureError(
            f"{where}: rank {first.rank} communicates in a group that is no axis of the mesh {dict(mesh.axes)}; capture all ranks, without alike"
        )
    shapes = [{(v.kind, v.fqn): v.shape for v in p.inputs} for p in (first, other)]
    for key, shape in shapes[0].items():
        if shapes[1].get(key) != shape:
            raise CaptureError(
                f"{where}: {key[1]} has shape {list(shape)} on one and {list(shapes[1].get(key) or ())} on the other; capture all ranks, without alike"
            )
    for what in ("inputs", "outputs"):
        for a, b in zip(getattr(first, what), getattr(other, what), strict=False):
            if (a.name, a.placement) != (b.name, b.placement):
                raise CaptureError(
                    f"{where}: among the {what}, {a.name} ({a.placement}) is {b.name} ({b.placement}) on the other; capture all ranks, without alike"
                )
        if len(getattr(first, what)) != len(getattr(other, what)):
            raise CaptureError(f"{where}: they have different numbers of {what}; capture all ranks, without alike")
    for what in ("groups", "facts"):
        if getattr(first, what) != getattr(other, what):
            raise CaptureError(f"{where}: their {what} differ; capture all ranks, without alike")
    if first.constants.keys() != other.constants.keys():  # a constant's name is made of its value
        raise CaptureError(f"{where}: they hold different tables of constants; capture all ranks, without alike")


def _graphs(
    known: Sequence[Program], missing: Sequence[int], steps: Mapping[str, int], mesh: Mesh
) -> tuple[list[str], int]:
    """The graphs of the missing ranks, and how many numbers of them are not the first's."""
    first, texts = known[0], {p.rank: p.graph.splitlines() for p in known}
    for program in known[1:]:
        if len(texts[program.rank]) != len(texts[first.rank]):
            raise _unlike(first, program)
    made = {rank: list(texts[first.rank]) for rank in missing}
    moving = 0
    for at, line in enumerate(texts[first.rank]):
        others = [(p, texts[p.rank][at]) for p in known[1:]]
        if all(text == line for _, text in others):
            continue
        tokens = {p.rank: _TOKEN.findall(text) for p, text in [(first, line), *others]}
        here = tokens[first.rank]
        for program, _ in others:
            if len(tokens[program.rank]) != len(here):
                raise _unlike(first, program)
        rows = {rank: list(here) for rank in missing}
        for k, token in enumerate(here):
            if all(tokens[p.rank][k] == token for p in known):
                continue
            values: dict[int | None, int] = {}
            for program in (*known[1:], first):
                stem, number = _number(tokens[program.rank][k])
                if number is None or stem != _number(token)[0]:
                    raise _unlike(first, program)
                values[program.rank] = number
            wanted = _evenly(values, first.rank or 0, steps, mesh)
            for program in known:
                if wanted[program.rank or 0] != values[program.rank]:
                    raise _unlike(first, program)
            moving += 1
            for rank in missing:
                if stem and wanted[rank] < 0:
                    raise _unlike(first, known[-1])
                rows[rank][k] = f"{stem}_{wanted[rank]}" if stem and wanted[rank] else stem or str(wanted[rank])
        for rank in missing:
            made[rank][at] = "".join(rows[rank])
    end = "\n" if first.graph.endswith("\n") else ""
    graphs = ["\n".join(made[rank]) + end for rank in missing]
    if moving:
        names = len(set(re.findall(r"[A-Za-z_]\w*", first.graph)))
        for graph in graphs:
            # A name that grew into another one's would mean that one.
            if len(set(re.findall(r"[A-Za-z_]\w*", graph))) != names:
                raise _unlike(first, known[-1])
    return graphs, moving


def _evenly(values: Mapping[int | None, int], first: int, steps: Mapping[str, int], mesh: Mesh) -> dict[int, int]:
    """Every rank's number, if it grows along each axis as it does from the first rank to its neighbour."""
    start = mesh.coordinates(first)
    slopes = {axis: values[rank] - values[first] for axis, rank in steps.items()}
    places = {rank: mesh.coordinates(rank) for rank in range(mesh.size)}
    return {r: values[first] + sum(s * (place[a] - start[a]) for a, s in slopes.items()) for r, place in places.items()}


def _number(token: str) -> tuple[str, int | None]:
    """A whole number; or a name, whose number is the one that PyTorch put at its end (getitem, getitem_1, ...), with what comes before."""
    if _WHOLE.fullmatch(token):
        return "", int(token)
    name = _NAME.fullmatch(token)
    return (name[1], int(name[2] or 0)) if name else ("", None)


def _unlike(first: Program, other: Program) -> CaptureError:
    changed = (
        line for line in difflib.unified_diff(first.graph.splitlines(), other.graph.splitlines(), n=0, lineterm="")
    )
    shown = [line for line in changed if line[:1] in "+-" and line[:3] not in ("+++", "---")][:2]
    return CaptureError(
        f"ranks {first.rank} and {other.rank} are not alike: more tells them apart than whole numbers that grow evenly from rank to rank. "
        "Capture all ranks, or leave the axis in which they differ out of alike. They differ first in\n  "
        + "\n  ".join(line[:200] for line in shown)
    )
