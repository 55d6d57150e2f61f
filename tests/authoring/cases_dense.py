# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Tensor, data and sequence parallelism, optimizers: one right program each, and likely mistakes."""

import torch

from golden import Tensor, all_gather, all_reduce, case, reduce_scatter, variant

F = torch.nn.functional
TP2 = {"tp": 2}
OUT = {"out": {"expect": "Replicate"}}

# --- a column-parallel linear, then a row-parallel one
mlp = case(
    "mlp_tp2",
    seq=lambda x, w1, w2: torch.relu(x @ w1) @ w2,
    dist=lambda rank, x, w1, w2: all_reduce(torch.relu(x @ w1) @ w2),
    inputs={"x": Tensor((4, 6)), "w1": Tensor((6, 8), "Shard(1)@tp"), "w2": Tensor((8, 6), "Shard(0)@tp")},
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="relu is pointwise, so it commutes with the cut of the hidden dimension; the product over that dimension is a sum over ranks, which all_reduce forms.",
)
variant(
    mlp,
    "no_reduce",
    dist=lambda rank, x, w1, w2: torch.relu(x @ w1) @ w2,
    kind="missing-all-reduce",
    why="Each rank is left with its partial sum.",
)
variant(
    mlp,
    "avg",
    dist=lambda rank, x, w1, w2: all_reduce(torch.relu(x @ w1) @ w2, "avg"),
    why="The average of the partial sums is half of the sum.",
)
variant(
    mlp,
    "reduce_before_relu",
    why="relu of a sum is not the sum of relus, and here the pre-activations of different columns are added.",
    dist=lambda rank, x, w1, w2: torch.relu(all_reduce(x @ w1)) @ w2,
)
variant(
    mlp,
    "partial_expected",
    verdict="PROVED",
    dist=lambda rank, x, w1, w2: torch.relu(x @ w1) @ w2,
    outputs={"out": {"expect": "Partial(sum)@tp"}},
    why="The missing sum is what the expectation says.",
)
variant(
    mlp,
    "partial_unstated",
    verdict="PROVED",
    dist=lambda rank, x, w1, w2: torch.relu(x @ w1) @ w2,
    outputs={"out": {}},
    warnings=1,
    contains=["tp"],
    why="Without an expectation a pending reduction is one of the placements that are accepted, with a warning that names the axis.",
)
variant(
    mlp,
    "wrong_cut",
    inputs={**mlp.inputs, "w2": Tensor((8, 6), "Shard(1)@tp")},
    dist=lambda rank, x, w1, w2: all_gather(torch.relu(x @ all_gather(w1, 2, dim=1)) @ w2, 2),
    seq=mlp.seq,
    why="Columns of the result are gathered on the row dimension: the shape alone is wrong.",
    witness="shapes",
    accept=["ERROR", "UNKNOWN"],
    numeric=False,
)

# --- bias of a row-parallel linear
bias = case(
    "row_parallel_bias",
    seq=lambda x, w, b: x @ w + b,
    dist=lambda rank, x, w, b: all_reduce(x @ w) + b,
    inputs={"x": Tensor((4, 6), "Shard(1)@tp"), "w": Tensor((6, 5), "Shard(0)@tp"), "b": Tensor((5,))},
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="The bias is added once, after the sum.",
)
variant(
    bias,
    "before_reduce",
    dist=lambda rank, x, w, b: all_reduce(x @ w + b),
    why="The bias is added by both ranks: twice.",
)
variant(
    bias,
    "half_each",
    verdict="PROVED",
    dist=lambda rank, x, w, b: all_reduce(x @ w + b / 2),
    why="Half the bias on each of two ranks is the bias.",
)
variant(
    bias,
    "on_rank0",
    verdict="PROVED",
    dist=lambda rank, x, w, b: all_reduce(x @ w + b if rank == 0 else x @ w),
    why="Only rank 0 adds the bias: the ranks' programs differ, the sum is right.",
)

# --- uneven shards: 7 rows over 3 ranks are 3, 3, 1
uneven = case(
    "uneven_tp3",
    seq=lambda x, w: torch.tanh(x) @ w,
    dist=lambda rank, x, w: all_reduce(torch.tanh(x) @ w),
    inputs={"x": Tensor((4, 7), "Shard(1)@tp"), "w": Tensor((7, 5), "Shard(0)@tp")},
    outputs=OUT,
    mesh={"tp": 3},
    verdict="PROVED",
    why="torch.chunk's parts of 3, 3 and 1 cover the contracted dimension.",
)
variant(
    uneven,
    "mean_of_means",
    seq=lambda x, w: x.mean(1) + 0 * w.sum(),
    dist=lambda rank, x, w: all_reduce(x.mean(1), "avg") + 0 * all_reduce(w.sum()),
    outputs={"out": {"expect": "Replicate"}},
    why="The parts have different lengths, so the mean of their means is not the mean.",
)

