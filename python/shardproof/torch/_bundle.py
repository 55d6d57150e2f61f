# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""From captured programs to a manifest: which input is which, how each lies on the mesh, what each output must be."""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import json
import os
import pathlib
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shardproof._manifest import Manifest
from shardproof._report import Report
from shardproof._run import check
from shardproof.torch._errors import CaptureError
from shardproof.torch._placements import Mesh, infer_by_shape, parse
from shardproof.torch._program import Program, Value

_LARGE = 4096  # constants with more elements than this go into files


@dataclasses.dataclass
class Capture:
    """The one-device program and every rank's, and what relates them. `check()` proves or refutes; `save()` writes the bundle."""

    sequential: Program
    ranks: list[Program]
    mesh: Mesh
    manifest: Manifest
    notes: list[str]
    warnings: list[str] = dataclasses.field(default_factory=list)

    def save(self, folder: str | os.PathLike[str]) -> pathlib.Path:
        """Writes case.json, the graphs and large constants; the folder can then be checked anywhere, without Python.

        With a name that ends in .zip everything goes into that one file, which may be checked as the folder may.
        """
        folder = pathlib.Path(folder)
        if folder.suffix == ".zip":
            with (
                tempfile.TemporaryDirectory(prefix="shardproof-bundle-") as made,
                zipfile.ZipFile(folder, "w", zipfile.ZIP_DEFLATED) as archive,
            ):
                for file in sorted(self.save(made).iterdir()):
                    archive.write(file, file.name)
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self._files().items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, value in self._large_constants().items():
            np.save(folder / f"{name}.npy", value)
        self.manifest.save(folder / "case.json")
        return folder

    def check(self, **options: Any) -> Report:
        """Checks the bundle. What the capture assumed comes first among the assumptions."""
        with tempfile.TemporaryDirectory(prefix="shardproof-capture-") as folder:
            report = check(self.save(folder), **options)
        return dataclasses.replace(
            report,
            assumptions=(*self.notes, *report.assumptions),
            warnings=(*self.warnings, *report.warnings),
            manifest=None,
        )

    def _files(self) -> dict[str, str]:
        return {
            file_name(self.sequential): self.sequential.graph,
            **{n: p.graph for n, p in zip(rank_files(self.ranks), self.ranks, strict=True)},
        }

    def _large_constants(self) -> dict[str, np.ndarray]:
        return {n: v for p in (self.sequential, *self.ranks) for n, v in p.constants.items() if v.size > _LARGE}

    @property
    def seconds(self) -> dict[str, float]:
        """Time spent on each program's capture."""
        return {"sequential": self.sequential.seconds, **{f"rank{p.rank}": p.seconds for p in self.ranks}}


def file_name(program: Program) -> str:
    ending = "fx.txt" if program.form == "fx" else "json"
    return f"seq.{ending}" if program.rank is None else f"rank{program.rank}.{ending}"


def rank_files(ranks: Sequence[Program]) -> list[str]:
    """One file for all ranks whose graphs are the same."""
    first: dict[str, str] = {}
    return [first.setdefault(p.graph, file_name(p)) for p in ranks]


def _matching(overrides: Mapping[str, Any], *names: str) -> Any:
    """The override whose pattern fits one of the names; the longest pattern wins."""
    found = [p for p in overrides if any(fnmatch.fnmatchcase(n, p) for n in names if n)]
    return overrides[max(found, key=len)] if found else None


