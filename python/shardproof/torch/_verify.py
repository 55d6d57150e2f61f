# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The calls that users make: capture one program, all ranks', or a pair, and check it."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from shardproof._report import Report
from shardproof.torch import _ddp
from shardproof.torch._bundle import Capture, Composer
from shardproof.torch._classes import all_ranks, captured_ranks, rank_classes
from shardproof.torch._errors import CaptureError, explain
from shardproof.torch._placements import Mesh, parse
from shardproof.torch._program import Options, Program, build_model, default_step, make
from shardproof.torch._ranks import fake_world, run_forked
from shardproof.torch._trace import Optimizer, argument_names

# Axes along which a batch is cut unless the caller says otherwise: the names that PyTorch, torchtitan and Megatron use.
BATCH_AXES = ("dp", "data", "dp_replicate", "dp_shard", "fsdp", "ddp", "hsdp")
MeshLike: TypeAlias = Mapping[str, int] | Sequence[tuple[str, int]]
Model: TypeAlias = torch.nn.Module | Callable[[], torch.nn.Module]
Parallelize: TypeAlias = Callable[..., Any]


def capture(
    model: Model,
    args: Sequence[Any],
    *,
    step: Callable[..., Any] | None = None,
    backward: bool | str | None = None,
    optimizer: Optimizer | None = None,
    build: str = "meta",
    form: str = "fx",
) -> Program:
    """Captures a one-device program: forward, loss, backward and, with `optimizer`, its step.

    `model` is a module or a function that makes one. `step(module, *args)` returns the loss (first, if it returns several values);
    by default it is the module's call. With a scalar loss the gradients are outputs, too; `backward=False` leaves them out.
    """
    options = Options(step, backward, optimizer, None, build, form)
    return run_forked([("the one-device program", lambda: _one(model, None, args, options, None, Mesh(()), {}))])[0]  # type: ignore[no-any-return]


def capture_ranks(
    model: Model,
    parallelize: Parallelize | None,
    mesh: MeshLike,
    args: Sequence[Any],
    *,
    ranks: Sequence[int] | None = None,
    alike: Sequence[str] = (),
    input_placements: Mapping[str, Any] | None = None,
    step: Callable[..., Any] | None = None,
    backward: bool | str | None = None,
    optimizer: Optimizer | None = None,
    after_backward: Callable[[torch.nn.Module], None] | None = None,
    before_step: Callable[[torch.nn.Module], None] | None = None,
    build: str = "meta",
    form: str = "fx",
    processes: int | None = None,
) -> list[Program]:
    """Captures every rank's program (or those of `ranks`), each in a forked child with a fake process group.

    `parallelize(module, device_mesh)` distributes the module and returns it (or changes it in place). The arguments are global; each rank
    gets the part that `input_placements` says. Of ranks that differ only in their coordinates on the axes `alike`, the first, its neighbours and the last are
    captured; they must be equal but for whole numbers that grow evenly from rank to rank (where a part of a vocabulary begins). The ones between are
    assumed to be so, which is among the program's notes.
    """
    layout = Mesh.of(mesh)
    options = Options(step, backward, optimizer, after_backward, build, form, before_step=before_step)
    placements = _input_placements(model, args, options, layout, input_placements)
    if ranks is not None:
        if alike:
            raise CaptureError("give either ranks or alike")
        return run_forked(_rank_jobs(model, parallelize, layout, args, options, placements, ranks), processes)
    classes = rank_classes(layout, alike)
    jobs = _rank_jobs(model, parallelize, layout, args, options, placements, captured_ranks(classes, layout))
    return all_ranks(run_forked(jobs, processes), classes, layout)


