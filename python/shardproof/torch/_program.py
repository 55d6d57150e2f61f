# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A captured program as plain data, which a child process can hand to its parent, and how one is made."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from shardproof.torch import _collectives, _export_json, _graph, _text
from shardproof.torch._devices import WithoutAccelerator
from shardproof.torch._errors import CaptureError
from shardproof.torch._placements import Mesh, from_dtensor, local_part
from shardproof.torch._trace import Optimizer, Tracer, argument_names


@dataclasses.dataclass
class Value:
    """An input or an output of a program, without the tensor."""

    name: str
    kind: str  # parameter, buffer, state, input; or loss, gradient, updated, value
    fqn: str
    shape: tuple[int, ...] = ()
    placement: Any = None  # as the framework states it; None: it does not
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    of: str = ""
    label: str = ""
    absent: bool = False


@dataclasses.dataclass
class Program:
    """One rank's program: its graph as text or JSON, what goes in and out, its groups and constants."""

    graph: str
    form: str  # "fx" or "json"
    rank: int | None  # None: the one-device program
    inputs: list[Value]
    outputs: list[Value]
    groups: dict[str, Any]
    constants: dict[str, np.ndarray]
    facts: dict[str, str]
    notes: list[str]
    operators: int
    seconds: float

    def __repr__(self) -> str:
        who = "one device" if self.rank is None else f"rank {self.rank}"
        return f"Program({who}: {len(self.inputs)} inputs, {self.operators} operators, {len(self.outputs)} outputs, {self.seconds:.1f} s)"


@dataclasses.dataclass
class Options:
    """What `verify` and its relatives take beside the model; see there."""

    step: Callable[..., Any] | None = None
    backward: bool | str | None = None
    optimizer: Optimizer | None = None
    after_backward: Callable[[torch.nn.Module], None] | None = None
    build: str = "meta"  # or "cpu"
    form: str = "fx"
    input_names: Sequence[str] | None = None
    before_step: Callable[..., None] | None = None


def build_model(model: Any, how: str) -> torch.nn.Module:
    """The module itself, or what the function returns, made on the meta device so that weights cost nothing."""
    if isinstance(model, torch.nn.Module):
        return model
    if how not in ("meta", "cpu"):
        raise CaptureError(f"build={how!r}: choose 'meta' (parameters without values) or 'cpu' (a real model)")
    with torch.device(how), WithoutAccelerator(how):
        made = model()
    if not isinstance(made, torch.nn.Module):
        raise CaptureError(f"the model function returned a {type(made).__name__}, not a torch.nn.Module")
    return made


def plain_fqn(name: str) -> str:
    """A parameter's name as the user's model has it: without what torch.compile, checkpoint_wrapper and one parametrization put in."""
    name = re.sub(r"\b(_orig_mod|_checkpoint_wrapped_module)\.", "", name)
    return re.sub(r"\bparametrizations\.(\w+)\.original\b(?!\d)", r"\1", name)


def default_step(module: torch.nn.Module, *args: Any) -> Any:
    return module(*args)


def make(
    module: torch.nn.Module,
    args: Sequence[Any],
    options: Options,
    rank: int | None,
    mesh: Mesh,
    placements: Mapping[str, Any] | None = None,
) -> Program:
    """Captures a module that is ready for its rank; the process group is there."""
    started = time.monotonic()
    step = options.step or default_step
    names = list(
        options.input_names or argument_names(step if options.step else module.forward, args, 1 if options.step else 0)
    )
    args, names = _local_arguments(args, names, placements or {}, mesh, rank)
    traced = Tracer(
        module,
        step,
        args,
        argument_names=names,
        backward=options.backward,
        optimizer=options.optimizer,
        after_backward=options.after_backward,
        before_step=options.before_step,
    ).trace()
    groups: dict[str, Any] = {}
    _graph.rename_groups(traced.gm, _renamer(mesh, rank or 0, groups))

    def words(spec: Any) -> str | None:
        return None if spec is None else from_dtensor(spec, mesh, rank or 0)

    inputs = [Value(i.name, i.kind, plain_fqn(i.fqn), i.shape, words(i.spec), i.attributes) for i in traced.inputs]
    outputs = [
        Value(o.name, o.role, plain_fqn(o.fqn), (), words(o.spec), {}, o.of, plain_fqn(o.label), o.absent)
        for o in traced.outputs
    ]
    graph = (
        _text.write(traced.gm) if options.form == "fx" else _export_json.write(traced.gm, traced.inputs, traced.outputs)
    )
    operators = sum(n.op == "call_function" for n in traced.gm.graph.nodes)
    constants = {k: v.float().numpy() if v.dtype == torch.bfloat16 else v.numpy() for k, v in traced.constants.items()}
    return Program(
        graph,
        options.form,
        rank,
        inputs,
        outputs,
        groups,
        constants,
        _graph.integer_facts(traced.gm),
        traced.notes,
        operators,
        time.monotonic() - started,
    )


def _local_arguments(
    args: Sequence[Any], names: Sequence[str], placements: Mapping[str, Any], mesh: Mesh, rank: int | None
) -> tuple[list[Any], list[str]]:
    """The rank's parts of the arguments, and the names of those that it has; None stands for one that it lacks."""
    import torch.utils._pytree as pytree

    leaves, tree = pytree.tree_flatten(list(args))
    names_left = iter(names)
    out, kept = [], []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            name = next(names_left)
            if rank is not None:
                leaf = local_part(leaf, placements.get(name, "Replicate"), mesh, rank)
            if leaf is not None:
                kept.append(name)
        out.append(leaf)
    return pytree.tree_unflatten(out, tree), kept


def _renamer(mesh: Mesh, rank: int, groups: dict[str, Any]) -> Callable[[str], str]:
    table = _collectives.group_table()

    def rename(name: str) -> str:
        if name not in table:
            raise CaptureError(f"a collective uses the process group {name!r}, which this rank does not know")
        ranks = table[name]
        axes = mesh.axes_of(rank, ranks)
        if axes is None:
            new = "ranks_" + "_".join(map(str, ranks))
            groups[new] = [ranks]
        elif axes == ():
            new = "self"
            groups[new] = "self"
        else:
            new = "_".join(axes)
            groups[new] = axes[0] if len(axes) == 1 else list(axes)
        return new

    return rename
