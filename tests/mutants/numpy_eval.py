#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Evaluates linked mutants (`shardproof mutate --dump FILE`) in NumPy's float64, and compares with the verdicts in the file.

A second implementation of docs/spec.md after src/interp: no code is shared, the arithmetic is plain, and the float inputs are drawn here.
What the specification leaves open (draws, kernels, unspecified memory, comparisons with an undefined value) ends an evaluation without a
verdict. Trouble is
  - an output that was proved and differs here,
  - an output that the command refuted, or the evaluation in C++ found different, and that never differs here.
The second may be bad luck of the inputs, so it is only counted as trouble if it is more than rare.
"""

import argparse
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

DIFFERENT, CLOSE = 1e-4, 1e-6  # relative to the largest value: literals are rounded to f32 here and to f64 there
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
INTEGERS |= {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
FLOATS = ("f16", "bf16", "f32", "f64")
Array = Any
Node = dict[str, Any]


class OpenError(Exception):
    """The specification leaves the value open, or this evaluator does not know the operator."""


def kind_of(dtype: str) -> Any:
    if dtype in FLOATS:
        return np.float64
    if dtype == "bool":
        return np.bool_
    if dtype in INTEGERS:
        return INTEGERS[dtype]
    raise OpenError(f"dtype {dtype}")


def number(x: Any) -> float:
    return float(x)


def literal(value: Any, dtype: str, shape: list[int]) -> Array:
    kind = kind_of(dtype)
    if kind is np.float64:
        return np.full(shape, number(value))
    return np.full(shape, np.array(int(value)).astype(kind))


def divide(x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        out = np.divide(x, y)
        return np.where(y == 0, np.nan, out)
    if np.any(y == 0):
        raise OpenError("integer division by zero")
    q = np.abs(x.astype(object)) // np.abs(y.astype(object))
    return np.where((x < 0) != (y < 0), -q, q).astype(x.dtype)


def floor_divide(x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        return np.where(y == 0, np.nan, np.floor(np.divide(x, y)))
    if np.any(y == 0):
        raise OpenError("integer division by zero")
    return np.floor_divide(x, y)


def remainder(x: Array, y: Array, of_divisor: bool) -> Array:
    if np.any(y == 0):
        if x.dtype.kind != "f":
            raise OpenError("integer division by zero")
        y = np.where(y == 0, np.nan, y)
    return np.mod(x, y) if of_divisor else np.fmod(x, y)


def power(x: Array, y: Array) -> Array:
    if x.dtype.kind != "f":
        raise OpenError("integer power")
    x, y = np.broadcast_arrays(x, y)
    return np.where((x == 0) & (y < 0), np.nan, np.power(x, y))


def erf(x: Array) -> Array:
    from math import erf as scalar

    return np.vectorize(scalar, otypes=[np.float64])(x) if x.size else x


def compare(op: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def compared(x: Array, y: Array) -> Array:
        for v in (x, y):
            if v.dtype.kind == "f" and np.any(np.isnan(v)):
                raise OpenError("comparison with an undefined value")
        return op(x, y)

    return compared


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "not": lambda x: np.logical_not(x) if x.dtype == np.bool_ else np.invert(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.where(x == 0, np.nan, 1 / np.sqrt(x)),
    "cbrt": np.cbrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "logistic": logistic,
    "erf": erf,
    "erfc": lambda x: 1 - erf(x),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "is_finite": np.isfinite,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "sub": np.subtract,
    "div": divide,
    "floor_div": floor_divide,
    "rem": lambda x, y: remainder(x, y, False),
    "mod": lambda x, y: remainder(x, y, True),
    "pow": power,
    "xor": lambda x, y: np.logical_xor(x, y) if x.dtype == np.bool_ else np.bitwise_xor(x, y),
    "atan2": np.arctan2,
    "eq": compare(np.equal),
    "ne": compare(np.not_equal),
    "lt": compare(np.less),
    "le": compare(np.less_equal),
    "gt": compare(np.greater),
    "ge": compare(np.greater_equal),
}
NARY: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def neutral(fn: str, dtype: Any) -> Any:
    if fn == "add":
        return dtype(0)
    if fn == "mul":
        return dtype(1)
    if fn in ("and", "or"):
        return dtype(fn == "and") if dtype is np.bool_ else (np.invert(dtype(0)) if fn == "and" else dtype(0))
    if dtype is np.float64:
        return -np.inf if fn == "max" else np.inf
    if dtype is np.bool_:
        return dtype(fn == "min")
    info = np.iinfo(dtype)
    return info.min if fn == "max" else info.max


def convert(x: Array, dtype: str) -> Array:
    kind = kind_of(dtype)
    if kind is np.bool_:
        return x != 0
    if x.dtype.kind == "f" and kind is not np.float64:
        limit = np.iinfo(kind)
        if np.any(~np.isfinite(x)) or np.any(np.trunc(x) < limit.min) or np.any(np.trunc(x) > limit.max):
            raise OpenError("a float that its integer type does not hold")
        return np.trunc(x).astype(kind)
    return x.astype(kind)


def reduce(fn: str, x: Array, dims: tuple[int, ...]) -> Array:
    # keeps the dtype: NumPy would widen sums of small integers
    return NARY[fn].reduce(x, axis=dims, dtype=x.dtype, initial=neutral(fn, x.dtype.type)) if dims else x


def pad(x: Array, value: Array, low: list[int], high: list[int], interior: list[int]) -> Array:
    for d in range(x.ndim):
        n = x.shape[d]
        spread = n + max(n - 1, 0) * interior[d]
        shape = list(x.shape)
        shape[d] = spread + max(low[d], 0) + max(high[d], 0)
        out = np.full(shape, value, dtype=x.dtype)
        at: list[Any] = [slice(None)] * x.ndim
        at[d] = slice(max(low[d], 0), max(low[d], 0) + spread, interior[d] + 1)
        if n:
            out[tuple(at)] = x
        at[d] = slice(max(-low[d], 0), shape[d] - max(-high[d], 0))
        x = out[tuple(at)]
    return x


def window(x: Array, dims: list[int], sizes: list[int], steps: list[int]) -> Array:
    for k, (d, size) in enumerate(zip(dims, sizes, strict=True)):
        stride, dilation = steps[2 * k], steps[2 * k + 1]
        count = (
            max(0, (x.shape[d] - (size - 1) * dilation - 1) // stride + 1) if x.shape[d] > (size - 1) * dilation else 0
        )
        index = np.arange(count)[:, None] * stride + np.arange(size)[None, :] * dilation
        taken = np.take(x, index.reshape(-1), axis=d)
        taken = taken.reshape((*x.shape[:d], count, size, *x.shape[d + 1 :]))
        x = np.moveaxis(taken, d + 1, -1)
    return x


def positions(
    node: Node, operands: list[Array], shape: tuple[int, ...], extents: tuple[int, ...]
) -> tuple[list[Array], Array]:
    """Per data dimension the index of every result (take) or update (scatter) element, and which are inside."""
    grid = np.meshgrid(*[np.arange(n) for n in shape], indexing="ij") if shape else []
    inside = np.ones(shape, dtype=bool)
    out = []
    over = node.get("b", [])
    for d, a in enumerate(node.get("a", [])):
        if a >= 0:
            out.append(grid[a])
            continue
        index = operands[-a - 1].astype(np.int64)
        spread = index.reshape([shape[k] if k in over else 1 for k in range(len(shape))])
        j = np.broadcast_to(spread, shape)
        n = extents[d]
        if node["mode"] == "clamp":
            j = np.clip(j, 0, n - 1)
        elif node["mode"] == "wrap":
            j = np.where(j < 0, j + n, j)
        inside = inside & (j >= 0) & (j < n)
        out.append(np.clip(j, 0, max(n - 1, 0)))
    return out, inside


def take(node: Node, xs: list[Array]) -> Array:
    count = sum(1 for a in node["a"] if a < 0)
    at, inside = positions(node, xs[1 : 1 + count], tuple(node["shape"]), xs[0].shape)
    if xs[0].size == 0 and np.prod(node["shape"]) > 0:
        raise OpenError("nothing to take from")
    out = xs[0][tuple(at)] if at else np.broadcast_to(xs[0], node["shape"])
    if np.all(inside):
        return out
    if node["mode"] == "fill":
        return np.where(inside, out, xs[1 + count])
    if out.dtype.kind != "f":
        raise OpenError("an integer taken outside")
    return np.where(inside, out, np.nan)


def scatter(node: Node, xs: list[Array]) -> Array:
    data, updates = xs[0].copy(), xs[1]
    at, inside = positions(node, xs[2:], updates.shape, data.shape)
    if not np.all(inside) and node["mode"] not in ("fill",):
        raise OpenError("an update outside")
    flat = tuple(np.broadcast_to(a, updates.shape)[inside] for a in at)
    values = updates[inside]
    if node["set"]:
        if len(flat) and len({tuple(p) for p in zip(*[f.tolist() for f in flat], strict=True)}) != len(values):
            raise OpenError("colliding writes")
        data[flat] = values
    else:
        NARY[node["fn"]].at(data, flat, values)
    return data


def start_of(indices: list[Array], shape: tuple[int, ...], sizes: tuple[int, ...]) -> list[int]:
    return [max(0, min(int(i), n - k)) for i, n, k in zip(indices, shape, sizes, strict=True)]


def scan(node: Node, x: Array) -> Array:
    d, backward, exclusive = node["a"]
    if backward:
        x = np.flip(x, d)
    out = NARY[node["fn"]].accumulate(x, axis=d, dtype=x.dtype)
    if exclusive:
        first = np.full(
            [n if k != d else min(1, n) for k, n in enumerate(x.shape)],
            neutral(node["fn"], x.dtype.type),
            dtype=x.dtype,
        )
        out = np.concatenate([first, np.take(out, range(max(x.shape[d] - 1, 0)), axis=d)], axis=d)
    return np.flip(out, d) if backward else out


def contract(node: Node, x: Array, y: Array) -> Array:
    batch, summed = node.get("a", []), node.get("b", [])
    left = [-1] * x.ndim
    right = [-1] * y.ndim
    free = iter(range(52))
    result = []
    for pairs, kept in ((batch, True), (summed, False)):
        for p, q in zip(pairs[0::2], pairs[1::2], strict=True):
            left[p] = right[q] = next(free)
            if kept:
                result.append(left[p])
    for dims in (left, right):
        for k, name in enumerate(dims):
            if name < 0:
                dims[k] = next(free)
                result.append(dims[k])
    return np.einsum(x, left, y, right, result)


def sort(node: Node, xs: list[Array]) -> list[Array]:
    d, descending, stable = node["a"]
    key = xs[0]
    if key.dtype.kind == "f" and np.any(np.isnan(key)):
        raise OpenError("an undefined key")
    if not stable and any(len(np.unique(row)) != len(row) for row in np.moveaxis(key, d, -1).reshape(-1, key.shape[d])):
        raise OpenError("equal keys in an unstable sort")
    if descending:  # stable: from the other end, twice
        order = np.flip(key.shape[d] - 1 - np.argsort(np.flip(key, d), axis=d, kind="stable"), d)
    else:
        order = np.argsort(key, axis=d, kind="stable")
    return [np.take_along_axis(x, order, d) for x in xs]


def leaf(node: Node) -> Array:
    op, shape = node["op"], node["shape"]
    if op == "const":
        return literal(node["lit"], node["dtype"], shape)
    if op == "iota":
        d = node["a"][0]
        row = np.arange(shape[d]).reshape([-1 if k == d else 1 for k in range(len(shape))])
        return np.broadcast_to(row, shape).astype(kind_of(node["dtype"]))
    if op == "dense":
        kind = kind_of(node["dtype"])
        return (
            np.array([number(v) if kind is np.float64 else v for v in node.get("dense", [])])
            .astype(kind)
            .reshape(shape)
        )
    raise OpenError(op)


def structure(node: Node, xs: list[Array]) -> Array:
    op, x = node["op"], xs[0]
    a, b, c = node.get("a", []), node.get("b", []), node.get("c", [])
    if op == "transpose":
        return np.transpose(x, a)
    if op == "reshape":
        return np.reshape(x, node["shape"])
    if op == "slice":
        return x[tuple(slice(p, q, s) for p, q, s in zip(a, b, c, strict=True))]
    if op == "reverse":
        return np.flip(x, a)
    if op == "broadcast":
        shape = [1] * len(node["shape"])
        for k, d in enumerate(a):
            shape[d] = x.shape[k]
        return np.broadcast_to(x.reshape(shape), node["shape"])
    if op == "pad":
        return pad(x, xs[1], a, b, c)
    if op == "concat":
        return np.concatenate(xs, axis=a[0])
    if op == "window":
        return window(x, a, b, c)
    if op == "dynamic_slice":
        at = start_of(xs[1:], x.shape, tuple(a))
        return x[tuple(slice(s, s + k) for s, k in zip(at, a, strict=True))]
    if op == "dynamic_update":
        at = start_of(xs[2:], x.shape, xs[1].shape)
        out = x.copy()
        out[tuple(slice(s, s + k) for s, k in zip(at, xs[1].shape, strict=True))] = xs[1]
        return out
    raise OpenError(op)


def element_wise(node: Node, xs: list[Array]) -> Array:
    fn = node["fn"]
    if fn == "convert":
        return convert(xs[0], node["dtype"])
    if fn == "select":
        return np.broadcast_to(np.where(xs[0], xs[1], xs[2]), node["shape"])
    if fn in NARY:
        out = xs[0]
        for x in xs[1:]:
            out = NARY[fn](out, x)
    elif fn in UNARY:
        out = UNARY[fn](xs[0])
    elif fn in BINARY:
        out = BINARY[fn](xs[0], xs[1])
    else:
        raise OpenError(fn)
    return np.broadcast_to(out, node["shape"])


def evaluate(nodes: list[Node], inputs: dict[int, Array], wanted: set[int]) -> dict[int, Array | OpenError]:
    """Values of all nodes that the wanted ones depend on; an OpenError where the specification leaves them open."""
    needed = set(wanted)
    for k in range(len(nodes) - 1, -1, -1):
        if k in needed:
            needed.update(nodes[k]["in"])
    values: dict[int, Any] = {}
    for k, node in enumerate(nodes):
        if k not in needed:
            continue
        xs = [values[i] for i in node["in"]]
        broken = next((x for x in xs if isinstance(x, OpenError)), None)
        try:
            if broken:
                raise broken
            op = node["op"]
            if op == "input":
                value = inputs[k]
            elif op == "map":
                value = element_wise(node, xs)
            elif op == "reduce":
                value = reduce(node["fn"], xs[0], tuple(node.get("a", [])))
            elif op == "arg_reduce":
                row = np.moveaxis(xs[0], node["a"][0], -1)
                if row.dtype.kind == "f" and np.any(np.isnan(row)):
                    raise OpenError("an undefined extreme")
                value = (np.argmax if node["fn"] == "max" else np.argmin)(row, axis=-1).astype(kind_of(node["dtype"]))
            elif op == "contract":
                value = contract(node, xs[0], xs[1])
            elif op == "take":
                value = take(node, xs)
            elif op == "scatter":
                value = scatter(node, xs)
            elif op == "scan":
                value = scan(node, xs[0])
            elif op == "sort":
                value = sort(node, xs)
            elif op == "result":
                value = xs[0][node["a"][0]]
            elif xs:
                value = structure(node, xs)
            else:
                value = leaf(node)
            if op != "sort" and list(value.shape) != node["shape"]:
                raise AssertionError(f"node {k} ({op}) has shape {value.shape}, not {node['shape']}")
            values[k] = value
        except OpenError as e:
            values[k] = e
    return values


def agrees(x: Array, y: Array) -> bool | None:
    """Whether a distributed value equals the sequential one wherever that is defined; None: too close to tell, or nothing is defined."""
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    defined = ~np.isnan(x)
    if x.size and not np.any(defined):
        return None
    p, q = x[defined], y[defined]
    if np.any(np.isnan(q)):
        return False
    infinite = ~np.isfinite(p) | ~np.isfinite(q)
    if np.any(p[infinite] != q[infinite]):
        return False
    p, q = p[~infinite], q[~infinite]
    scale = max(np.max(np.abs(p), initial=0), np.max(np.abs(q), initial=0))
    worst = np.max(np.abs(p - q), initial=0)
    if worst <= CLOSE * scale:
        return True
    return False if worst > DIFFERENT * scale else None


def draw(mutant: Node, rng: np.random.Generator, style: int) -> dict[int, Array]:
    """A set of inputs of the file; after the last, with those that no fact binds drawn anew."""
    out = {}
    for key, values in mutant["inputs"][style % len(mutant["inputs"])].items():
        node = mutant["nodes"][int(key)]
        kind = kind_of(node["dtype"])
        x = np.array([number(v) if kind is np.float64 else v for v in values]).astype(kind).reshape(node["shape"])
        if style >= len(mutant["inputs"]) and int(key) not in mutant["bound"]:
            if kind is np.float64:
                drawn = rng.normal(size=x.shape) if style % 3 else rng.integers(-2, 3, size=x.shape).astype(np.float64)
                scale = np.max(np.abs(x), initial=0) or 1
                x = np.abs(drawn) if x.size and np.all(x >= 0) else drawn
                x = x * scale if style % 3 == 2 else x
            elif x.size:
                x = rng.permutation(x.reshape(-1)).reshape(x.shape)
        out[int(key)] = x
    return out


def judge(mutant: Node, rounds: int) -> list[str]:
    """Per output: different, same or undecided."""
    rng = np.random.default_rng(mutant["draw"])
    outputs = mutant["outputs"]
    alive = [[True] * len(o["candidates"]) for o in outputs]
    held = [0] * len(outputs)
    verdict = [""] * len(outputs)
    wanted = {x for o in outputs for c in o["candidates"] for pair in c or [] for x in pair}
    for style in range(rounds):
        with np.errstate(all="ignore"):
            values = evaluate(mutant["nodes"], draw(mutant, rng, style), wanted)
            for k, output in enumerate(outputs):
                if verdict[k] or output["blocked"]:
                    continue
                states = []
                for n, goals in enumerate(output["candidates"]):
                    states.append(candidate(goals, values))
                    if states[-1] is not True:
                        alive[k][n] = False if states[-1] is False else alive[k][n]
                if states and all(s is False for s in states):
                    verdict[k] = "different"
                elif any(s is True for s in states):
                    held[k] += 1
    return [
        "different" if o["blocked"] else verdict[k] or ("same" if held[k] and any(alive[k]) else "undecided")
        for k, o in enumerate(outputs)
    ]


def candidate(goals: list[list[int]] | None, values: dict[int, Any]) -> bool | None:
    if goals is None:
        return False
    states = []
    for x, y in goals:
        if isinstance(values[x], OpenError) or isinstance(values[y], OpenError):
            states.append(None)
        else:
            states.append(agrees(values[x], values[y]))
    if any(s is False for s in states):
        return False
    return True if states and all(s is True for s in states) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9, help="input sets for each mutant")
    parser.add_argument("--limit", type=int, default=0, help="only so many mutants")
    options = parser.parse_args()
    count: dict[str, int] = {}
    wrong, doubtful = [], []
    with options.dump.open(encoding="utf-8") as lines:
        for k, line in enumerate(lines):
            if options.limit and k >= options.limit:
                break
            mutant = json.loads(line)
            for output, here in zip(mutant["outputs"], judge(mutant, options.rounds), strict=True):
                there = output.get("judged", "undecided")
                key = f"{output['status']}, C++ {there}, NumPy {here}"
                count[key] = count.get(key, 0) + 1
                place = f"{mutant['manifest']}, draw {mutant['draw']}, {mutant['kind']}: {mutant['what']}; output {output['name']}"
                if output["status"] == "PROVED" and here == "different":
                    wrong.append(f"WRONG PROOF: {place}")
                elif here == "same" and (output["status"] == "REFUTED" or there == "different"):
                    doubtful.append(f"{output['status']}, {there}, but alike here: {place}; {output.get('detail', '')}")
                elif here == "different" and there == "same":
                    doubtful.append(f"evaluates alike in C++, but not here: {place}")
    for key in sorted(count):
        print(f"{count[key]:8} {key}")
    decided = sum(n for key, n in count.items() if "undecided" not in key)
    for text in wrong + doubtful[:20]:
        print(text)
    print(f"{decided} outputs decided by both, {len(wrong)} wrong proofs, {len(doubtful)} disagreements")
    return 1 if wrong or len(doubtful) > 0.01 * max(decided, 100) else 0


if __name__ == "__main__":
    sys.exit(main())