def capture_pair(
    model: Model,
    parallelize: Parallelize | None,
    mesh: MeshLike,
    args: Sequence[Any],
    *,
    distributed_model: Model | None = None,
    step: Callable[..., Any] | None = None,
    distributed_step: Callable[..., Any] | None = None,
    input_placements: Mapping[str, Any] | None = None,
    placements: Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | None = None,
    facts: Sequence[str] = (),
    backward: bool | str | None = None,
    optimizer: Optimizer | None = None,
    distributed_optimizer: Optimizer | None = None,
    after_backward: Callable[[torch.nn.Module], None] | None = None,
    before_step: Callable[[torch.nn.Module], None] | None = None,
    build: str = "meta",
    form: str = "fx",
    distributed_backward: bool | str | None = None,
    alike: Sequence[str] = (),
    processes: int | None = None,
) -> Capture:
    """Captures the one-device program and every rank's, and relates them; see `verify` for the arguments."""
    layout = Mesh.of(mesh)
    options = Options(step, backward, optimizer, None, build, form, before_step=before_step)
    dist_options = dataclasses.replace(
        options,
        step=distributed_step or step,
        backward=backward if distributed_backward is None else distributed_backward,
        optimizer=distributed_optimizer or optimizer,
        after_backward=after_backward,
    )
    for given in (placements, expect, input_placements):
        for words in (given or {}).values():
            _axes_exist(words, layout)
    cut = _input_placements(model, args, options, layout, input_placements)
    dist_options.input_names = options.input_names
    jobs = [("the one-device program", lambda: _one(model, None, args, options, None, Mesh(()), {}))]
    classes = rank_classes(layout, alike)
    jobs += _rank_jobs(
        distributed_model or model, parallelize, layout, args, dist_options, cut, captured_ranks(classes, layout)
    )
    sequential, *captured = run_forked(jobs, processes)
    ranks = all_ranks(captured, classes, layout)
    batch_axes = sorted(
        {a for p in cut.values() for s in parse(p, layout) if s.kind == "Shard" for a in s.axes if a in BATCH_AXES},
        key=layout.names.index,
    )
    composer = Composer(
        sequential,
        ranks,
        layout,
        input_placements=cut,
        overrides=placements or {},
        expect=expect or {},
        facts=facts,
        tensor_axes=[a for a in layout.names if a not in BATCH_AXES],
        batch_axes=batch_axes,
    )
    if input_placements is None and batch_axes:
        composer.notes.append(
            f"the batch is taken to be cut on dimension 0 over {', '.join(batch_axes)}: "
            + ", ".join(f"{n} {p}" for n, p in cut.items())
        )
    return composer.compose()


def verify(
    model: Model,
    parallelize: Parallelize | None,
    mesh: MeshLike,
    example_inputs: Sequence[Any],
    *,
    save: str | os.PathLike[str] | None = None,
    check: Mapping[str, Any] | None = None,
    **options: Any,
) -> Report:
    """Proves that the parallelized model computes what the model computes on one device, or shows where it does not.

    model             a module, or a function that makes one (it is called on the meta device: weights cost nothing)
    parallelize       parallelize(module, device_mesh), as for training; returns the module or changes it in place
    mesh              axis -> size, e.g. {"dp": 2, "tp": 4}
    example_inputs    the global batch; only shapes and types matter
    step              step(module, *inputs) -> loss; by default the module's own call. With a scalar loss, gradients are checked
    distributed_step  where the ranks' step differs, e.g. it divides by the number of ranks or reduces gradients
    input_placements  argument name -> placement; by default the batch is cut on dimension 0 over the data-parallel axes
    placements        pattern of parameter names -> placement, where the framework does not say it, or to override it
    distributed_backward  "in_step": the ranks' step calls backward itself, as a pipeline schedule does
    expect            pattern of output names or labels -> placement
    facts             e.g. ["mask in [0, 2)"]; ranges of token ids and labels are found by themselves
    optimizer         optimizer(module) -> torch.optim.Optimizer: its step is captured, and updated parameters are checked
    after_backward    after_backward(module) on the ranks only, e.g. Megatron's finalisation of gradients
    before_step       before_step(module) in both programs, after that and before the optimizer, e.g. the clipping of gradients
    alike             axes along which ranks are assumed to run one program, e.g. ["dp"]: of each class the first, its neighbours and the last are captured
    build             "meta", or "cpu" for models that need values while they are built
    save              a folder to write the bundle to
    check             options of shardproof.check: time_limit, certificate, witness
    """
    known = list(inspect.signature(capture_pair).parameters)[4:]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(
                f"verify() has no option {name!r}"
                + (f": did you mean {near[0]!r}?" if near else f"; it has {', '.join(known)}")
            )
    made = capture_pair(model, parallelize, mesh, example_inputs, **options)
    if save is not None:
        made.save(save)
    return made.check(**dict(check or {}))


