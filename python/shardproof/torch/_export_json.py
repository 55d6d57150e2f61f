# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes a captured graph in the JSON schema of torch.export (major 8), which also stores joint graphs that torch.export cannot save."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from typing import Any

import torch

from shardproof.torch import _locations
from shardproof.torch._errors import CaptureError

_SCALAR_TYPES = {
    torch.uint8: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4, torch.int64: 5, torch.float16: 6, torch.float32: 7, torch.float64: 8,
    torch.complex32: 9, torch.complex64: 10, torch.complex128: 11, torch.bool: 12, torch.bfloat16: 13, torch.uint16: 28,
    torch.float8_e4m3fn: 29, torch.float8_e5m2: 30, torch.float8_e4m3fnuz: 31, torch.float8_e5m2fnuz: 32, torch.uint32: 34, torch.uint64: 35,
}  # fmt: skip
_LAYOUTS = {torch.strided: 7}
_FORMATS = {torch.contiguous_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3, torch.preserve_format: 4}


def _float(value: float) -> Any:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else value


def _argument(value: Any, declared: Any) -> dict[str, Any]:
    """One argument as a union of the schema; `declared` is the type in the operator's own schema, which tells [] from []."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, torch.fx.Node):
        return {"as_tensor": {"name": value.name}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": _float(value)}
    if isinstance(value, str):
        return {"as_string": value}
    if isinstance(value, torch.dtype):
        return {"as_scalar_type": _SCALAR_TYPES[value]}
    if isinstance(value, torch.device):
        return {"as_device": {"type": value.type, "index": value.index}}
    if isinstance(value, torch.layout):
        return {"as_layout": _LAYOUTS[value]}
    if isinstance(value, torch.memory_format):
        return {"as_memory_format": _FORMATS[value]}
    if isinstance(value, (list, tuple)):
        return _list(value, declared)
    raise CaptureError(f"an argument of type {type(value).__name__} cannot be written: {value!r}")


def _list(value: Sequence[Any], declared: Any) -> dict[str, Any]:
    if any(isinstance(v, torch.fx.Node) for v in value):
        if any(v is None for v in value):
            return {
                "as_optional_tensors": [
                    {"as_none": True} if v is None else {"as_tensor": {"name": v.name}} for v in value
                ]
            }
        return {"as_tensors": [{"name": v.name} for v in value]}
    if all(isinstance(v, bool) for v in value) and value:
        return {"as_bools": list(value)}
    if all(isinstance(v, int) for v in value):
        return {"as_tensors": []} if not value and "Tensor" in str(declared) else {"as_ints": list(value)}
    if all(isinstance(v, (int, float)) for v in value):
        return {"as_floats": [_float(float(v)) for v in value]}
    if all(isinstance(v, str) for v in value):
        return {"as_strings": list(value)}
    if all(v is None for v in value):
        return {"as_optional_tensors": [{"as_none": True} for _ in value]}
    raise CaptureError(f"a list of mixed values cannot be written: {value!r}")


def _meta(value: torch.Tensor, requires_grad: bool = False) -> dict[str, Any]:
    return {
        "dtype": _SCALAR_TYPES[value.dtype],
        "sizes": [{"as_int": int(n)} for n in value.shape],
        "requires_grad": requires_grad,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": int(n)} for n in value.stride()],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def _node(node: torch.fx.Node, values: dict[str, Any]) -> dict[str, Any]:
    schema = node.target._schema
    inputs = []
    for declared, value in zip(schema.arguments, node.args, strict=False):
        inputs.append(
            {"name": declared.name, "arg": _argument(value, declared.type), "kind": 2 if declared.kwarg_only else 1}
        )
    types = {a.name: a.type for a in schema.arguments}
    inputs += [{"name": key, "arg": _argument(value, types.get(key)), "kind": 2} for key, value in node.kwargs.items()]
    metadata = {}
    if (place := _locations.of(node)) is not None:
        file, line, function, code = place
        metadata["stack_trace"] = f'  File "{file}", line {line}, in {function}\n    {code}\n'
    return {
        "target": f"torch.ops.{node.target}",
        "inputs": inputs,
        "outputs": _outputs(node, values),
        "metadata": metadata,
        "is_hop_single_tensor_return": None,
        "name": node.name,
    }


def _outputs(node: torch.fx.Node, values: dict[str, Any]) -> list[dict[str, Any]]:
    returns = node.target._schema.returns
    value = node.meta.get("val")
    if len(returns) == 1 and isinstance(value, torch.Tensor):
        values[node.name] = _meta(value)
        return [{"as_tensor": {"name": node.name}}]
    if not isinstance(value, (list, tuple)):
        return []
    picked = {n.args[1]: n.name for n in node.users if n.target is operator.getitem}
    names = []
    for index, part in enumerate(value):
        name = picked.get(index, f"{node.name}_unused_{index}")
        if isinstance(part, torch.Tensor):
            values[name] = _meta(part)
        names.append(name)
    if len(returns) == 1:
        return [{"as_tensors": [{"name": n} for n in names]}]
    return [
        {"as_tensor": {"name": n}} if isinstance(p, torch.Tensor) else {"as_none": True}
        for n, p in zip(names, value, strict=True)
    ]


def write(gm: torch.fx.GraphModule, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
    """The ExportedProgram object around the graph; constants are inputs, whose values the manifest has."""
    values: dict[str, Any] = {}
    graph_inputs, input_specs, nodes, graph_outputs = [], [], [], []
    kinds = {i.name: i for i in inputs}
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "get_attr") and isinstance(node.meta.get("val"), torch.Tensor):
            values[node.name] = _meta(node.meta["val"])
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            graph_inputs.append({"as_tensor": {"name": node.name}})
            entry = kinds[node.name]
            argument = {"name": node.name}
            if entry.kind == "parameter":
                input_specs.append({"parameter": {"arg": argument, "parameter_name": entry.fqn}})
            elif entry.kind == "buffer":
                input_specs.append({"buffer": {"arg": argument, "buffer_name": entry.fqn, "persistent": True}})
            else:
                input_specs.append({"user_input": {"arg": {"as_tensor": argument}}})
        elif node.op == "get_attr":
            graph_inputs.append({"as_tensor": {"name": node.name}})
            input_specs.append({"tensor_constant": {"arg": {"name": node.name}, "tensor_constant_name": node.target}})
        elif node.op == "call_function" and node.target is not operator.getitem:
            nodes.append(_node(node, values))
        elif node.op == "output":
            graph_outputs = [{"as_tensor": {"name": n.name}} for n in node.args[0]]
    specs = []
    for output, value in zip(outputs, graph_outputs, strict=True):
        argument = value["as_tensor"]
        if output.role == "loss":
            specs.append({"loss_output": {"arg": argument}})
        elif output.role == "gradient":
            specs.append({"gradient_to_parameter": {"arg": argument, "parameter_name": output.fqn}})
        else:
            specs.append({"user_output": {"arg": {"as_tensor": argument}}})
    program = {
        "graph_module": {
            "graph": {
                "inputs": graph_inputs, "outputs": graph_outputs, "nodes": nodes, "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {},
                "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {},
            },
            "signature": {"input_specs": input_specs, "output_specs": specs},
            "module_call_graph": [{"fqn": "", "signature": None}], "metadata": {}, "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"],
        "torch_version": str(torch.__version__), "guards_code": [],
    }  # fmt: skip
    return json.dumps(program)
