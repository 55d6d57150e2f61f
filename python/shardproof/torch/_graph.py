# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Cleans a captured graph: names that users know, nothing that is there for autograd only, constants by content, groups by axes."""

from __future__ import annotations

import hashlib
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from shardproof.torch._errors import CaptureError

_ATEN = torch.ops.aten
_IDENTITY = {_ATEN.detach.default, _ATEN.alias.default, _ATEN.lift_fresh.default, _ATEN.lift.default}


def clean(gm: torch.fx.GraphModule, inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, torch.Tensor]:
    """In place; returns the values of the constants by name."""
    graph = gm.graph
    names = _Names(graph)
    for node, name in zip([n for n in graph.nodes if n.op == "placeholder"], inputs, strict=True):
        names.give(node, name)
        node.target = name
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in _IDENTITY:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
        elif node.op == "call_function" and node.target is _ATEN.copy_.default and node.args[0].op == "placeholder":
            # Functionalisation writes mutated inputs back; their new values are among the outputs already.
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    _name_outputs(graph, outputs, names)
    constants = _name_constants(gm)
    graph.eliminate_dead_code(is_impure_node=_has_effect)
    for node in graph.nodes:
        if (
            node.op == "call_function"
            and node.target is not operator.getitem
            and not isinstance(node.target, torch._ops.OpOverload)
        ):
            raise CaptureError(f"the captured program calls {node.target}, which is no ATen operator{_where(node)}")
        if (
            isinstance(node.target, torch._ops.OpOverload)
            and node.target._schema.is_mutable
            and node.target.namespace == "aten"
        ):
            raise CaptureError(f"an in-place operator is left in the captured program: {node.target}{_where(node)}")
    _name_after_modules(graph, {*inputs, *outputs})
    graph.lint()
    gm.recompile()
    used = {n.target for n in graph.nodes if n.op == "get_attr"}
    return {k: v for k, v in constants.items() if k in used}


def _name_after_modules(graph: torch.fx.Graph, fixed: set[str]) -> None:
    """layers_0_attention_wo_mm instead of mm_3: a report that names an operator names its module, and so its parameters."""
    from shardproof.torch import _locations

    taken = {n.name for n in graph.nodes}
    for node in graph.nodes:
        module = _locations.module_of(node) if node.op == "call_function" and node.name not in fixed else ""
        if not module:
            continue
        base = re.sub(r"\W", "_", f"{module}_{re.sub(r'_[0-9]+$', '', node.name)}")
        name, count = base, 1
        while name in taken or name[0].isdigit():
            name, count = f"{base}_{count}" if not base[0].isdigit() else f"m_{base}_{count}", count + 1
        taken.add(name)
        node.name = name


def _where(node: torch.fx.Node) -> str:
    from shardproof.torch import _locations

    place = _locations.of(node)
    return f" (from {place[0]}:{place[1]}: {place[3]})" if place else ""


def _has_effect(node: torch.fx.Node) -> bool:
    """Communication stays, used or not: other ranks wait for it."""
    if node.op in ("placeholder", "output"):
        return True
    return isinstance(node.target, torch._ops.OpOverload) and "c10d" in node.target.namespace


class _Names:
    """Gives nodes the names that are asked for; who had a name before gets another one."""

    def __init__(self, graph: torch.fx.Graph) -> None:
        self.nodes = {n.name: n for n in graph.nodes}

    def give(self, node: torch.fx.Node, name: str) -> None:
        other = self.nodes.get(name)
        if other is node:
            return
        if other:
            spare = next(f"{name}_{i}" for i in range(1, len(self.nodes) + 2) if f"{name}_{i}" not in self.nodes)
            other.name = spare
            self.nodes[spare] = other
        if node.name in self.nodes and self.nodes[node.name] is node:
            del self.nodes[node.name]
        node.name = name
        self.nodes[name] = node