# --- packed gate and up projections
packed = case(
    "packed_gate_up",
    seq=lambda x, w: F.silu((x @ w).chunk(2, -1)[0]) * (x @ w).chunk(2, -1)[1],
    dist=lambda rank, x, w: F.silu((x @ w).chunk(2, -1)[0]) * (x @ w).chunk(2, -1)[1],
    inputs={"x": Tensor((4, 6)), "w": Tensor((6, 16), "Shard(1, blocks=2)@tp")},
    outputs={"out": {"expect": "Shard(1)@tp"}},
    mesh=TP2,
    verdict="PROVED",
    why="Each rank holds its half of the gate columns and of the up columns, so its halves pair up.",
)
variant(
    packed,
    "not_packed",
    inputs={"x": Tensor((4, 6)), "w": Tensor((6, 16), "Shard(1)@tp")},
    why="A plain cut gives rank 0 the gate and rank 1 the up columns; each multiplies the two halves of its own.",
)

# --- one key/value head shared by two ranks
kv = case(
    "kv_heads_shared_tp4",
    seq=lambda q, k: q.view(3, 4, 2) * k.view(3, 2, 1, 2).expand(3, 2, 2, 2).reshape(3, 4, 2),
    dist=lambda rank, q, k: (q * k).view(3, 1, 2),
    inputs={
        "q": Tensor((3, 8), "Shard(1)@tp"),
        "k": Tensor((3, 4), {"shard": 1, "axis": "tp", "blocks": [{"size": 4, "copies": 2}]}),
    },
    outputs={"out": {"expect": "Shard(1)@tp"}},
    mesh={"tp": 4},
    verdict="PROVED",
    why="Query heads 0 and 1 use key head 0, which ranks 0 and 1 hold; heads 2 and 3 use key head 1.",
)
variant(
    kv,
    "interleaved",
    seq=lambda q, k: q.view(3, 4, 2) * k.view(3, 1, 2, 2).expand(3, 2, 2, 2).reshape(3, 4, 2),
    why="The one-device program pairs query head 1 with key head 1, rank 1 holds key head 0.",
)

# --- a vocabulary padded to a multiple of the ranks
padded = case(
    "padded_vocab",
    seq=lambda h, w: h @ w.t(),
    dist=lambda rank, h, w: all_gather(h @ w.t(), 2, dim=1)[:, :7],
    inputs={"h": Tensor((3, 4)), "w": Tensor((7, 4), {"shard": 0, "axis": "tp", "padded": 4, "fill": "any"})},
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="The one padded row gives the last column, which is cut off; so its value does not matter.",
)
variant(
    padded,
    "summed",
    seq=lambda h, w: (h @ w.t()).sum(1),
    dist=lambda rank, h, w: all_reduce((h @ w.t()).sum(1)),
    why="The padded row, which may hold anything, is summed with the others.",
)
variant(
    padded,
    "summed_zero",
    verdict="PROVED",
    seq=lambda h, w: (h @ w.t()).sum(1),
    dist=lambda rank, h, w: all_reduce((h @ w.t()).sum(1)),
    inputs={"h": Tensor((3, 4)), "w": Tensor((7, 4), {"shard": 0, "axis": "tp", "padded": 4, "fill": 0})},
    why="Rows of zeros add nothing to the sum.",
)

