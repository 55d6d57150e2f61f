# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A manifest as a Python value: placements in the words of DTensor, checked where they are written.

m = Manifest("seq.fx.txt", ["rank0.fx.txt", "rank1.fx.txt"], mesh={"tp": 2})
m.input("w1", Shard(1) @ "tp").input("w2", Shard(0) @ "tp").input("x", Replicate())
m.output("loss", role="loss")
"""

from __future__ import annotations

import copy
import dataclasses
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

Role = Literal["gradient", "updated", "loss", "value"]


@dataclasses.dataclass(frozen=True)
class Placement:
    """How a tensor lies on the mesh: steps from left to right, each on an axis or a product of axes. `a | b` is a, then b."""

    steps: tuple[tuple[str, str], ...] = ()  # (word, axis)

    def __or__(self, other: Placement) -> Placement:
        return Placement(self.steps + other.steps)

    def __str__(self) -> str:
        return ", ".join(f"{word}@{axis}" for word, axis in self.steps) or "Replicate"


@dataclasses.dataclass(frozen=True)
class _Word:
    word: str

    def __matmul__(self, axis: str | Sequence[str]) -> Placement:
        """On which axis: `Shard(0) @ "tp"`, or one cut over a product of axes: `Shard(0) @ ("dp", "tp")`."""
        name = axis if isinstance(axis, str) else f"({', '.join(axis)})"
        return Placement(((self.word, name),))


def Replicate() -> Placement:  # noqa: N802  the words of DTensor
    """The whole tensor on every rank."""
    return Placement()


def Shard(dim: int, *, blocks: int = 1) -> _Word:  # noqa: N802
    """Dimension `dim` cut evenly, as torch.chunk does; `blocks`: it is a row of that many equal blocks, each cut."""
    if dim < 0 or blocks < 1:
        raise ValueError(f"Shard({dim}, blocks={blocks}): the dimension counts from 0, and there is at least one block")
    return _Word(f"Shard({dim})" if blocks == 1 else f"Shard({dim}, blocks={blocks})")


def Partial(op: Literal["sum", "avg", "max", "min"] = "sum") -> _Word:  # noqa: N802
    """A reduction over ranks that is still to be done."""
    if op not in ("sum", "avg", "max", "min"):
        raise ValueError(f"Partial({op!r}): the reductions are sum, avg, max and min")
    return _Word(f"Partial({op})")


def On(*coordinates: int) -> _Word:  # noqa: N802
    """Only the ranks at these coordinates of the axis have the tensor."""
    return _Word(f"On({', '.join(map(str, coordinates))})")


PlacementLike = Placement | str | Mapping[str, Any] | Sequence[str]


def _plain(placement: PlacementLike) -> Any:
    if isinstance(placement, Placement):
        return str(placement)
    if isinstance(placement, Mapping):
        return {k: _plain(v) if isinstance(v, Placement) else v for k, v in placement.items()}
    return placement if isinstance(placement, str) else list(placement)


class Manifest:
    """What a check needs to know: the programs, the mesh, and how inputs and outputs lie on it. See docs/manifest.md."""

    def __init__(
        self,
        sequential: str | Sequence[str],
        distributed: str | Sequence[Any] | Mapping[str, Any],
        *,
        mesh: Mapping[str, int] | Sequence[tuple[str, int]] = (),
        **keys: Any,
    ) -> None:
        self._keys: dict[str, Any] = {
            "sequential": sequential if isinstance(sequential, str) else list(sequential),
            "distributed": distributed if isinstance(distributed, (str, Mapping)) else list(distributed),
            "mesh": [[a, n] for a, n in (mesh.items() if isinstance(mesh, Mapping) else mesh)],
            "inputs": {},
        }
        self._keys.update(copy.deepcopy(keys))
        self.directory: pathlib.Path | None = None  # what relative paths are relative to

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any], directory: str | pathlib.Path | None = None) -> Manifest:
        made = cls.__new__(cls)
        made._keys = copy.deepcopy(dict(keys))
        made.directory = pathlib.Path(directory) if directory is not None else None
        return made

    @classmethod
    def load(cls, path: str | pathlib.Path) -> Manifest:
        """Reads a JSON manifest, or that of a folder."""
        path = pathlib.Path(path)
        if path.is_dir():
            path = path / "case.json"
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")), path.parent)

    def input(self, name: str, placement: PlacementLike) -> Manifest:
        """The placement of a sequential input, or of all that match a glob."""
        self._keys.setdefault("inputs", {})[name] = _plain(placement)
        return self

    def output(
        self,
        name: str,
        *,
        dist: str | Sequence[str | None] | None = None,
        role: Role | None = None,
        of: str | None = None,
        expect: PlacementLike | None = None,
        fqn: str | None = None,
        label: str | None = None,
    ) -> Manifest:
        """An output to check; with any, only those named are checked."""
        entry: dict[str, Any] = {
            "dist": dist if dist is None or isinstance(dist, str) else list(dist),
            "role": role,
            "of": of,
            "fqn": fqn,
            "label": label,
        }
        if expect is not None:
            entry["expect"] = _plain(expect)
        self._keys.setdefault("outputs", {})[name] = {k: v for k, v in entry.items() if v is not None}
        return self

    def group(self, name: str, ranks: str | Sequence[Any]) -> Manifest:
        """What a group's name in the graphs stands for: an axis, several, "world", "self", or lists of ranks."""
        self._keys.setdefault("groups", {})[name] = ranks if isinstance(ranks, str) else list(ranks)
        return self

    def fact(self, text: str) -> Manifest:
        """A fact on an input, such as "tokens in [0, 32000)"."""
        self._keys.setdefault("facts", []).append(text)
        return self

    def constant(self, name: str, value: Any) -> Manifest:
        self._keys.setdefault("constants", {})[name] = value
        return self

    def rename(self, sequential: str, distributed: str | Sequence[str | None]) -> Manifest:
        self._keys.setdefault("rename", {})[sequential] = (
            distributed if isinstance(distributed, str) else list(distributed)
        )
        return self

    def extra_input(self, name: str, value: Any) -> Manifest:
        self._keys.setdefault("extra_inputs", {})[name] = value
        return self

    def to_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self._keys)

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Writes it as JSON: into the file, or as case.json into the folder."""
        path = pathlib.Path(path)
        if path.is_dir():
            path = path / "case.json"
        path.write_text(json.dumps(self._keys, indent=1) + "\n", encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"Manifest({json.dumps(self._keys)})"


def map_paths(paths: Any, change: Callable[[str], str]) -> Any:
    """What a manifest's key for programs holds (a path, a list, or a mapping from paths to where they run), with every path changed."""
    if isinstance(paths, str):
        return change(paths)
    if isinstance(paths, Mapping):
        return {map_paths(p, change): where for p, where in paths.items()}
    return [map_paths(p, change) for p in paths]


def absolute(keys: Mapping[str, Any], directory: pathlib.Path) -> dict[str, Any]:
    """The manifest with every path made absolute, so that it may lie anywhere."""

    def move(paths: Any) -> Any:
        return map_paths(paths, lambda p: str((directory / p).resolve()))

    out = copy.deepcopy(dict(keys))
    for key in ("sequential", "distributed", "kernels"):
        if key in out:
            out[key] = move(out[key])
    for name, value in (out.get("constants") or {}).items():
        if isinstance(value, str) and value.endswith(".npy"):
            out["constants"][name] = move(value)
    return out
