# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Ranks that run the same program: when the caller says along which axes they do, two of each class are captured instead of all."""

from __future__ import annotations

import copy
import dataclasses
import difflib
from collections.abc import Sequence

from shardproof.torch._errors import CaptureError
from shardproof.torch._placements import Mesh
from shardproof.torch._program import Program


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


def captured_ranks(classes: Sequence[Sequence[int]]) -> list[int]:
    """The first and the last of each class."""
    return sorted({rank for members in classes for rank in (members[0], members[-1])})


def all_ranks(captured: Sequence[Program], classes: Sequence[Sequence[int]], mesh: Mesh) -> list[Program]:
    """Every rank's program: those between the first and the last of a class are copies. Raises CaptureError where these two differ."""
    programs = {p.rank: p for p in captured}
    for members in classes:
        first, last = programs[members[0]], programs[members[-1]]
        if len(members) < 3:
            continue
        _must_be_equal(first, last, mesh)
        note = f"ranks {', '.join(map(str, members))} are assumed to run one program: {members[0]} and {members[-1]} were captured and are equal"
        for rank in members[1:-1]:
            programs[rank] = dataclasses.replace(
                copy.deepcopy(first), rank=rank, notes=[*first.notes, note], seconds=0.0
            )
    return [programs[rank] for rank in range(mesh.size)]


def _must_be_equal(first: Program, last: Program, mesh: Mesh) -> None:
    where = f"ranks {first.rank} and {last.rank} are not alike"
    if any(isinstance(g, list) and all(isinstance(r, list) for r in g) for g in first.groups.values()):
        raise CaptureError(
            f"{where}: rank {first.rank} communicates in a group that is no axis of the mesh {dict(mesh.axes)}; capture all ranks, without alike"
        )
    shapes = [{(v.kind, v.fqn): v.shape for v in p.inputs} for p in (first, last)]
    for key, shape in shapes[0].items():
        if shapes[1].get(key) != shape:
            raise CaptureError(
                f"{where}: {key[1]} has shape {list(shape)} on one and {list(shapes[1].get(key) or ())} on the other; capture all ranks, without alike"
            )
    if first.graph != last.graph:
        changed = (
            line for line in difflib.unified_diff(first.graph.splitlines(), last.graph.splitlines(), n=0, lineterm="")
        )
        shown = [line for line in changed if line[:1] in "+-" and line[:3] not in ("+++", "---")][:2]
        raise CaptureError(
            f"{where}; capture all ranks, or leave the axis in which they differ out of alike. They differ first in\n  "
            + "\n  ".join(line[:200] for line in shown)
        )