def _one(
    model: Model,
    parallelize: Parallelize | None,
    args: Sequence[Any],
    options: Options,
    rank: int | None,
    mesh: Mesh,
    placements: Mapping[str, Any],
) -> Program:
    """In a child: builds the model for its rank and captures it."""
    what = "the one-device model" if rank is None else f"the model of rank {rank}"
    with fake_world(rank or 0, mesh.size):
        try:
            module = build_model(model, options.build)
            if parallelize is not None:
                with _ddp.by_meaning():
                    module = _parallelized(parallelize, module, mesh)
            module, average = _ddp.unwrapped(_uncompiled(module))
        except Exception as error:
            raise explain(error, what) from error
        if average is None:
            return make(module, args, options, rank, mesh, placements)
        own = options.after_backward

        def after_backward(module: torch.nn.Module) -> None:
            average(module)
            if own is not None:
                own(module)

        program = make(
            module, args, dataclasses.replace(options, after_backward=after_backward), rank, mesh, placements
        )
        program.notes.append(_ddp.NOTE)
        return program


def _uncompiled(module: torch.nn.Module) -> torch.nn.Module:
    """torch.compile(module) computes what the module does, under other names."""
    inner = getattr(module, "_orig_mod", None)
    return inner if isinstance(inner, torch.nn.Module) else module


def _parallelized(parallelize: Parallelize, module: torch.nn.Module, mesh: Mesh) -> torch.nn.Module:
    from torch.distributed.device_mesh import init_device_mesh

    device_mesh = init_device_mesh("cpu", tuple(n for _, n in mesh.axes), mesh_dim_names=mesh.names)
    made = parallelize(module, device_mesh)
    if made is None:
        return module
    if not isinstance(made, torch.nn.Module):
        raise CaptureError(
            f"the parallelize function returned a {type(made).__name__}; it must return the module, or nothing if it changed it in place"
        )
    return made


def _rank_jobs(
    model: Model,
    parallelize: Parallelize | None,
    mesh: Mesh,
    args: Sequence[Any],
    options: Options,
    placements: Mapping[str, Any],
    ranks: Sequence[int] | None,
) -> list[Any]:
    def job(rank: int) -> Callable[[], Program]:
        return lambda: _one(model, parallelize, args, options, rank, mesh, placements)

    return [(f"rank {r}", job(r)) for r in (range(mesh.size) if ranks is None else ranks)]


def _input_placements(
    model: Model, args: Sequence[Any], options: Options, mesh: Mesh, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Argument name -> placement. A batch is cut as a DistributedSampler would: contiguous rows over the data-parallel axes."""
    if options.step is not None:
        names = argument_names(options.step, args, 1)
    else:
        module = model if isinstance(model, torch.nn.Module) else None
        names = (
            argument_names(module.forward, args, 0) if module is not None else _names_by_building(model, args, options)
        )
    options.input_names = names
    if given is not None:
        unknown = [n for n in given if n not in names]
        if unknown:
            raise CaptureError(f"input_placements names {unknown[0]!r}; the inputs are {', '.join(names)}")
        return {n: given.get(n, "Replicate") for n in names}
    import torch.utils._pytree as pytree

    axes = [a for a, size in mesh.axes if a in BATCH_AXES and size > 1]
    tensors = [x for x in pytree.tree_leaves(list(args)) if isinstance(x, torch.Tensor)]
    words = ", ".join(f"Shard(0)@{a}" for a in axes) or "Replicate"
    parts = math.prod(mesh.length(a) for a in axes)
    for name, x in zip(names, tensors, strict=False):
        if x.dim() and x.shape[0] % parts:
            raise CaptureError(
                f"{name} has {x.shape[0]} rows, which {' x '.join(axes)} = {parts} ranks cannot share evenly: give a batch that they can, or say how it is cut: "
                f"input_placements={{{name!r}: 'Shard(0)@{axes[0]}'}}"
            )
    return {n: words if x.dim() else "Replicate" for n, x in zip(names, tensors, strict=True)}


def _axes_exist(words: Any, mesh: Mesh) -> None:
    """Before minutes of capture: what the checker would say afterwards."""
    for axis in re.findall(r"@\s*(\w+)", words) if isinstance(words, str) else ():
        if axis not in mesh.names:
            raise CaptureError(
                f"placement {words!r} names axis {axis!r}, which the mesh {dict(mesh.axes)} does not have"
            )


def _names_by_building(model: Any, args: Sequence[Any], options: Options) -> list[str]:
    def names() -> list[str]:
        with fake_world(0, 1):
            return argument_names(build_model(model, options.build).forward, args, 0)

    return run_forked([("the one-device model", names)])[0]  # type: ignore[no-any-return]


__all__ = [
    "BATCH_AXES",
    "Capture",
    "CaptureError",
    "Program",
    "capture",
    "capture_pair",
    "capture_ranks",
    "default_step",
    "verify",
]