# --- two mesh axes
two_axes = case(
    "dp2_tp2_linear",
    seq=lambda x, w: x @ w,
    dist=lambda rank, x, w: all_reduce(x @ w, group="tp"),
    inputs={"x": Tensor((4, 6), "Shard(0)@dp, Shard(1)@tp"), "w": Tensor((6, 5), "Shard(0)@tp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2, "tp": 2},
    verdict="PROVED",
    why="The sum runs over the axis that cuts the contracted dimension.",
)
variant(
    two_axes,
    "wrong_group",
    dist=lambda rank, x, w: all_reduce(x @ w, group="dp"),
    kind="wrong-group",
    why="Rows of different batches are added, and the contraction is not.",
)
nested = case(
    "nested_cuts",
    seq=lambda x: x * 2,
    dist=lambda rank, x: all_gather(all_gather(x * 2, 2, group="dp"), 2, group="tp"),
    inputs={"x": Tensor((8, 3), "Shard(0)@tp, Shard(0)@dp")},
    outputs=OUT,
    mesh={"dp": 2, "tp": 2},
    verdict="PROVED",
    why="Cut by tp first, then by dp; gathered in the opposite order.",
)
variant(
    nested,
    "gather_order",
    dist=lambda rank, x: all_gather(all_gather(x * 2, 2, group="tp"), 2, group="dp"),
    why="Gathered in the order of the cuts: the two middle quarters change places.",
)
case(
    "product_of_axes",
    seq=lambda x: x + 1,
    dist=lambda rank, x: all_gather(x + 1, 4, group="all"),
    inputs={"x": Tensor((8, 3), "Shard(0)@(dp, tp)")},
    outputs=OUT,
    mesh={"dp": 2, "tp": 2},
    groups={"all": ["dp", "tp"]},
    verdict="PROVED",
    why="One cut over the product of the axes, gathered over the same product.",
)

# --- data parallelism: the loss is a mean over the batch
dp_loss = case(
    "dp_mean_loss",
    seq=lambda x, y, w: ((x @ w - y) ** 2).mean(),
    dist=lambda rank, x, y, w: all_reduce(((x @ w - y) ** 2).mean(), "avg"),
    inputs={"x": Tensor((8, 3), "Shard(0)@dp"), "y": Tensor((8,), "Shard(0)@dp"), "w": Tensor((3,))},
    outputs={"loss": {"role": "loss"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The parts have equal lengths, so the mean of their means is the mean.",
)
variant(
    dp_loss,
    "sum",
    dist=lambda rank, x, y, w: all_reduce(((x @ w - y) ** 2).mean(), "sum"),
    why="The sum of two means is twice the mean.",
)
variant(
    dp_loss,
    "scaled_after",
    verdict="PROVED",
    dist=lambda rank, x, y, w: all_reduce(((x @ w - y) ** 2).mean(), "sum") * 0.5,
    why="Half the sum of two means is the mean.",
)
variant(
    dp_loss,
    "not_reduced",
    dist=lambda rank, x, y, w: ((x @ w - y) ** 2).mean(),
    why="Each rank has the loss of its own half of the batch; a loss is expected to be the same everywhere.",
)


# --- gradients, written out: d/dw mean((xw - y)^2) = 2/n x^T (xw - y)
def gradient(x, y, w, n):
    r = x @ w - y
    return (r**2).sum() / n, x.t() @ (r * (2.0 / n))


dp_grad = case(
    "dp_gradient",
    seq=lambda x, y, w: gradient(x, y, w, 8),
    dist=lambda rank, x, y, w: tuple(all_reduce(g, "avg") for g in gradient(x, y, w, 4)),
    inputs=dp_loss.inputs,
    outputs={"loss": {"role": "loss"}, "grad": {"role": "gradient", "of": "w"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The gradient of the mean over 8 rows is the average of those over 4 and 4.",
)
variant(
    dp_grad,
    "not_reduced",
    dist=lambda rank, x, y, w: (all_reduce(gradient(x, y, w, 4)[0], "avg"), gradient(x, y, w, 4)[1]),
    statuses={"loss": "PROVED"},
    kind="missing-gradient-all-reduce",
    why="The gradient of a replicated parameter is expected to be replicated; each rank has that of its own rows.",
)
variant(
    dp_grad,
    "averaged_twice",
    dist=lambda rank, x, y, w: (all_reduce(gradient(x, y, w, 4)[0], "avg"), all_reduce(gradient(x, y, w, 8)[1], "avg")),
    statuses={"loss": "PROVED"},
    why="Divided by the global count and then averaged: half of the gradient.",
)


# --- gradient accumulation over two microbatches
def accumulate(x, y, w, scale):
    total = None
    for xs, ys in zip(x.chunk(2), y.chunk(2), strict=True):
        g = gradient(xs, ys, w, xs.shape[0])[1] * scale
        total = g if total is None else total + g
    return total


accumulation = case(
    "gradient_accumulation",
    seq=lambda x, y, w: gradient(x, y, w, 8)[1],
    dist=lambda rank, x, y, w: all_reduce(accumulate(x, y, w, 0.5), "avg"),
    inputs=dp_loss.inputs,
    outputs={"grad": {"role": "gradient", "of": "w"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Two microbatches of 2 rows on each of two ranks: a quarter of each of four gradients of means over 2 rows.",
)
variant(
    accumulation,
    "not_scaled",
    dist=lambda rank, x, y, w: all_reduce(accumulate(x, y, w, 1.0), "avg"),
    why="The microbatches' gradients are added without dividing by their number.",
)


# --- a fully sharded step: the weight is gathered, its gradient scattered, and each rank updates its own rows
def sgd(w, m, g):
    m = 0.9 * m + g
    return w - 0.1 * m, m


fsdp = case(
    "fsdp_sgd",
    seq=lambda x, w, m: sgd(w, m, x.t() @ torch.cos(x @ w) / 8),
    dist=lambda rank, x, w, m: sgd(w, m, reduce_scatter(x.t() @ torch.cos(x @ all_gather(w, 2)) / 4, 2, "avg")),
    inputs={
        "x": Tensor((8, 6), "Shard(0)@fsdp"),
        "w": Tensor((6, 4), "Shard(0)@fsdp"),
        "m": Tensor((6, 4), "Shard(0)@fsdp"),
    },
    outputs={"w_new": {"role": "updated", "of": "w"}, "m_new": {"role": "updated", "of": "m"}},
    mesh={"fsdp": 2},
    verdict="PROVED",
    why="Averaging gradients of means over 4 rows gives that over 8; the update is pointwise, so it acts on the rows of each rank.",
)
variant(
    fsdp,
    "sum",
    dist=lambda rank, x, w, m: sgd(w, m, reduce_scatter(x.t() @ torch.cos(x @ all_gather(w, 2)) / 4, 2, "sum")),
    why="Summed, not averaged: the step is twice as long.",
)
variant(
    fsdp,
    "momentum_only",
    dist=lambda rank, x, w, m: (
        w - 0.1 * (0.9 * m + (x.t() @ torch.cos(x @ all_gather(w, 2)) / 4).chunk(2)[rank]),
        0.9 * m + reduce_scatter(x.t() @ torch.cos(x @ all_gather(w, 2)) / 4, 2, "avg"),
    ),
    statuses={"m_new": "PROVED"},
    why="The parameter is stepped with the local gradient; only the momentum sees the reduced one.",
)


# --- sequence parallelism: norm on a part of the rows, gather, linear, scatter the sum
def rms(x, g):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * g


sp = case(
    "sequence_parallel_block",
    seq=lambda x, g, w1, w2: x + F.gelu(rms(x, g) @ w1) @ w2,
    dist=lambda rank, x, g, w1, w2: x + reduce_scatter(F.gelu(all_gather(rms(x, g), 2) @ w1) @ w2, 2),
    inputs={
        "x": Tensor((8, 6), "Shard(0)@tp"),
        "g": Tensor((6,)),
        "w1": Tensor((6, 8), "Shard(1)@tp"),
        "w2": Tensor((8, 6), "Shard(0)@tp"),
    },
    outputs={"out": {"expect": "Shard(0)@tp"}},
    mesh=TP2,
    verdict="PROVED",
    why="The norm acts on rows, so it commutes with the cut; scattering the sum gives each rank its rows.",
)
variant(
    sp,
    "slice_instead_of_scatter",
    dist=lambda rank, x, g, w1, w2: x + (F.gelu(all_gather(rms(x, g), 2) @ w1) @ w2).chunk(2)[rank],
    why="Each rank takes its rows of its own partial sum.",
)
variant(
    sp,
    "norm_gradient",
    seq=lambda x, g, w1, w2: (x * g).sum(0),
    dist=lambda rank, x, g, w1, w2: (x * g).sum(0),
    outputs={"grad": {"role": "gradient", "of": "g"}},
    why="Under sequence parallelism a rank sees only its rows, so the gradient of a norm's weight is a partial sum until it is reduced over tp.",
)

# --- layer norm: the composite operator against its definition
norm = case(
    "layer_norm_written_out",
    seq=lambda x, g, b: F.layer_norm(x, (6,), g, b, 1e-5),
    dist=lambda rank, x, g, b: (
        (x - x.mean(-1, keepdim=True))
        * torch.rsqrt(((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) + 1e-5)
        * g
        + b
    ),
    inputs={"x": Tensor((4, 6), "Shard(0)@dp"), "g": Tensor((6,)), "b": Tensor((6,))},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The definition of layer norm.",
)
variant(
    norm,
    "unbiased",
    dist=lambda rank, x, g, b: (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5) * g + b,
    why="The unbiased variance divides by 5, not by 6.",
)
variant(
    norm,
    "over_shard",
    inputs={"x": Tensor((4, 6), "Shard(1)@dp"), "g": Tensor((6,), "Shard(0)@dp"), "b": Tensor((6,), "Shard(0)@dp")},
    dist=lambda rank, x, g, b: F.layer_norm(x, (3,), g, b, 1e-5),
    outputs={"out": {"expect": "Shard(1)@dp"}},
    why="Each rank normalises over its half of the features only.",
)
