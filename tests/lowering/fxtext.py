# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Single operator calls: recorded from PyTorch, written as FX text, lowered, evaluated, compared."""

import json
import math
import pathlib
import subprocess
import tempfile

import torch
from evaluate import evaluate
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

ABBREVIATIONS = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32",
    torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "b8", torch.complex64: "c64", torch.complex128: "c128",
}  # fmt: skip


class Call:
    """One call of an ATen operator with concrete operands, and what PyTorch answered."""

    def __init__(self, func, args, kwargs):
        self.func, self.args, self.kwargs = func, tree_map(copy, args), tree_map(copy, kwargs)
        self.tensors = [t for t in tree_flatten((self.args, self.kwargs))[0] if isinstance(t, torch.Tensor)]
        self.result, self.after = None, None

    def key(self):
        """Calls with equal keys test the same thing."""
        return str(self.func) + repr(tree_map(describe, (self.args, self.kwargs)))

    def aliased(self, args, kwargs):
        """Operands that share memory are copied one by one here: such a call is not the one that was made."""
        seen = set()
        for t in tree_flatten((args, kwargs))[0]:
            if isinstance(t, torch.Tensor) and t.numel():
                if t.untyped_storage().data_ptr() in seen:
                    return True
                seen.add(t.untyped_storage().data_ptr())
        return False

    def finish(self, result, args, kwargs):
        self.result = tree_map(copy, result)
        self.after = [t.detach().clone() for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]


def copy(x):
    return x.detach().clone() if isinstance(x, torch.Tensor) else x


def describe(x):
    return f"{x.dtype}{list(x.shape)}" if isinstance(x, torch.Tensor) else repr(x)


def replay(func, args, kwargs):
    """Makes a Call by running it."""
    call = Call(func, args, kwargs)
    call.finish(func(*args, **kwargs), args, kwargs)
    return call