def _name_outputs(graph: torch.fx.Graph, wanted: Sequence[str], names: _Names) -> None:
    """Each output becomes an operator of its own with the name that the manifest uses."""
    (output,) = (n for n in graph.nodes if n.op == "output")
    values = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    seen: set[torch.fx.Node] = set()
    made = []
    for value, name in zip(values, wanted, strict=True):
        node = value
        if value.op != "call_function" or value in seen or value.target is operator.getitem:
            with graph.inserting_before(output):
                node = graph.call_function(_ATEN.clone.default, (value,))
            node.meta.update(value.meta)
        seen.add(node)
        names.give(node, name)
        made.append(node)
    output.args = (tuple(made),)


def _name_constants(gm: torch.fx.GraphModule) -> dict[str, torch.Tensor]:
    """Names every constant by its content, so that equal ones have one name on all ranks."""
    constants: dict[str, torch.Tensor] = {}
    for node in gm.graph.nodes:
        if node.op != "get_attr":
            continue
        value = getattr(gm, node.target)
        if not isinstance(value, torch.Tensor):
            if node.users:
                raise CaptureError(
                    f"the captured program uses the attribute {node.target} of type {type(value).__name__}, which is no tensor"
                )
            continue
        if hasattr(value, "fake_mode") or value.is_meta:
            raise CaptureError(
                f"the program uses a tensor of shape {list(value.shape)} whose value is not known{_where(next(iter(node.users), node))}: it is neither a parameter nor a buffer nor an "
                "input. Register it as a buffer, or build the model for real with build='cpu'."
            )
        data = value.detach().cpu().contiguous()
        digest = hashlib.sha256(
            str((data.dtype, tuple(data.shape))).encode() + data.view(-1).view(torch.uint8).numpy().tobytes()
            if data.numel()
            else b""
        ).hexdigest()
        name = f"const_{digest[:10]}"
        constants[name] = data
        setattr(gm, name, data)
        node.target = name
        node.meta.setdefault("val", data)
    return constants


def rename_groups(gm: torch.fx.GraphModule, rename: Callable[[str], str]) -> None:
    """Gives the groups names that say which axes they join."""
    for node in gm.graph.nodes:
        if (
            node.op == "call_function"
            and isinstance(node.target, torch._ops.OpOverload)
            and node.target.namespace in ("_c10d_functional", "_c10d_functional_autograd", "_dtensor")
        ):
            names = [a.name for a in node.target._schema.arguments]
            for key in ("group_name", "group"):
                if key in names and names.index(key) < len(node.args):
                    args: list[Any] = list(node.args)
                    args[names.index(key)] = rename(str(args[names.index(key)]))
                    node.args = tuple(args)
                elif key in node.kwargs:
                    node.kwargs = {**node.kwargs, key: rename(str(node.kwargs[key]))}
    gm.recompile()


def integer_facts(gm: torch.fx.GraphModule) -> dict[str, str]:
    """What the one-device program itself demands of its integer inputs: rows that an embedding has, classes of a cross entropy."""
    facts: dict[str, str] = {}
    for node in gm.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is _ATEN.embedding.default:
            source, size = _source(node.args[1]), node.args[0].meta["val"].shape[0]
        elif node.target is _ATEN.nll_loss_forward.default:
            source, size = _source(node.args[1]), node.args[0].meta["val"].shape[-1]
        else:
            continue
        if source is not None:
            facts[source.name] = f"{source.name} in [0, {size})"
    return facts


_MOVES = {
    "view",
    "constant_pad_nd",
    "reshape",
    "slice",
    "select",
    "clone",
    "_to_copy",
    "unsqueeze",
    "squeeze",
    "expand",
    "transpose",
    "permute",
    "t",
    "_unsafe_view",
    "contiguous",
    "split",
    "chunk",
    "cat",
    "gather",
    "index_select",
    "flip",
    "roll",
    "repeat",
}


def _source(node: Any) -> torch.fx.Node | None:
    """The placeholder that an index comes from by mere rearrangement or selection."""
    for _ in range(64):
        if not isinstance(node, torch.fx.Node) or node.op == "placeholder":
            return node if isinstance(node, torch.fx.Node) else None
        if node.target is operator.getitem or (
            isinstance(node.target, torch._ops.OpOverload) and node.target._schema.name.split("::")[1] in _MOVES
        ):
            node = node.args[0]
            if isinstance(node, (list, tuple)):
                node = node[0] if len(node) == 1 else None
        else:
            return None
    return None
