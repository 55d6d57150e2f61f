# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes tf_programs.json: small tf.functions as GraphDef text, with inputs and the outputs that TensorFlow computes.

The test graphdef_tf_test.cpp lowers each graph and evaluates it with the plain evaluator of dense_eval.h. Run with tensorflow 2.21 on CPU:
    CUDA_VISIBLE_DEVICES= python make_tf_programs.py
"""

import json
import pathlib

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

rng = np.random.RandomState(11)
CASES = []


def floats(*shape, low=-2.0, high=2.0):
    return np.round(rng.uniform(low, high, shape), 2).astype(np.float32)


def ints(*shape, low=-5, high=6, dtype=np.int32):
    return rng.randint(low, high, shape).astype(dtype)


def case(name, fn, *args, variables=(), shapes=False):
    """`variables`: what fn closes over; their values become inputs behind the arguments, in the order of capture."""
    CASES.append((name, fn, args, variables, shapes))


x, y = floats(3, 4), floats(3, 4)
positive, unit = floats(3, 4, low=0.1), floats(3, 4, low=-0.9, high=0.9)

# --- element-wise
for name in (
    "abs ceil cos exp floor negative sign sin tan tanh round square sigmoid erf sinh cosh asinh expm1"
    " is_finite is_nan atan softplus softsign relu relu6 elu ones_like zeros_like"
).split():
    fn = getattr(tf.math, name, None) or getattr(tf.nn, name, None) or getattr(tf, name)
    case(name, lambda a, fn=fn: fn(a), x)
for name in "log log1p sqrt rsqrt reciprocal lgamma acosh".split():
    case(name, lambda a, fn=getattr(tf.math, name): fn(a + 1.0), positive)
for name in "asin acos atanh erfinv".split():
    case(name, lambda a, fn=getattr(tf.math, name): fn(a), unit)
case("erfc", lambda a: tf.raw_ops.Erfc(x=a), x)
case("rint", lambda a: tf.math.rint(a * 2.0), x)
case("leaky_relu", lambda a: tf.nn.leaky_relu(a, alpha=0.3), x)
for name in "add subtract multiply divide maximum minimum squared_difference atan2 divide_no_nan multiply_no_nan".split():
    case(name, lambda a, b, fn=getattr(tf.math, name): fn(a, b), x, y)
case("broadcast", lambda a, b, c: a * b + c, floats(2, 1, 4), floats(3, 1), floats(4))
case("divide_no_nan_zero", lambda a, b: tf.math.divide_no_nan(a, tf.round(b)), x, y)
case("pow", lambda a, b: tf.pow(a, b), positive, y)
for name in "equal not_equal less less_equal greater greater_equal".split():
    case(name, lambda a, b, fn=getattr(tf.math, name): fn(a, b), ints(6), ints(6))
case("floordiv", lambda a, b: (a // b, a % b, tf.truncatediv(a, b), tf.raw_ops.TruncateMod(x=a, y=b)), ints(8), np.array([3, -3, 2, -2, 1, 5, -4, 7], np.int32))
case("float_floormod", lambda a, b: (a // b, tf.math.floormod(a, b)), x, positive)
case("bits", lambda a, b: (a & b, a | b, tf.bitwise.bitwise_xor(a, b), tf.bitwise.invert(a)), ints(6), ints(6))
case("shifts", lambda a, b: (tf.bitwise.left_shift(a, b), tf.bitwise.right_shift(a, b)), ints(6), ints(6, low=0, high=5))
case("logic", lambda a, b: ((a > 0) & (b > 0), (a > 0) | (b > 0), ~(a > 0)), x, y)
case("select", lambda a, b: tf.where(a > 0, a, b), x, y)
case("select_broadcast", lambda a, b: tf.where(a > 0, b, 0.0), floats(3, 1), x)
case("select_v1_rows", lambda a, b: tf.raw_ops.Select(condition=tf.constant([True, False, True]), x=a, y=b), x, y)
case("clip", lambda a: tf.clip_by_value(a, -1.0, 0.5), x)
case("cast", lambda a, b: (tf.cast(a, tf.int32), tf.cast(b, tf.float32), tf.cast(a > 0, tf.float32), tf.cast(b, tf.bool), tf.cast(b, tf.uint8)), x, ints(5))
case("add_n", lambda a, b: tf.add_n([a, b, a]), x, y)
case("half", lambda a: tf.cast(tf.cast(a, tf.bfloat16) * tf.constant(0.5, tf.bfloat16) + tf.constant([1, 2, 3, 4], tf.bfloat16), tf.float32), np.array([[1, 2, 4, 8]], np.float32))
case("float16_const", lambda a: tf.cast(tf.cast(a, tf.float16) * tf.constant([0.25, 2, 1, 4], tf.float16), tf.float32), np.array([[1, 2, 4, 8]], np.float32))
case("double", lambda a: tf.cast(tf.cast(a, tf.float64) * tf.constant(0.1, tf.float64), tf.float32), x)

# --- products
case("matmul", lambda a, b: tf.matmul(a, b), floats(3, 4), floats(4, 5))
case("matmul_ta", lambda a, b: tf.matmul(a, b, transpose_a=True), floats(4, 3), floats(4, 5))
case("matmul_tb", lambda a, b: tf.matmul(a, b, transpose_b=True), floats(3, 4), floats(5, 4))
case("batch_matmul", lambda a, b: tf.matmul(a, b), floats(2, 3, 4), floats(2, 4, 5))
case("batch_matmul_adj", lambda a, b: tf.matmul(a, b, adjoint_a=True, adjoint_b=True), floats(2, 4, 3), floats(2, 5, 4))
case("batch_matmul_broadcast", lambda a, b: tf.matmul(a, b), floats(2, 1, 3, 4), floats(3, 4, 5))
case("batch_matmul_rank", lambda a, b: tf.matmul(a, b), floats(2, 3, 4), floats(4, 5))
for equation, shapes in [
    ("ij,jk->ki", [(3, 4), (4, 5)]), ("btd,dhk->bthk", [(2, 3, 4), (4, 2, 5)]), ("bthk,bshk->bhts", [(2, 3, 2, 4), (2, 5, 2, 4)]), ("bhts,bshk->bthk", [(2, 2, 3, 5), (2, 5, 2, 4)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]), ("ij->ji", [(3, 4)]), ("ijk->k", [(2, 3, 4)]), ("ij,k->ik", [(3, 4), (5,)]), ("...i,i->...", [(2, 3, 4), (4,)]), ("i,j->ji", [(3,), (4,)]),
]:
    case("einsum " + equation, lambda *a, equation=equation: tf.einsum(equation, *a), *[floats(*s) for s in shapes])
case("bias_add", lambda a, b: tf.nn.bias_add(a, b), floats(2, 3, 4), floats(4))
case("bias_add_grad", lambda a, b: tf.gradients(tf.nn.bias_add(a, b) * a, [b]), floats(2, 3, 4), floats(4))
case("conv2d", lambda a, k: tf.nn.conv2d(a, k, strides=[1, 2, 1, 1], padding="SAME", dilations=1), floats(2, 5, 6, 3), floats(3, 3, 3, 4))
case("conv2d_valid", lambda a, k: tf.nn.conv2d(a, k, strides=1, padding="VALID", dilations=[1, 2, 1, 1]), floats(1, 7, 5, 2), floats(3, 2, 2, 3))
case("max_pool", lambda a: tf.nn.max_pool2d(a, 2, 2, "SAME"), floats(1, 5, 4, 2))
case("avg_pool", lambda a: tf.nn.avg_pool2d(a, 3, 2, "SAME"), floats(1, 5, 4, 2))

# --- reductions
for name in "reduce_sum reduce_mean reduce_max reduce_min reduce_prod".split():
    case(name, lambda a, fn=getattr(tf, name): (fn(a), fn(a, axis=1), fn(a, axis=[0, -1], keepdims=True)), floats(2, 3, 4))
case("reduce_any", lambda a: (tf.reduce_any(a > 1, axis=0), tf.reduce_all(a > -1, axis=1)), x)
case("argmax", lambda a: (tf.argmax(a, axis=1), tf.argmin(a, axis=0, output_type=tf.int32)), x)
case("cumsum", lambda a: (tf.cumsum(a, axis=1), tf.cumsum(a, axis=0, exclusive=True, reverse=True), tf.math.cumprod(a, axis=-1)), x)
case("top_k", lambda a: tf.math.top_k(a, k=2), x)
case("softmax", lambda a: (tf.nn.softmax(a), tf.nn.log_softmax(a), tf.nn.softmax(a, axis=0)), x)
case("l2_loss", lambda a: tf.nn.l2_loss(a), x)
case("logsumexp", lambda a: tf.reduce_logsumexp(a, axis=1), x)
case("variance", lambda a: (tf.math.reduce_variance(a, axis=1), tf.nn.moments(a, [0])[1]), x)
case("cross_entropy", lambda a, b: tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(b), logits=a), x, y)
case("sparse_cross_entropy", lambda a, b: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=b, logits=a), x, ints(3, low=0, high=4))
case("sparse_cross_entropy_grad", lambda a, b: tf.gradients(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=b, logits=a), [a]), x, ints(3, low=0, high=4))

# --- shapes
case("reshape", lambda a: (tf.reshape(a, [2, -1]), tf.reshape(a, [-1]), tf.reshape(a, tf.reverse(tf.shape(a), [0]))), x)
case("shape_arithmetic", lambda a: tf.reshape(a, [tf.shape(a)[0] * 2, tf.size(a) // (tf.shape(a)[0] * 2)]), x)
case("expand_squeeze", lambda a: (tf.expand_dims(a, 1), tf.squeeze(a[:, None, :, None]), tf.squeeze(a[None], axis=0)), x)
case("transpose", lambda a: (tf.transpose(a), tf.transpose(a, [0, 1])), x)
case("concat", lambda a, b: (tf.concat([a, b], 0), tf.concat([a, b, a], -1)), x, y)
case("stack", lambda a, b: (tf.stack([a, b]), tf.stack([a, b], axis=-1)), x, y)
case("unstack", lambda a: tf.unstack(a, axis=1), x)
case("split", lambda a: tf.split(a, 2, axis=1), x)
case("split_sizes", lambda a: tf.split(a, [1, 3], axis=1), x)
case("split_open", lambda a: tf.split(a, [1, -1], axis=1), x)
case("slice", lambda a: tf.slice(a, [1, 0], [-1, 2]), x)
case("strided", lambda a: (a[1:, ::2], a[::-1, 3:0:-2], a[1], a[..., 2], a[:, None, 1:2], a[-2:, :-1], a[5:], a[2:1]), x)
case("strided_grad", lambda a: tf.gradients(tf.reduce_sum(a[::-1, 3:0:-2] ** 2) + tf.reduce_sum(a[1, None, 1:3] * 2.0) + tf.reduce_sum(a[..., ::3]), [a]), x)
case("tile", lambda a: (tf.tile(a, [2, 1]), tf.tile(a, [1, 3])), x)
case("broadcast_to", lambda a: tf.broadcast_to(a, [2, 3, 4]), x)
case("fill", lambda a: tf.fill([2, 3], a[0, 0]), x)
case("pad", lambda a: (tf.pad(a, [[1, 0], [0, 2]]), tf.pad(a, [[1, 0], [0, 2]], constant_values=5.0)), x)
case("reverse", lambda a: tf.reverse(a, [0, -1]), x)
case("range", lambda a: a[0, 0] * tf.cast(tf.range(1, 10, 3), tf.float32) + tf.cast(tf.range(3), tf.float32) + tf.cast(tf.range(5, -1, -2), tf.float32), x)
case("band", lambda a: (tf.linalg.band_part(a, -1, 0), tf.linalg.band_part(a, 0, 1), tf.linalg.band_part(a, 1, -1)), floats(2, 3, 4))

# --- indexing
case("gather", lambda a, i: (tf.gather(a, i), tf.gather(a, i, axis=1)), floats(4, 5), ints(2, 3, low=0, high=4))
case("gather_batch", lambda a, i: tf.gather(a, i, axis=1, batch_dims=1), floats(2, 5, 3), ints(2, 4, low=0, high=5))
case("gather_batch_axis2", lambda a, i: tf.gather(a, i, axis=2, batch_dims=1), floats(2, 3, 5), ints(2, 2, 2, low=0, high=5))
case("gather_nd", lambda a, i: tf.gather_nd(a, i), floats(4, 5, 2), ints(3, 2, low=0, high=4))
case("scatter_nd", lambda i, u: tf.scatter_nd(i, u, [5, 2]), ints(4, 1, low=0, high=5), floats(4, 2))
case("tensor_scatter", lambda a, u: (tf.tensor_scatter_nd_add(a, [[1], [2], [1]], u), tf.tensor_scatter_nd_update(a, [[2], [0], [3]], u)), floats(4, 2), floats(3, 2))
case("segment_sum", lambda a, i: tf.math.unsorted_segment_sum(a, i, 4), floats(5, 2), np.array([0, 3, -1, 0, 2], np.int32))
case("one_hot", lambda i: (tf.one_hot(i, 4), tf.one_hot(i, 3, on_value=5.0, off_value=-1.0, axis=0)), ints(2, 3, low=-1, high=5))
case("embedding_grad", lambda a, i: tf.convert_to_tensor(tf.gradients(tf.gather(a, i) ** 2, [a])[0]), floats(5, 2), ints(4, low=0, high=5))

# --- gradients and programs
for name in "tanh sigmoid relu relu6 elu softplus sqrt rsqrt reciprocal leaky_relu gelu swish softmax log_softmax".split():
    fn = getattr(tf.nn, name, None) or getattr(tf.math, name)
    case("grad " + name, lambda a, fn=fn: tf.gradients(fn(a) * tf.constant([1.0, 2.0, 3.0, 4.0]), [a]), positive if name in ("sqrt", "rsqrt") else x)


def mlp(a, w1, b1, w2, t):
    with tf.GradientTape() as tape:
        tape.watch([w1, b1, w2])
        loss = tf.reduce_mean(tf.square(tf.nn.gelu(a @ w1 + b1) @ w2 - t))
    return [loss] + tape.gradient(loss, [w1, b1, w2])


case("mlp_gradient", mlp, floats(6, 4), floats(4, 5), floats(5), floats(5, 3), floats(6, 3))


def layer_norm(a, g, b):
    mean, var = tf.nn.moments(a, [-1], keepdims=True)
    return (a - mean) * tf.math.rsqrt(var + 1e-5) * g + b


case("layer_norm", layer_norm, floats(2, 3, 4), floats(4), floats(4))


@tf.function
def inner(a, b):
    return a * 2.0 + b, tf.split(a, 2, axis=1)


def calls(a, b):
    s, (p, q) = inner(a, b)
    t, _ = inner(s, a)
    return t, p - q, tf.math.top_k(t, 2)


case("calls", calls, x, y)

W, B = tf.Variable(floats(4, 3)), tf.Variable(floats(3))
STEP = tf.Variable(np.float32(2))


def train(a, t):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(a @ W + B) - t))
    dw, db = tape.gradient(loss, [W, B])
    W.assign_sub(0.1 * dw)
    B.assign_sub(0.1 * db)
    STEP.assign_add(1.0)
    return loss * STEP


case("train_step", train, floats(5, 4), floats(5, 3), variables=(W, B, STEP))
case("variables_with_shapes", lambda a: tf.gather(W, [2, 0]) @ tf.transpose(W) + a, floats(2, 4), variables=(W,), shapes=True)

# --- operators that tf's own functions no longer make, but saved graphs have
raw = tf.raw_ops
old = np.random.RandomState(12)


def some(*shape, low=-2.0, high=2.0):
    return np.round(old.uniform(low, high, shape), 2).astype(np.float32)


p, q, above = some(3, 4), some(3, 4), some(3, 4, low=0.2)
case("old_sums", lambda a, b: (raw.AccumulateNV2(inputs=[a, b, a], shape=[3, 4]), raw.Add(x=a, y=b), raw.BiasAddV1(value=a, bias=b[0])), p, q)
case("old_products", lambda a, b: (raw.BatchMatMul(x=a, y=b, adj_y=True), raw.BatchMatMulV3(x=a, y=b, Tout=tf.float32, adj_x=True)), some(2, 3, 4), some(2, 3, 4))
case("old_quotients", lambda a, b: (raw.Div(x=a, y=b), raw.Inv(x=b), raw.InvGrad(y=b, dy=a), raw.Digamma(x=b)), p, above)
case("old_remainder", lambda a: raw.Mod(x=a, y=np.int32(3)), old.randint(-7, 8, 9).astype(np.int32))
case("old_clip", lambda a, b: (raw.ClipByValue(t=a, clip_value_min=-0.5, clip_value_max=0.75), raw.SoftplusGrad(gradients=a, features=b)), p, q)
case("old_concat", lambda a, b: (raw.Concat(concat_dim=1, values=[a, b]), raw.Gather(params=a, indices=[2, 0])), p, q)
case("old_shapes", lambda a, b: (raw.Rank(input=a), raw.Size(input=a), *raw.ShapeN(input=[a, b[0]]), raw.OnesLike(x=a)), p, q)
case("old_broadcast", lambda a, b: (raw.BroadcastArgs(s0=tf.shape(a), s1=tf.shape(b)), *raw.BroadcastGradientArgs(s0=tf.shape(a), s1=tf.shape(b))), some(3, 1), some(2, 1, 4))
case("old_identities", lambda a: raw.PreventGradient(input=raw.Snapshot(input=raw.EnsureShape(input=a, shape=[3, 4]))), p)
case("old_checks", lambda a: (raw.CheckNumerics(tensor=a, message="m"), raw.CheckNumericsV2(tensor=a, message="m"), raw.IsInf(x=a / tf.round(a))), p)
case("old_scatter", lambda a, b: raw.TensorScatterSub(tensor=a, indices=[[2], [0], [2]], updates=b), p, q)


def asserted(a):
    raw.Assert(condition=tf.reduce_all(a < 100.0), data=[a])
    with tf.control_dependencies([a]):
        trigger = raw.ControlTrigger()
    with tf.control_dependencies([trigger]):
        return tf.identity(a) * 2.0


case("old_control", asserted, p)
V, M = tf.Variable(some(4)), tf.Variable(some(4))


def applied(a):
    raw.ResourceApplyGradientDescent(var=V.handle, alpha=0.5, delta=a)
    raw.ResourceApplyMomentum(var=V.handle, accum=M.handle, lr=0.1, grad=a, momentum=0.9, use_nesterov=True)
    return V.read_value() * M.read_value()


case("old_optimizers", applied, some(4), variables=(V, M))


def value(v):
    v = np.asarray(v)

    def one(e):
        e = float(e)
        return e if np.isfinite(e) else ("nan" if np.isnan(e) else "inf" if e > 0 else "-inf")

    values = [one(e) for e in v.ravel()] if v.dtype.kind == "f" else [int(e) for e in v.ravel()]
    return {"dtype": str(v.dtype), "shape": list(v.shape), "values": values}


def main():
    out = []
    for name, fn, args, variables, shapes in CASES:
        function = tf.function(fn, autograph=False)
        concrete = function.get_concrete_function(*[tf.TensorSpec(a.shape, a.dtype) for a in args])
        graph = concrete.graph.as_graph_def(add_shapes=shapes)
        entry = {"name": name, "graph": text_format.MessageToString(graph)}
        captured = {id(v.handle): v for v in variables}
        resources = [v for v in (captured.get(id(external)) for external, _ in concrete.graph.captures) if v is not None]
        assert len(resources) == len(variables), name
        entry["inputs"] = [value(a) for a in args] + [value(v.numpy()) for v in resources]
        entry["variables"] = [] if shapes else [[internal.op.name, list(captured[id(external)].shape)] for external, internal in concrete.graph.captures if id(external) in captured]
        results = tf.nest.flatten(concrete(*[tf.constant(a) for a in args]), expand_composites=True)
        entry["outputs"] = [value(r.numpy()) for r in results]
        written = {n.name for n in graph.node if "Assign" in n.op or "ResourceApply" in n.op}
        entry["updated"] = [value(v.numpy()) for v in resources] if written else []
        if name in ("matmul", "calls", "train_step", "half"):
            entry["bytes"] = graph.SerializeToString().hex()
        out.append(entry)
    path = pathlib.Path(__file__).parent / "tf_programs.json"
    path.write_text("[\n" + ",\n".join(json.dumps(e, separators=(",", ":")) for e in out) + "\n]\n")
    print(len(out), "programs")


main()