class Recorder(TorchDispatchMode):
    """Keeps every ATen call that happens under it."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        try:
            call = Call(func, args, kwargs)
            keep = not (func._schema.is_mutable and call.aliased(args, kwargs)) and "empty" not in func._schema.name
        except Exception:  # sparse, quantised, nested ...
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        try:
            call.finish(result, args, kwargs)
            if keep:
                self.calls.append(call)
        except Exception:
            pass
        return result


class UntoldError(Exception):
    """An argument that FX text of this test does not cover."""


def annotation(t):
    if t.layout != torch.strided or t.dtype not in ABBREVIATIONS:
        raise UntoldError(str(t.dtype))
    return f"{ABBREVIATIONS[t.dtype]}[{', '.join(str(n) for n in t.shape)}]"


def text_of(call):
    """The call as a whole FX text. Operands are a0, a1, ...; results r, or r_0, r_1 (nested lists: r_0_1)."""
    names = {id(t): f"a{k}" for k, t in enumerate(call.tensors)}

    def word(x):
        if isinstance(x, torch.Tensor):
            return names[id(x)]
        if isinstance(x, (list, tuple, torch.Size)):
            return "[" + ", ".join(word(v) for v in x) + "]"
        if isinstance(x, torch.device):
            return f"device(type='{x.type}')"
        if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
            return str(x)
        if x is None or isinstance(x, (bool, str)):
            return repr(x)
        if isinstance(x, int):
            return repr(x)
        if isinstance(x, float):
            return "nan" if math.isnan(x) else "inf" if x == math.inf else "-inf" if x == -math.inf else repr(x)
        raise UntoldError(repr(x))

    parameters = ", ".join(f'{names[id(t)]}: "{annotation(t)}"' for t in call.tensors)
    arguments = [word(x) for x in call.args] + [f"{k} = {word(v)}" for k, v in call.kwargs.items()]
    schema = call.func._schema.name.replace("::", ".")
    overload = call.func._schema.overload_name or "default"
    lines, results = [], []

    def bind(name, value):
        if isinstance(value, torch.Tensor):
            results.append((name, value))
            return f': "{annotation(value)}"'
        return ""

    note = bind("r", call.result)
    lines.append(f"r{note} = torch.ops.{schema}.{overload}({', '.join(arguments)})")

    def unpack(name, value):
        for k, v in enumerate(value):
            if isinstance(v, torch.Tensor):
                lines.append(f"{name}_{k}{bind(f'{name}_{k}', v)} = {name}[{k}]")
            elif isinstance(v, (list, tuple)):
                lines.append(f"{name}_{k} = {name}[{k}]")
                unpack(f"{name}_{k}", v)

    if isinstance(call.result, (list, tuple)):
        unpack("r", call.result)
    body = "\n".join("        " + line for line in lines)
    back = ", ".join(n for n, _ in results) + ("," if results else "")
    text = f"class <lambda>(torch.nn.Module):\n    def forward(self, {parameters}):\n{body}\n        return ({back})\n"
    return text, results


def lower(texts, tool):
    """One JSON object per text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for k, text in enumerate(texts):
            path = pathlib.Path(folder) / f"{k}.fx.txt"
            path.write_text(text)
            paths.append(str(path))
        done = subprocess.run([tool], input="\n".join(paths) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def tolerance(dtypes):
    if torch.bfloat16 in dtypes:
        return 5e-2
    if torch.float16 in dtypes:
        return 1e-2
    if torch.float32 in dtypes or torch.complex64 in dtypes:
        return 2e-4
    return 1e-8


def compare(call, graph, results):
    """ "" or what is wrong. Where PyTorch's value is undefined (NaN) anything will do; uninitialised memory is NaN in the evaluator."""
    if "error" in graph:
        return graph["error"]
    inputs = {f"a{k}": t for k, t in enumerate(call.tensors)}
    try:
        values = evaluate(graph, inputs)
    except (AssertionError, NotImplementedError, RuntimeError, IndexError) as e:
        return f"evaluation: {type(e).__name__}: {e}"
    expected = dict(results)
    after = {f"mut:a{k}": t for k, t in enumerate(call.after)}
    written = set()
    # Which of equal elements is meant is left open by PyTorch.
    ties = {"r_1"} if any(part in str(call.func) for part in ("topk", "kthvalue", "median", "sort.default")) else set()
    if "argsort" in str(call.func):
        ties = {"r"}
    worst = tolerance({t.dtype for t in call.tensors} | {t.dtype for _, t in results})
    for out, value in zip(graph["outputs"], values, strict=False):
        name = out["name"]
        want = after[name] if name.startswith("mut:") else expected[name]
        written.add(name)
        if name in ties:
            continue
        if list(value.shape) != list(want.shape):
            return f"{name}: shape {list(value.shape)}, PyTorch {list(want.shape)}"
        if want.is_floating_point() or want.is_complex():
            got, want = value.to(torch.complex128), want.to(torch.complex128)
            undefined = torch.isnan(want.real) | torch.isnan(want.imag)
            if any(t.numel() and t.is_floating_point() and t.abs().max() > 500 for t in call.tensors):
                undefined = undefined | ~torch.isfinite(
                    got.real
                )  # exp overflows in the evaluator, not in real arithmetic
            near = torch.isclose(got, want, rtol=worst, atol=worst) | undefined
        else:
            got, near = value, value.to(want.dtype) == want
        if not bool(near.all()):
            k = (~near).reshape(-1).nonzero()[0].item()
            return f"{name}: {got.reshape(-1)[k].item()} at {k}, PyTorch {want.reshape(-1)[k].item()}"
    for k, (before, now) in enumerate(zip(call.tensors, call.after, strict=False)):
        if f"mut:a{k}" not in written and not same(before, now):
            return f"a{k} is written, but the lowered program does not say so"
    return ""


def same(a, b):
    return a.shape == b.shape and bool(
        ((a == b) | (a.isnan() & b.isnan() if a.is_floating_point() or a.is_complex() else a == b)).all()
    )


def check(calls, tool):
    """Yields (call, verdict): "" agrees, "unsupported: reason", or what is wrong."""
    texts, kept = [], []
    for call in calls:
        try:
            text, results = text_of(call)
        except UntoldError:
            continue
        texts.append(text)
        kept.append((call, results))
    for (call, results), graph in zip(kept, lower(texts, tool), strict=False):
        if graph.get("unsupported"):
            yield call, "unsupported: " + graph["unsupported"][0]
        elif any(n["op"] == "random" for n in graph.get("nodes", [])):
            yield call, "unsupported: random"
        else:
            verdict = compare(call, graph, results)
            if verdict.startswith("evaluation: NotImplementedError"):
                verdict = "unsupported: by the evaluator"
            yield call, verdict
