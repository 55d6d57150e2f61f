# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A plain evaluator of core graphs, written from the formulas in src/ir/graph.h and from nothing else.

Floats are evaluated in float64 whatever their type; integers and bools exactly. It is slow and obvious on purpose.
"""

import math

import torch

INTS = {"i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8}


def dtype_of(name):
    if name == "bool":
        return torch.bool
    if name in INTS:
        return INTS[name]
    if name.startswith("c"):
        return torch.complex128
    return torch.float64


def number(v):
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}.get(v, v) if isinstance(v, str) else v


def spread(x, shape):
    return x if x.dim() else x.expand(shape)


def trunc_div(a, b):
    return torch.div(a, b, rounding_mode="trunc")


UNARY = {
    "neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log,
    "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh,
    "tanh": torch.tanh, "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "logistic": torch.sigmoid, "erf": torch.erf,
    "erfc": torch.erfc, "erf_inv": torch.erfinv, "lgamma": torch.lgamma, "digamma": torch.digamma, "floor": torch.floor, "ceil": torch.ceil,
    "round": torch.round, "trunc": torch.trunc, "is_nan": torch.isnan, "is_inf": torch.isinf, "is_finite": torch.isfinite,
    "real": torch.real, "imag": torch.imag, "conj": torch.conj_physical,
}  # fmt: skip
BINARY = {
    "sub": torch.sub, "rem": torch.fmod, "mod": torch.remainder, "pow": torch.pow, "atan2": torch.atan2, "eq": torch.eq, "ne": torch.ne,
    "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "xor": torch.bitwise_xor, "shl": torch.bitwise_left_shift,
    "shr_a": torch.bitwise_right_shift, "complex": torch.complex,
    "floor_div": lambda a, b: torch.div(a, b, rounding_mode="floor"),
}  # fmt: skip


def nary(fn, xs):
    out = xs[0]
    for y in xs[1:]:
        if fn == "add":
            out = out | y if out.dtype == torch.bool else out + y
        elif fn == "mul":
            out = out & y if out.dtype == torch.bool else out * y
        elif fn == "max":
            out = torch.maximum(out, y)
        elif fn == "min":
            out = torch.minimum(out, y)
        elif fn == "and":
            out = out & y
        else:
            out = out | y
    return out


def apply(fn, xs, dtype):
    key = fn.replace("-", "_").lower()
    if key in ("add", "mul", "max", "min", "and", "or"):
        return nary(key, xs)
    if key == "not":
        return torch.bitwise_not(xs[0])
    if key == "div":
        return xs[0] / xs[1] if xs[0].is_floating_point() else trunc_div(xs[0], xs[1])
    if key == "select":
        return torch.where(xs[0], xs[1], xs[2])
    if key == "convert":
        return xs[0].to(dtype)
    if key in UNARY:
        return UNARY[key](xs[0])
    for name, f in {**UNARY, **BINARY}.items():
        if name.replace("_", "") == key.replace("_", ""):
            return f(*xs)
    raise NotImplementedError(fn)


def reduce(fn, x, dims):
    for d in sorted(dims, reverse=True):
        n = x.shape[d]
        if fn == "add":
            x = x.any(d) if x.dtype == torch.bool else x.sum(d, dtype=x.dtype)
        elif fn == "mul":
            x = x.all(d) if x.dtype == torch.bool else x.prod(d, dtype=x.dtype)
        elif fn in ("and", "or") and x.dtype == torch.bool:
            x = x.all(d) if fn == "and" else x.any(d)
        else:
            assert n > 0, "the extreme of nothing"
            out = x.select(d, 0)
            for k in range(1, n):
                out = nary(fn, [out, x.select(d, k)])
            x = out
    return x


def grid(shape, dim):
    view = [1] * len(shape)
    view[dim] = -1
    return torch.arange(shape[dim]).view(view).expand(shape)


def adjust(i, n, mode):
    """Positions in [0, n) and where they are valid."""
    i = i.to(torch.int64)
    if mode == 1:
        i = torch.where(i < 0, i + n, i)
    if mode == 2:
        return i.clamp(0, max(n - 1, 0)), torch.ones_like(i, dtype=torch.bool)
    ok = (i >= 0) & (i < n)
    assert mode == 3 or bool(ok.all()), "an index out of range"
    return i.clamp(0, max(n - 1, 0)), ok


def positions(node, data, shape, indices):
    """Index tensors into `data` for each element of `shape`, by node's `a` and `b`."""
    where, valid = [], torch.ones(shape, dtype=torch.bool)
    for k, a in enumerate(node["a"]):
        if a >= 0:
            where.append(grid(shape, a))
            continue
        i, ok = adjust(indices[-a - 1], data.shape[k], node["mode"])
        view = [1] * len(shape)
        for d, n in zip(node["b"], i.shape, strict=False):
            view[d] = n
        where.append(i.reshape(view).expand(shape))
        valid = valid & ok.reshape(view).expand(shape)
    return where, valid


def evaluate(graph, inputs):
    """Values of the outputs, given tensors by input name."""
    values = []
    sent = {}
    for node in graph["nodes"]:
        values.append(step(node, values, inputs, sent))
    out = []
    for o in graph["outputs"]:
        out.append(None if o["node"] < 0 else values[o["node"]])
    return out


