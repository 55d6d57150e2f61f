# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes jax_programs.json: small JAX programs as StableHLO, HLO and optimised HLO text, with inputs and the outputs that JAX computes.

The test hlo_jax_test.cpp lowers each form and evaluates it with the plain evaluator of dense_eval.h. Run with jax 0.10 on CPU:
    JAX_PLATFORMS=cpu python make_jax_programs.py
"""

import functools
import json
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib import _hlo

rng = np.random.RandomState(7)
CASES = []


def floats(*shape, low=-2.0, high=2.0):
    return np.round(rng.uniform(low, high, shape), 2).astype(np.float32)


def ints(*shape, low=-5, high=6, dtype=np.int32):
    return rng.randint(low, high, shape).astype(dtype)


def case(name, fn, *args):
    CASES.append((name, fn, args))


# --- element-wise
x, y = floats(3, 4), floats(3, 4)
positive = floats(3, 4, low=0.1)
unit = floats(3, 4, low=-0.9, high=0.9)
for name in [
    "abs",
    "ceil",
    "cos",
    "exp",
    "expm1",
    "floor",
    "neg",
    "sign",
    "sin",
    "tan",
    "tanh",
    "round",
    "square",
    "logistic",
    "erf",
    "erfc",
    "cbrt",
    "sinh",
    "cosh",
    "asinh",
    "is_finite",
]:
    case("lax." + name, getattr(lax, name), x)
for name in ["log", "log1p", "sqrt", "rsqrt", "lgamma"]:
    case("lax." + name, getattr(lax, name), positive)
for name in ["acos", "asin", "atan", "atanh"]:
    case("lax." + name, getattr(lax, name), unit)
case("lax.acosh", lax.acosh, positive + 1)
for name in ["add", "sub", "mul", "div", "max", "min", "rem", "atan2"]:
    case("lax." + name, getattr(lax, name), x, y)
case("pow", lax.pow, positive, y)
case("integer_pow", lambda a: lax.integer_pow(a, 3) + lax.integer_pow(a, -2), positive)
case(
    "nextafter_free_round_even",
    lambda a: lax.round(a, lax.RoundingMethod.TO_NEAREST_EVEN),
    np.array([0.5, 1.5, 2.5, -0.5, 1.2], np.float32),
)
i, j = ints(3, 4), ints(3, 4, low=1)
for name in ["add", "sub", "mul", "div", "max", "min", "rem", "bitwise_and", "bitwise_or", "bitwise_xor"]:
    case("int." + name, getattr(lax, name), i, j)
for name in ["abs", "neg", "sign", "bitwise_not", "population_count", "clz"]:
    case("int." + name, getattr(lax, name), i)
case(
    "int.shifts",
    lambda a, b: (lax.shift_left(a, b), lax.shift_right_arithmetic(a, b), lax.shift_right_logical(a, b)),
    i,
    j,
)
case("int.floor_divide", lambda a, b: (a // b, a % b), i, np.where(j == 3, -2, j).astype(np.int32))
u = ints(5, low=0, high=250, dtype=np.uint8)
case("uint8.wraps", lambda a: a * np.uint8(3) + np.uint8(7), u)
case("bool", lambda a, b: ((a > b) & (a != b) | ~(a <= 0) ^ (b >= a), (a == b)), i, j)
case("select_clamp", lambda p, a, b: (jnp.where(p > 0, a, b), lax.clamp(np.float32(-1), a, np.float32(0.5))), i, x, y)
case("select_scalar", lambda p, a, b: lax.select(p[0, 0] > 0, a, b), i, x, y)
case(
    "convert",
    lambda a, b: (
        a.astype(np.int32),
        b.astype(np.float32),
        (a > 0).astype(np.float32),
        b.astype(np.int8),
        b.astype(bool),
    ),
    x * 3,
    i * 60,
)
case("bitcast_int", lambda a: lax.bitcast_convert_type(a, np.uint32), i)
case("reduce_precision_f16", lambda a: lax.reduce_precision(a, 8, 23), x)
case("gelu_softmax", lambda a: jax.nn.softmax(jax.nn.gelu(a), axis=-1), x)
case("silu_norm", lambda a: jax.nn.silu(a) * lax.rsqrt(jnp.mean(a * a, -1, keepdims=True) + 1e-5), x)

# --- views
t = floats(2, 3, 4)
case("transpose", lambda a: lax.transpose(a, (2, 0, 1)), t)
case("reshape", lambda a: lax.reshape(a, (4, 6)), t)
case("reshape_dims", lambda a: lax.reshape(a, (6, 4), dimensions=(1, 0, 2)), t)
case("broadcast", lambda a: lax.broadcast_in_dim(a, (5, 2, 3, 4), (1, 2, 3)), t)
case("broadcast_unit", lambda a: lax.broadcast_in_dim(a[:, :1], (2, 3, 4), (0, 1, 2)) + t, t)
case("slice", lambda a: lax.slice(a, (0, 1, 0), (2, 3, 4), (1, 1, 3)), t)
case("reverse", lambda a: lax.rev(a, (0, 2)), t)
case("pad", lambda a: lax.pad(a, np.float32(9), ((1, 2, 0), (0, -1, 1), (-1, 0, 2))), t)
case("concatenate", lambda a, b: lax.concatenate([a, b, a[:, :2]], 1), t, floats(2, 5, 4))
case("iota", lambda a: lax.broadcasted_iota(np.int32, (3, 4), 1) + lax.broadcasted_iota(np.int32, (3, 4), 0) * a, i)
case("constant", lambda a: a + np.arange(12, dtype=np.float32).reshape(3, 4) ** 2, x)
case("tri", lambda a: jnp.tril(a, -1) + jnp.triu(a, 1), floats(4, 4))
case("roll_stack", lambda a: jnp.stack([jnp.roll(a, 1, 0), a, jnp.flip(a, 1)], 1), x)
case("squeeze_expand", lambda a: jnp.squeeze(a[None, :, None], 0).sum(1), x)
case("dynamic_slice", lambda a, k, l: lax.dynamic_slice(a, (k, l), (2, 2)), x, np.int32(2), np.int32(-3))
case("dynamic_slice_uint", lambda a, k: lax.dynamic_slice(a, (k, np.uint8(1)), (2, 2)), x, np.uint8(200))
case("dynamic_update", lambda a, b, k: lax.dynamic_update_slice(a, b, (k, np.int32(3))), x, floats(2, 2), np.int32(0))
case("dynamic_slice_constant", lambda a: lax.dynamic_slice(a, (np.int32(5), np.int32(1)), (2, 2)), x)

# --- products
case("dot", jnp.dot, floats(3, 4), floats(4, 5))
case("dot_batch", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (2,)))), floats(2, 3, 4), floats(5, 4, 2))
case(
    "dot_int8",
    lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.int32),
    ints(3, 40, low=100, high=127, dtype=np.int8),
    ints(40, 2, low=100, high=127, dtype=np.int8),
)
case("einsum", lambda a, b: jnp.einsum("bqhd,bkhd->bhqk", a, b), floats(2, 3, 2, 4), floats(2, 5, 2, 4))
case("outer", lambda a, b: jnp.outer(a, b), floats(3), floats(4))
case("mlp_gradient", jax.grad(lambda w, a: jnp.sum(jnp.tanh(a @ w) ** 2)), floats(4, 5), floats(3, 4))


def conv(lhs, rhs, **kw):
    return functools.partial(lax.conv_general_dilated, **kw), lhs, rhs


nhwc = ("NHWC", "HWIO", "NHWC")
for name, lhs, rhs, kw in [
    ("conv.same", (2, 6, 5, 3), (3, 3, 3, 4), dict(window_strides=(1, 1), padding="SAME", dimension_numbers=nhwc)),
    (
        "conv.stride",
        (2, 7, 6, 3),
        (3, 2, 3, 4),
        dict(window_strides=(2, 3), padding=((1, 0), (2, 1)), dimension_numbers=nhwc),
    ),
    (
        "conv.dilated",
        (1, 7, 7, 2),
        (2, 3, 2, 3),
        dict(window_strides=(1, 1), padding="VALID", rhs_dilation=(2, 1), dimension_numbers=nhwc),
    ),
    (
        "conv.transposed",
        (1, 3, 4, 2),
        (3, 3, 2, 3),
        dict(window_strides=(1, 1), padding=((2, 2), (2, 1)), lhs_dilation=(2, 2), dimension_numbers=nhwc),
    ),
    (
        "conv.groups",
        (2, 5, 5, 4),
        (3, 3, 2, 6),
        dict(window_strides=(1, 1), padding="SAME", feature_group_count=2, dimension_numbers=nhwc),
    ),
    (
        "conv.depthwise",
        (2, 5, 5, 3),
        (3, 3, 1, 6),
        dict(window_strides=(1, 1), padding="SAME", feature_group_count=3, dimension_numbers=nhwc),
    ),
    (
        "conv.batch_groups",
        (4, 5, 5, 3),
        (3, 3, 3, 6),
        dict(window_strides=(1, 1), padding="SAME", batch_group_count=2, dimension_numbers=nhwc),
    ),
    ("conv.1x1", (2, 4, 4, 3), (1, 1, 3, 5), dict(window_strides=(2, 1), padding="VALID", dimension_numbers=nhwc)),
    (
        "conv.nchw_1d",
        (2, 3, 8),
        (4, 3, 3),
        dict(window_strides=(1,), padding=((-1, 2),), dimension_numbers=("NCH", "OIH", "NCH")),
    ),
    (
        "conv.3d",
        (1, 2, 3, 4, 5),
        (2, 2, 2, 2, 3),
        dict(window_strides=(1, 1, 2), padding="SAME", dimension_numbers=("NCDHW", "DHWIO", "NDHWC")),
    ),
]:
    case(name, functools.partial(lax.conv_general_dilated, **kw), floats(*lhs), floats(*rhs))
case(
    "conv.gradient",
    jax.grad(lambda w, a: jnp.sum(lax.conv_general_dilated(a, w, (2, 1), "SAME", dimension_numbers=nhwc) ** 2)),
    floats(3, 3, 2, 4),
    floats(2, 5, 5, 2),
)
case(
    "conv.gradient_input",
    jax.grad(lambda a, w: jnp.sum(lax.conv_general_dilated(a, w, (2, 1), "SAME", dimension_numbers=nhwc) ** 2)),
    floats(2, 5, 5, 2),
    floats(3, 3, 2, 4),
)

# --- reductions
for name in ["sum", "prod", "max", "min", "mean"]:
    case("reduce." + name, lambda a, f=getattr(jnp, name): f(a, axis=(0, 2)), t)
case("reduce.all_any", lambda a: (jnp.all(a > -4, 0), jnp.any(a > 3, 1), (a > 0).sum()), i)
case("reduce.bits", lambda a: (lax.reduce_and(a, (0,)), lax.reduce_or(a, (1,))), i)
case("reduce.init", lambda a: lax.reduce(a, np.float32(3), lax.add, (1,)), x)
case("reduce.max_init", lambda a: lax.reduce(a, np.float32(0.5), lax.max, (1,)), x)
case(
    "reduce.two",
    lambda a, b: lax.reduce((a, b), (np.float32(0), np.float32(1)), lambda p, q: (p[0] + q[0], p[1] * q[1]), (0,)),
    x,
    y,
)
case("reduce.select_max", lambda a: lax.reduce(a, np.float32(-np.inf), lambda p, q: lax.select(p >= q, p, q), (0,)), x)
ties = ints(4, 6, low=0, high=3).astype(np.float32)
case("argmax", lambda a: (jnp.argmax(a, 1), jnp.argmin(a, 0)), ties)
case(
    "argmax_pairs",
    lambda a, k: lax.reduce(
        (a, k),
        (np.float32(-np.inf), np.int32(1000)),
        lambda p, q: (lax.max(p[0], q[0]), lax.select((p[0] > q[0]) | ((p[0] == q[0]) & (p[1] < q[1])), p[1], q[1])),
        (1,),
    ),
    ties,
    ints(4, 6, low=0, high=50),
)
case("variance_logsumexp", lambda a: (jnp.var(a, 0), jax.nn.logsumexp(a, 1)), x)

# --- windows
case(
    "window.max_pool",
    lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    floats(2, 6, 5, 2),
)
case("window.sum_same", lambda a: lax.reduce_window(a, np.float32(0), lax.add, (3, 2), (1, 1), "SAME"), x)
case(
    "window.dilated",
    lambda a: lax.reduce_window(a, np.float32(0), lax.add, (2, 2), (1, 1), ((1, 0), (0, 2)), (2, 1), (1, 2)),
    x,
)
case("window.init", lambda a: lax.reduce_window(a, np.float32(1.5), lax.add, (2, 2), (1, 1), "VALID"), x)
case("window.cumsum", lambda a: (jnp.cumsum(a, 0), jnp.cumsum(a[::-1], 1), lax.cumsum(a, 1, reverse=True)), x)
case("window.cummax_prod", lambda a: (lax.cummax(a, 1), lax.cumprod(a, 0), lax.cummin(a, 0, reverse=True)), x)
case("window.exclusive", lambda a: lax.reduce_window(a, np.float32(0), lax.add, (3, 1), (1, 1), ((3, -1), (0, 0))), x)
case(
    "window.max_pool_gradient",
    jax.grad(lambda a: jnp.sum(lax.reduce_window(a, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)),
    ints(2, 6, 5, 2, low=0, high=3).astype(np.float32),
)
case(
    "window.max_pool_gradient_overlap",
    jax.grad(lambda a: jnp.sum(lax.reduce_window(a, -np.inf, lax.max, (1, 3, 2, 1), (1, 2, 1, 1), "SAME") ** 3)),
    ints(1, 7, 5, 2, low=-4, high=5).astype(np.float32),
)
case(
    "window.avg_pool_gradient",
    jax.grad(lambda a: jnp.sum(lax.reduce_window(a, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 2, 1), "SAME") ** 2)),
    floats(2, 4, 5, 2),
)

# --- gather and scatter
table = floats(7, 3)
rows = ints(4, low=0, high=7)
wild = ints(5, low=-9, high=12)
G = lax.GatherDimensionNumbers
for mode in ("clip", "fill", "promise_in_bounds"):
    case("gather.rows_" + mode, lambda a, k, m=mode: a.at[k].get(mode=m), table, rows)
case("gather.rows_out_of_range", lambda a, k: a.at[k].get(mode="clip"), table, wild)
case(
    "gather.raw_out_of_range",
    lambda a, k: lax.gather(a, k[:, None], G((1,), (0,), (0,)), (1, 3), mode="promise_in_bounds"),
    table,
    wild,
)
case("gather.take_along", lambda a, k: jnp.take_along_axis(a, k, 1), x, ints(3, 2, low=0, high=4))
case("gather.two", lambda a, k, l: a[k, :, l], t, ints(5, low=0, high=2), ints(5, low=0, high=4))
case(
    "gather.windows",
    lambda a, k: lax.gather(a, k, G((1, 2), (), (0, 1)), (2, 3), mode="clip"),
    floats(5, 6),
    ints(4, 2, low=-2, high=7),
)
case(
    "gather.window_middle",
    lambda a, k: lax.gather(a, k, G((0, 2), (1,), (1, 0)), (3, 1, 2), mode="clip"),
    floats(5, 6, 2),
    ints(4, 2, low=-2, high=7),
)
case(
    "gather.vector_first",
    lambda a, k: jax.vmap(lambda v, p: lax.dynamic_slice(v, (p,), (2,)))(a, k),
    floats(4, 6),
    ints(4, low=-1, high=7),
)
case("gather.batched_take", lambda a, k: jax.vmap(lambda v, p: v[p])(a, k), floats(3, 5, 2), ints(3, 4, low=0, high=5))
case("gather.one", lambda a, k: a[k], table, np.int32(3))
case("gather.constant", lambda a: a[jnp.array([2, 0, 5])], table)
case("scatter.add", lambda a, k, v: a.at[k].add(v), table, rows, floats(4, 3))
case("scatter.add_out_of_range", lambda a, k, v: a.at[k].add(v, mode="drop"), table, wild, floats(5, 3))
case("scatter.set", lambda a, v: a.at[jnp.array([1, 4])].set(v), table, floats(2, 3))
case("scatter.set_one", lambda a, v: (a.at[2].set(v), a.at[:, 1].add(3.0), a.at[1:3, 0].set(7.0)), table, floats(3))
case(
    "scatter.multiply_max",
    lambda a, k, v: (a.at[k].multiply(v), a.at[k].max(v), a.at[k].min(v)),
    table,
    rows,
    floats(4, 3),
)
case("scatter.subtract", lambda a, k, v: a.at[k].subtract(v), table, rows, floats(4, 3))
case(
    "scatter.two",
    lambda a, k, l, v: a.at[k, :, l].add(v),
    t,
    ints(5, low=0, high=2),
    ints(5, low=0, high=4),
    floats(5, 3),
)
S = lax.ScatterDimensionNumbers
case(
    "scatter.windows",
    lambda a, k, v: lax.scatter_add(a, k, v, S((1, 2), (), (0, 1)), mode="clip"),
    floats(5, 6),
    ints(3, 2, low=-2, high=7),
    floats(3, 2, 3),
)
case(
    "scatter.windows_drop",
    lambda a, k, v: lax.scatter_add(a, k, v, S((1, 2), (), (0, 1)), mode="drop"),
    floats(5, 6),
    ints(6, 2, low=-2, high=7),
    floats(6, 2, 3),
)
case(
    "scatter.window_prefix",
    lambda a, k, v: lax.scatter_add(a, k, v, S((1,), (0,), (0,)), mode="drop"),
    floats(5, 6),
    ints(3, 1, low=0, high=5),
    floats(3, 4),
)
case(
    "scatter.batched",
    lambda a, k, v: jax.vmap(lambda p, q, r: p.at[q].add(r))(a, k, v),
    floats(3, 5),
    ints(3, 4, low=0, high=5),
    floats(3, 4),
)
case("scatter.embedding_gradient", jax.grad(lambda e, k: jnp.sum(jnp.tanh(e[k]) ** 2)), table, ints(6, low=0, high=7))
case(
    "scatter.take_along_gradient",
    jax.grad(lambda a, k: jnp.sum(jnp.take_along_axis(a, k, 1) ** 2)),
    x,
    ints(3, 2, low=0, high=4),
)
case("scatter.one_hot", lambda k: jax.nn.one_hot(k, 5), rows)

# --- order
case("sort.float", lambda a: lax.sort(a, dimension=1), ties)
case("sort.key_value", lambda a, k: lax.sort((a, k), dimension=0, num_keys=1), ties, ints(4, 6, low=0, high=50))
case("sort.two_keys", lambda a, k: lax.sort((a, k), dimension=1, num_keys=2), ties, ints(4, 6, low=0, high=50))
case("sort.argsort", lambda a: (jnp.argsort(a, 1), jnp.argsort(-a, 0)), floats(4, 6))
case("sort.top_k", lambda a: lax.top_k(a, 3), ties)
case("sort.median", lambda a: jnp.sort(a, axis=None)[5], x)
case(
    "searchsorted",
    lambda a, v: jnp.searchsorted(a, v, method="compare_all"),
    np.array([0.0, 1, 2, 3], np.float32),
    floats(5, low=-1, high=4),
)

# --- control
case("while.fori", lambda a: lax.fori_loop(0, 4, lambda k, v: v * 0.5 + k, a), x)
case("while.scan", lambda a, w: lax.scan(lambda h, m: (jnp.tanh(h @ m), h.sum()), a, w), floats(2, 3), floats(4, 3, 3))
case(
    "while.scan_gradient",
    jax.grad(lambda w, a: jnp.sum(lax.scan(lambda h, m: (jnp.tanh(h @ m), None), a, w)[0])),
    floats(3, 3, 3),
    floats(2, 3),
)
case("while.nested", lambda a: lax.fori_loop(0, 2, lambda k, v: lax.fori_loop(0, 3, lambda l, z: z + k * l, v), a), x)
case("while.map", lambda a: lax.map(lambda r: r / r.sum(), positive + a * 0), x)
case(
    "while.down", lambda a: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 2, s[1] * 1.5), (np.int32(7), a))[1], x
)
case("while.counter_array", lambda a: lax.scan(lambda c, k: (c + a[k], c[0]), a[0], jnp.arange(3)), x)
case("cond", lambda p, a, b: lax.cond(p > 0, lambda v, w: v + w, lambda v, w: v * w, a, b), np.int32(1), x, y)
case("switch", lambda k, a: lax.switch(k, [lambda v: v, lambda v: v * 2, lambda v: v - 1], a), np.int32(7), x)
case("cond_captures", lambda p, a, b: lax.cond(p.sum() > 100, lambda: (a, b), lambda: (b * 2, a - b)), i, x, y)
case("calls", lambda a: jax.jit(lambda v: jnp.where(v > 0, v, 0.1 * v))(a) + jax.jit(jax.nn.relu)(a), x)
case("checkpoint", jax.grad(lambda w, a: jnp.sum(jax.checkpoint(lambda v: jnp.sin(v @ w))(a))), floats(4, 4), x)
case("custom_jvp", jax.grad(lambda a: jnp.sum(jax.nn.relu(a) * jax.nn.log_softmax(a))), x)
case("batch_norm", lambda a: (a - a.mean((0, 1))) / jnp.sqrt(a.var((0, 1)) + 1e-5), floats(3, 4, 2))
case(
    "cross_entropy",
    jax.value_and_grad(lambda a, k: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(a), k[:, None], 1))),
    floats(4, 6),
    ints(4, low=0, high=6),
)
case(
    "attention_gradient",
    jax.grad(lambda q, k: jnp.sum(jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((4, 4), bool)), q @ k.T, -1e30)) @ k)),
    floats(4, 3),
    floats(4, 3),
)
case(
    "dropout_free_threefry",
    lambda a: a + lax.bitwise_and(lax.shift_right_logical(np.uint32(0x9E3779B9) * a, np.uint32(5)), np.uint32(255)),
    ints(6, low=0, high=99, dtype=np.uint32),
)
key = np.array([3, 5], np.uint32)
case("random.uniform", lambda k: jax.random.uniform(k, (5,)), key)
case("random.normal", lambda k: jax.random.normal(k, (2, 3)), key)
case("random.bernoulli", lambda k, a: jnp.where(jax.random.bernoulli(k, 0.4, (3, 4)), a / 0.4, 0), key, x)
case("random.split_randint", lambda k: jax.random.randint(jax.random.split(k)[1], (6,), 0, 10), key)
case("random.permutation", lambda k: jax.random.permutation(k, 7), key)
case("random.categorical", lambda k, a: jax.random.categorical(k, a, axis=1), key, x)
case("bits_to_float", lambda a: lax.bitcast_convert_type(a, np.float32), np.array([0, 1, 0x3F800000, 0xC0490FDB, 0x00400000, 0x7F800000], np.uint32))
case("ragged_dot", lambda a, w, g: lax.ragged_dot(a, w, g), floats(6, 3), floats(3, 3, 4), np.array([2, 0, 3], np.int32))
case("moe_dispatch", lambda a, w: jnp.einsum("te,td->ed", jax.nn.one_hot(jnp.argmax(a @ w, -1), 3) * (jnp.cumsum(jax.nn.one_hot(jnp.argmax(a @ w, -1), 3), 0) < 3), a), floats(6, 4), floats(4, 3))
case("fft_free_conv1d", lambda a, w: jnp.convolve(a, w), floats(6), floats(3))
case("lstm_cell", lambda h, w: lax.scan(lambda s, q: ((s[0] * jax.nn.sigmoid(q), s[1] + jnp.tanh(q)), s[1]), (h, h), w), floats(3), floats(5, 3))
case("interp", lambda a: jnp.interp(a, jnp.array([-2.0, -1, 0.5, 2]), jnp.array([1.0, 3, -1, 2])), floats(6))
case("quantile_clip", lambda a: jnp.clip(a, -1, 1) + jnp.sort(a, 0)[1], x)
case("diag_trace", lambda a: (jnp.diag(a), jnp.trace(a), jnp.eye(4) @ a), floats(4, 4))
case("rope", lambda a: jnp.concatenate([a[..., 0::2] * jnp.cos(a[..., 1::2]), jnp.sin(a[..., 1::2])], -1), floats(2, 6))
case("segment_sum", lambda a, k: jax.ops.segment_sum(a, k, num_segments=4), floats(6, 2), ints(6, low=0, high=5))
case("unique_bincount", lambda k: jnp.bincount(k, length=7), ints(9, low=0, high=7))
case("set_mask", lambda a: a.at[jnp.arange(3), jnp.array([2, 0, 1])].set(0.0), x)
case("nan_to_num", lambda a: jnp.nan_to_num(jnp.log(a)), np.array([0.0, 1, 2], np.float32))


def tensor(v):
    a = np.asarray(v)
    values = [
        ("inf" if q == np.inf else "-inf" if q == -np.inf else "nan" if q != q else float("%.7g" % q))
        if a.dtype.kind == "f"
        else int(q)
        for q in a.ravel()
    ]
    return {"dtype": a.dtype.name, "shape": list(a.shape), "values": values}


def optimised(compiled):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = False
    return compiled.runtime_executable().hlo_modules()[0].to_string(options)


def plain(hlo):
    """Without what says where operators come from."""
    hlo = re.sub(r", metadata=\{[^{}]*\}", "", hlo)
    return re.sub(r"\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(\d.*\n)*", "", hlo)


def main():
    out = []
    for name, fn, args in CASES:
        jitted = jax.jit(fn, keep_unused=True)
        lowered = jitted.lower(*args)
        results = jax.tree.leaves(jitted(*args))
        forms = {
            "stablehlo": lowered.as_text(),
            "hlo": plain(lowered.as_text(dialect="hlo")),
            "optimised": plain(optimised(lowered.compile())),
        }
        if len(forms["optimised"]) > 12000:  # unrolled loops of integer arithmetic
            del forms["optimised"]
        out.append(
            {
                "name": name,
                **forms,
                "inputs": [tensor(a) for a in args],
                "outputs": [tensor(r) for r in results],
            }
        )
    target = pathlib.Path(__file__).with_name("jax_programs.json")
    target.write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in out) + "\n]\n")
    print(len(out), "programs,", target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