class Composer:
    """Makes the manifest; each step notes what it took for granted."""

    def __init__(
        self,
        sequential: Program,
        ranks: Sequence[Program],
        mesh: Mesh,
        *,
        input_placements: Mapping[str, Any],
        overrides: Mapping[str, Any],
        expect: Mapping[str, Any],
        facts: Sequence[str],
        tensor_axes: Sequence[str],
        batch_axes: Sequence[str],
    ) -> None:
        self.sequential, self.ranks, self.mesh = sequential, list(ranks), mesh
        self.input_placements, self.overrides, self.expect, self.facts = input_placements, overrides, expect, facts
        self.tensor_axes, self.batch_axes = list(tensor_axes), list(batch_axes)
        self.notes: list[str] = []
        self.manifest = Manifest(file_name(sequential), rank_files(ranks), mesh=list(mesh.axes))
        self.placements: dict[str, Any] = {}  # of the sequential inputs, by name

    def compose(self) -> Capture:
        for group, ranks in self._groups().items():
            self.manifest.group(group, ranks)
        self._inputs()
        self._outputs()
        self._constants()
        self._all_used()
        given = {re.split(r"\W", f.strip())[0] for f in self.facts}
        for name, fact in self.sequential.facts.items():
            if name not in given:
                self.manifest.fact(fact)
                self.notes.append(
                    f"{fact}, as the one-device program demands; if labels may be ignored, say so: facts=['{fact} or = -100']"
                    if "label" in name or "target" in name
                    else f"{fact}, as the one-device program demands"
                )
        for fact in self.facts:
            self.manifest.fact(fact)
        for program in (self.sequential, *self.ranks):
            self.notes += [n for n in program.notes if n not in self.notes]
        return Capture(self.sequential, self.ranks, self.mesh, self.manifest, self.notes, self._idle())

    def _idle(self) -> list[str]:
        """An axis that nothing is about: most often a plan whose patterns fitted no module, of which PyTorch only warns."""
        try:
            used = {a for words in self.placements.values() for s in parse(words, self.mesh) for a in s.axes}
        except CaptureError:  # words that only the checker reads
            return []
        for group in (g for p in self.ranks for g in p.groups.values()):
            if isinstance(group, list) and any(isinstance(r, list) for r in group):
                return []
            used.update([group] if isinstance(group, str) else group)
        return [
            f"nothing is cut over {axis} and no rank communicates over it: all of its {size} ranks do the same work. Did what distributes the model find its modules?"
            for axis, size in self.mesh.axes
            if size > 1 and axis not in used
        ]

    def _all_used(self) -> None:
        """A pattern that fits nothing is a slip of the pen, and the proof would be about something else."""
        inputs = [n for v in self.sequential.inputs for n in (v.fqn, v.name)]
        outputs = [n for v in self.sequential.outputs for n in (v.label, v.fqn, v.name)]
        for argument, patterns, names in (("placements", self.overrides, inputs), ("expect", self.expect, outputs)):
            for pattern in patterns:
                if not any(fnmatch.fnmatchcase(n, pattern) for n in names if n):
                    near = difflib.get_close_matches(pattern, [n for n in names if n], 1)
                    known = (
                        f"did you mean {near[0]!r}?"
                        if near
                        else f"there are {', '.join(list(dict.fromkeys(filter(None, names)))[:8])} ..."
                    )
                    raise CaptureError(
                        f"{argument}: {pattern!r} fits no {'input' if argument == 'placements' else 'output'}: {known}"
                    )

    def _groups(self) -> dict[str, Any]:
        groups: dict[str, Any] = {}
        for program in self.ranks:
            groups.update(program.groups)
        return groups

    def _inputs(self) -> None:
        tables = [{(v.kind, v.fqn): v for v in p.inputs} for p in self.ranks]
        known = {(v.kind, v.fqn) for v in self.sequential.inputs}
        extra = sorted({v.fqn for t in tables for k, v in t.items() if k not in known})
        if extra:
            raise CaptureError(
                f"the distributed model has {len(extra)} parameters or inputs that the one-device model lacks: {', '.join(extra[:5])}; are both built from one configuration, and are the same weights tied in both?"
            )
        states_of = {v.fqn: v for v in self.sequential.inputs if v.kind == "parameter"}
        for value in self.sequential.inputs:
            key = (value.kind, value.fqn)
            held = [t.get(key) for t in tables]
            if not any(held):
                raise CaptureError(f"no rank has the {value.kind} {value.fqn} of the one-device model")
            words = self._placement(value, held, states_of)
            self.placements[value.name] = words
            self.manifest.input(value.name, words)
            names = [None if v is None else v.name for v in held]
            if any(n not in (None, value.name) for n in names):
                self.manifest.rename(value.name, names)

    def _placement(self, value: Value, held: Sequence[Value | None], parameters: Mapping[str, Value]) -> Any:
        override = _matching(self.overrides, value.fqn, value.name)
        if override is not None:
            return override
        if value.kind == "state":  # lies as its parameter does
            parameter = parameters.get(value.fqn.rpartition(".")[0])
            if parameter is not None and parameter.name in self.placements:
                return self.placements[parameter.name]
        present = [v for v in held if v is not None]
        on = self._on([v is not None for v in held], value.fqn)
        if value.kind == "input":
            return self.input_placements.get(value.fqn, "Replicate")
        stated = {str(v.placement) for v in present if v.placement is not None}
        if len(stated) > 1:
            raise CaptureError(f"the ranks place {value.fqn} differently: {sorted(stated)}")
        if stated:
            return _join(on, stated.pop())
        if marked := self._marked(present[0].attributes):
            return _join(on, marked)
        shapes = {v.shape for v in present}
        if shapes == {value.shape}:
            return on or "Replicate"
        guess = infer_by_shape(value.shape, present[0].shape, self.tensor_axes, self.mesh) if len(shapes) == 1 else None
        if guess is None:
            raise CaptureError(
                f"{value.fqn} has shape {list(value.shape)} on one device and {sorted(map(list, shapes))} on the ranks, and the framework does not say how it is cut: "
                f"give placements={{'{value.fqn}': 'Shard(0)@{self.tensor_axes[0] if self.tensor_axes else 'tp'}'}}"
            )
        self.notes.append(
            f"placement of {value.fqn} taken from its shapes {list(value.shape)} and {list(present[0].shape)}: {guess}"
        )
        return _join(on, guess)

    def _marked(self, attributes: Mapping[str, Any]) -> str | None:
        """Megatron marks a parameter that is cut over the tensor-parallel group."""
        if (
            not attributes.get("tensor_model_parallel")
            or attributes.get("partition_dim", -1) < 0
            or not self.tensor_axes
        ):
            return None
        stride = int(attributes.get("partition_stride", 1))
        return f"Shard({attributes['partition_dim']}{f', blocks={stride}' if stride > 1 else ''})@{self.tensor_axes[0]}"

    def _on(self, present: Sequence[bool], what: str) -> str:
        """Which coordinates of which axis have it; "" if all ranks do."""
        if all(present):
            return ""
        for axis, size in self.mesh.axes:
            having = sorted({self.mesh.coordinates(r)[axis] for r, p in enumerate(present) if p})
            if len(having) < size and all(
                p == (self.mesh.coordinates(r)[axis] in having) for r, p in enumerate(present)
            ):
                return f"On({', '.join(map(str, having))})@{axis}"
        raise CaptureError(
            f"{what} is on ranks {[r for r, p in enumerate(present) if p]}, which are not the ranks at some coordinates of one mesh axis"
        )

    def _outputs(self) -> None:
        tables = [{(v.kind, v.fqn, v.label): v for v in p.outputs} for p in self.ranks]
        absent = []
        for value in self.sequential.outputs:
            held = [t.get((value.kind, value.fqn, value.label)) for t in tables]
            present = [v for v in held if v is not None]
            if not present:
                raise CaptureError(f"no rank has the output {value.label or value.fqn} of the one-device program")
            if value.absent and all(v.absent for v in present):
                absent.append(value.fqn)
                continue
            for rank, v in enumerate(held):
                if v is not None and v.absent and not value.absent:
                    self.notes.append(f"no gradient reaches {value.fqn} on rank {rank}: taken as zeros")
            names = [None if v is None else v.name for v in held]
            entry: dict[str, Any] = {"label": value.label or None, "fqn": value.fqn or None}
            entry["dist"] = names[0] if len(set(names)) == 1 else names
            if value.kind in ("gradient", "updated"):
                entry["role"], entry["of"] = value.kind, value.of
            elif value.kind == "loss":
                entry["role"] = "loss"
            expect = self._expectation(value, held)
            if expect is not None:
                entry["expect"] = expect
            self.manifest.output(value.name, **entry)
        if absent:
            self.notes.append(
                f"no gradient reaches {len(absent)} parameters in either program: {', '.join(absent[:3])}{' ...' if len(absent) > 3 else ''}"
            )

    def _expectation(self, value: Value, held: Sequence[Value | None]) -> Any:
        override = _matching(self.expect, value.fqn, value.name, value.label)
        if override is not None:
            return override
        on = self._on([v is not None for v in held], value.label or value.fqn)
        stated = {str(v.placement) for v in held if v is not None and v.placement is not None}
        if len(stated) > 1:
            raise CaptureError(f"the ranks place the output {value.label or value.fqn} differently: {sorted(stated)}")
        if value.kind == "loss":
            # Under data parallelism each rank has the mean over its own rows; a loss that was averaged already fits as well.
            words = stated.pop() if stated else ""
            average = ", ".join(f"Partial(avg)@{a}" for a in self.batch_axes if f"@{a}" not in words)
            if average:
                self.notes.append(
                    f"the loss is taken as each rank's own along {', '.join(self.batch_axes)}: their average is the loss (expect={{'loss': 'Replicate'}} to demand one that is reduced)"
                )
            return ", ".join(w for w in (on, average, words) if w and w != "Replicate") or "Replicate"
        if stated:
            words = stated.pop()
            return None if value.of and words == self.placements.get(value.of) else _join(on, words)
        if value.kind in ("gradient", "updated"):
            return None
        return on or None

    def _constants(self) -> None:
        seen: dict[str, np.ndarray] = {}
        for program in (self.sequential, *self.ranks):
            for name, value in program.constants.items():
                if name not in seen:
                    seen[name] = value
                    self.manifest.constant(name, f"{name}.npy" if value.size > _LARGE else value.tolist())


def _join(*words: Any) -> Any:
    kept = [w for w in words if w and w != "Replicate"]
    if not kept:
        return "Replicate"
    if len(kept) == 1:
        return kept[0]
    if all(isinstance(w, str) for w in kept):
        return ", ".join(kept)
    raise CaptureError(f"placements {json.dumps(kept)} cannot be joined: give the whole as an override")