def step(node, values, inputs, sent):
    op, fn, shape = node["op"].replace("_", "").replace("-", "").lower(), node["fn"].lower(), list(node["shape"])
    x = [values[k] for k in node["in"]]
    a, b, c = node["a"], node["b"], node["c"]
    dtype = dtype_of(node["dtype"]) if node["dtype"] != "token" else None
    if op == "input":
        return inputs[node["name"]].to(dtype)
    if op == "const":
        return torch.full(shape, number(node["lit"]), dtype=torch.float64 if dtype == torch.float64 else None).to(dtype)
    if op == "iota":
        return grid(shape, a[0]).to(dtype).clone()
    if op == "dense":
        return torch.tensor([number(v) for v in node["dense"]], dtype=dtype).reshape(shape)
    if op == "uninit":
        return (
            torch.full(shape, math.nan, dtype=dtype) if dtype.is_floating_point else torch.full(shape, 1, dtype=dtype)
        )
    if op == "transpose":
        return x[0].permute(a)
    if op == "reshape":
        return x[0].reshape(shape)
    if op == "slice":
        return x[0][tuple(slice(p, q, s) for p, q, s in zip(a, b, c, strict=False))]
    if op == "reverse":
        return x[0].flip(a)
    if op == "broadcast":
        view = [1] * len(shape)
        for k, d in enumerate(a):
            view[d] = x[0].shape[k]
        return x[0].reshape(view).expand(shape)
    if op == "pad":
        out = torch.full(shape, x[1].item(), dtype=dtype)
        src, dst = [], []
        for k, n in enumerate(x[0].shape):
            at = [(a[k] + i * (1 + c[k]), i) for i in range(n)]
            at = [(p, i) for p, i in at if 0 <= p < shape[k]]
            dst.append(torch.tensor([p for p, _ in at], dtype=torch.int64))
            src.append(torch.tensor([i for _, i in at], dtype=torch.int64))
        if all(len(d) for d in dst) or not dst:
            if dst:
                out[torch.meshgrid(*dst, indexing="ij")] = x[0][torch.meshgrid(*src, indexing="ij")]
            else:
                out = x[0]
        return out
    if op == "concat":
        return torch.cat(x, a[0])
    if op == "window":
        out = x[0]
        for k, d in enumerate(a):
            stride, dilation = c[2 * k], c[2 * k + 1]
            out = out.unfold(d, (b[k] - 1) * dilation + 1, stride)[..., ::dilation]
        return out
    if op == "map":
        return apply(fn, [spread(y, shape) for y in x], dtype)
    if op == "reduce":
        return reduce(fn, x[0], a)
    if op == "argreduce":
        y = x[0]
        best, index = y.select(a[0], 0), torch.zeros_like(y.select(a[0], 0), dtype=torch.int64)
        for k in range(1, y.shape[a[0]]):
            now = y.select(a[0], k)
            better = now > best if fn == "max" else now < best
            best, index = torch.where(better, now, best), torch.where(better, k, index)
        return index.to(dtype)
    if op == "contract":
        letters = "abcdefghijklmnopqrstuvwxyz"
        left = list(letters[: x[0].dim()])
        right = list(letters[13 : 13 + x[1].dim()])
        batch = [(a[k], a[k + 1]) for k in range(0, len(a), 2)]
        summed = [(b[k], b[k + 1]) for k in range(0, len(b), 2)]
        for p, q in batch + summed:
            right[q] = left[p]
        taken_l, taken_r = {p for p, _ in batch + summed}, {q for _, q in batch + summed}
        out = (
            [left[p] for p, _ in batch]
            + [v for k, v in enumerate(left) if k not in taken_l]
            + [v for k, v in enumerate(right) if k not in taken_r]
        )
        return torch.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", x[0], x[1])
    if op == "take":
        indices, fill = (x[1:-1], x[-1]) if node["mode"] == 3 else (x[1:], None)
        where, valid = positions(node, x[0], shape, indices)
        if 0 in shape:
            return torch.empty(shape, dtype=dtype)
        out = x[0][tuple(where)] if where else x[0].expand(shape)
        return torch.where(valid, out, fill) if fill is not None else out
    if op == "scatter":
        out, updates = x[0].clone(), x[1]
        where, valid = positions(node, out, list(updates.shape), x[2:])
        flat = [w.reshape(-1).tolist() for w in where]
        ok = valid.reshape(-1).tolist()
        for k, u in enumerate(updates.reshape(-1)):
            if ok[k]:
                at = tuple(w[k] for w in flat)
                out[at] = u if node["set"] else nary(fn, [out[at], u])
        return out
    if op == "scan":
        y = x[0].flip(a[0]) if a[1] else x[0]
        parts, acc = [], None
        for k in range(y.shape[a[0]]):
            acc = y.select(a[0], k) if acc is None else nary(fn, [acc, y.select(a[0], k)])
            parts.append(acc)
        assert not a[2], "exclusive scans do not occur here"
        out = torch.stack(parts, a[0]) if parts else y
        return out.flip(a[0]) if a[1] else out
    if op == "sort":
        order = torch.sort(x[0], dim=a[0], descending=bool(a[1]), stable=True)[1]
        return [torch.gather(y, a[0], order) for y in x]
    if op == "result":
        return x[0][a[0]]
    if op == "opaque":
        return [None] * 16
    raise NotImplementedError(op)
