# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes a captured graph as FX readable text, with types and source lines, as people read it and shardproof does."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch.utils._dtype_abbrs import dtype_abbrs

from shardproof.torch import _locations
from shardproof.torch._errors import CaptureError


def annotation(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return ""
    return f': "{dtype_abbrs[value.dtype]}[{", ".join(str(int(n)) for n in value.shape)}]"'


def argument(value: Any) -> str:
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, (list, tuple)):
        inner = ", ".join(argument(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, torch.device):
        return f"device(type='{value.type}')"
    if isinstance(value, float) and (math.isinf(value) or math.isnan(value)):
        return repr(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return str(value)
    raise CaptureError(f"an argument of type {type(value).__name__} cannot be written: {value!r}")


def call(node: torch.fx.Node) -> str:
    if node.target is operator.getitem:
        return f"{argument(node.args[0])}[{node.args[1]}]"
    arguments = [argument(a) for a in node.args] + [f"{k} = {argument(v)}" for k, v in node.kwargs.items()]
    return f"torch.ops.{node.target}({', '.join(arguments)})"


def write(gm: torch.fx.GraphModule, name: str = "Captured") -> str:
    nodes = list(gm.graph.nodes)
    parameters = ", ".join(n.name + annotation(n) for n in nodes if n.op == "placeholder")
    lines = [
        f"class {name}(torch.nn.Module):",
        f"    def forward(self, {parameters}):" if parameters else "    def forward(self):",
    ]
    last = None
    for node in nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            lines.append(f"        return {argument(node.args[0])}")
            continue
        place = _locations.of(node)
        if place is not None and place != last:
            file, line, function, code = place
            lines += ["", f"        # File: {file}:{line} in {function}, code: {code}"]
        elif place is None and last is not None:
            lines += ["", "        # No stacktrace found for following nodes"]
        last = place
        value = f"self.{node.target}" if node.op == "get_attr" else call(node)
        lines.append(f"        {node.name}{annotation(node)} = {value}")
    return "\n".join(lines) + "\n"
