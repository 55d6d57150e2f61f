# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Vocabulary, attention, context, expert and pipeline parallelism, and communication that cannot complete."""

import math

import torch

from golden import Tensor, all_gather, all_reduce, all_to_all, case, reduce_scatter, variant

F = torch.nn.functional
TP2 = {"tp": 2}
OUT = {"out": {"expect": "Replicate"}}
I64 = torch.int64


# --- vocabulary-parallel embedding: 8 rows, 4 a rank; rows of other ranks give zeros
def embed(rank, tokens, table, first=None, masked=True):
    first = rank * 4 if first is None else first
    outside = (tokens < first) | (tokens >= first + 4)
    local = torch.where(outside, torch.zeros_like(tokens), tokens - first)
    out = F.embedding(local, table)
    return all_reduce(torch.where(outside.unsqueeze(-1), 0.0, out) if masked else out)


vocab = case(
    "vocab_parallel_embedding",
    seq=lambda tokens, table: F.embedding(tokens, table),
    dist=lambda rank, tokens, table: embed(rank, tokens, table),
    inputs={"tokens": Tensor((3, 5), dtype=I64, high=8), "table": Tensor((8, 4), "Shard(0)@tp")},
    outputs=OUT,
    mesh=TP2,
    manifest={"facts": ["tokens in [0, 8)"]},
    verdict="PROVED",
    why="Each token is in the range of exactly one rank; the others add zeros.",
)
variant(
    vocab,
    "no_mask",
    dist=lambda rank, tokens, table: embed(rank, tokens, table, masked=False),
    kind="missing-embedding-mask",
    why="The other rank adds its row 0.",
)
variant(
    vocab,
    "off_by_one",
    dist=lambda rank, tokens, table: embed(rank, tokens, table, first=rank * 3),
    why="Rank 1 takes its rows for tokens 3 to 6.",
)


# --- cross entropy over a vocabulary cut by tp
def parallel_ce(rank, logits, labels, reduce_sum=True, width=4):
    top = all_reduce(logits.amax(-1), "max")
    shifted = logits - top.unsqueeze(-1)
    total = torch.exp(shifted).sum(-1)
    total = all_reduce(total) if reduce_sum else total
    first = rank * width
    outside = (labels < first) | (labels >= first + 4)
    local = torch.where(outside, torch.zeros_like(labels), labels - first)
    picked = torch.gather(shifted, 1, local.unsqueeze(-1)).squeeze(-1)
    picked = all_reduce(torch.where(outside, 0.0, picked))
    return (torch.log(total) - picked).mean()


ce = case(
    "vocab_parallel_cross_entropy",
    seq=lambda logits, labels: F.cross_entropy(logits, labels),
    dist=lambda rank, logits, labels: parallel_ce(rank, logits, labels),
    inputs={"logits": Tensor((5, 8), "Shard(1)@tp"), "labels": Tensor((5,), dtype=I64, high=8)},
    outputs={"loss": {"role": "loss"}},
    mesh=TP2,
    manifest={"facts": ["labels in [0, 8)"]},
    verdict="PROVED",
    why="log-sum-exp is invariant under the shift by the global maximum, and its sum is cut by ranks; one rank holds each label's logit.",
)
variant(
    ce,
    "no_sum_reduce",
    dist=lambda rank, logits, labels: parallel_ce(rank, logits, labels, reduce_sum=False),
    why="The normaliser of each rank is that of its half of the vocabulary.",
)
variant(
    ce,
    "offset",
    dist=lambda rank, logits, labels: parallel_ce(rank, logits, labels, width=3),
    kind="vocab-shard-offset",
    why="Rank 1 believes to hold columns 3 to 6.",
)


# --- attention with heads cut by tp
def attention(q, k, v, heads, scale, causal=False):
    s = q.shape[0]
    q, k, v = (t.view(s, heads, -1).transpose(0, 1) for t in (q, k, v))
    scores = q @ k.transpose(1, 2) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), -math.inf)
    return (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(s, -1)


heads = case(
    "attention_heads_tp2",
    seq=lambda x, wq, wk, wv, wo: attention(x @ wq, x @ wk, x @ wv, 4, 0.5, True) @ wo,
    dist=lambda rank, x, wq, wk, wv, wo: all_reduce(attention(x @ wq, x @ wk, x @ wv, 2, 0.5, True) @ wo),
    inputs={
        "x": Tensor((5, 8)),
        **{n: Tensor((8, 16), "Shard(1)@tp") for n in ("wq", "wk", "wv")},
        "wo": Tensor((16, 8), "Shard(0)@tp"),
    },
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="Heads do not mix before the output projection, which is row-parallel.",
)
variant(
    heads,
    "scale",
    dist=lambda rank, x, wq, wk, wv, wo: all_reduce(attention(x @ wq, x @ wk, x @ wv, 2, 1 / math.sqrt(8), True) @ wo),
    why="Scaled by the local hidden size instead of the head size.",
)
variant(
    heads,
    "not_causal",
    dist=lambda rank, x, wq, wk, wv, wo: all_reduce(attention(x @ wq, x @ wk, x @ wv, 2, 0.5) @ wo),
    why="The ranks attend to later positions.",
)
variant(
    heads,
    "two_by_eight",
    dist=lambda rank, x, wq, wk, wv, wo: all_reduce(attention(x @ wq, x @ wk, x @ wv, 1, 0.5, True) @ wo),
    why="One head of size 8 on each rank instead of two of size 4.",
)


# --- softmax over a dimension that is cut: log-sum-exp merge
def merge(rank, s, v, rescale=True):
    top = s.amax(-1, keepdim=True)
    p = torch.exp(s - top)
    if rescale:
        shift = torch.exp(top - all_reduce(top, "max"))
        return all_reduce(p @ v * shift) / all_reduce(p.sum(-1, keepdim=True) * shift)
    return all_reduce(p @ v) / all_reduce(p.sum(-1, keepdim=True))


lse = case(
    "softmax_over_cut_keys",
    seq=lambda s, v: torch.softmax(s, -1) @ v,
    dist=lambda rank, s, v: merge(rank, s, v),
    inputs={"s": Tensor((4, 6), "Shard(1)@cp"), "v": Tensor((6, 3), "Shard(0)@cp")},
    outputs=OUT,
    mesh={"cp": 2},
    verdict="PROVED",
    why="Both sums are brought to the common maximum before they are added.",
)
variant(
    lse,
    "no_rescale",
    dist=lambda rank, s, v: merge(rank, s, v, rescale=False),
    kind="lse-merge",
    why="Sums shifted by different maxima are added.",
)


# --- positions in zigzag order: of 4 chunks rank r holds r and 3-r
def positions(rank, x, order):
    return x * torch.cat([torch.arange(c * 2, c * 2 + 2) for c in order]).to(x.dtype).unsqueeze(-1)


zigzag = case(
    "zigzag_positions",
    seq=lambda x: x * torch.arange(8).to(x.dtype).unsqueeze(-1),
    dist=lambda rank, x: positions(rank, x, [rank, 3 - rank]),
    inputs={"x": Tensor((8, 3), {"shard": 0, "axis": "cp", "order": "zigzag"})},
    outputs={"out": {"expect": {"shard": 0, "axis": "cp", "order": "zigzag"}}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="Positions follow the chunks that the rank holds.",
)
variant(
    zigzag,
    "contiguous_positions",
    dist=lambda rank, x: positions(rank, x, [2 * rank, 2 * rank + 1]),
    kind="zigzag-order",
    why="Positions count as if the ranks held contiguous halves.",
)
variant(
    zigzag,
    "explicit_chunks",
    verdict="PROVED",
    inputs={"x": Tensor((8, 3), {"shard": 0, "axis": "cp", "chunks": [[0, 3], [1, 2]]})},
    why="Zigzag over two ranks is this list of chunks.",
)

# --- causal mask of a cut sequence
mask = case(
    "causal_mask_offset",
    seq=lambda s: torch.where(torch.arange(6).unsqueeze(1) >= torch.arange(6), s, 0.0),
    dist=lambda rank, s: torch.where((torch.arange(3) + 3 * rank).unsqueeze(1) >= torch.arange(6), s, 0.0),
    inputs={"s": Tensor((6, 6), "Shard(0)@cp")},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="A rank's rows start at 3 times its rank.",
)
variant(
    mask,
    "no_offset",
    dist=lambda rank, s: torch.where(torch.arange(3).unsqueeze(1) >= torch.arange(6), s, 0.0),
    kind="cp-attention-mask",
    why="Every rank masks as if its rows were the first.",
)

# --- a ring step: each rank gets the block of its left neighbour
ring = case(
    "ring_rotation",
    seq=lambda x, w: torch.cat([x[6:], x[:6]]) * w,
    dist=lambda rank, x, w: (
        all_to_all(
            x, [2 if s == (rank - 1) % 4 else 0 for s in range(4)], [2 if d == (rank + 1) % 4 else 0 for d in range(4)]
        )
        * w
    ),
    inputs={"x": Tensor((8, 3), "Shard(0)@cp"), "w": Tensor((3,))},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 4},
    verdict="PROVED",
    why="Rank r receives the rows of rank r-1, which is the rotation by one block.",
)
variant(
    ring,
    "other_way",
    dist=lambda rank, x, w: (
        all_to_all(
            x, [2 if s == (rank + 1) % 4 else 0 for s in range(4)], [2 if d == (rank - 1) % 4 else 0 for d in range(4)]
        )
        * w
    ),
    kind="ppermute-direction",
    why="The ring turns the other way.",
)
variant(
    ring,
    "splits_disagree",
    dist=lambda rank, x, w: (
        all_to_all(
            x, [2 if s == (rank - 1) % 4 else 0 for s in range(4)], [2 if d == (rank - 1) % 4 else 0 for d in range(4)]
        )
        * w
    ),
    kind="mismatched-collective",
    numeric=False,
    why="What rank 0 sends to rank 3, rank 3 does not expect: the exchange cannot be carried out.",
)

# --- Ulysses: rows cut -> heads cut by one all-to-all
ulysses = case(
    "all_to_all_rows_to_columns",
    seq=lambda x: torch.cumsum(x, 0),
    dist=lambda rank, x: torch.cumsum(all_to_all(torch.cat(x.chunk(2, 1)), [4, 4], [4, 4]), 0),
    inputs={"x": Tensor((8, 6), "Shard(0)@cp")},
    outputs={"out": {"expect": "Shard(1)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="Each rank sends the other's columns and receives all rows of its own, in order; the running sum along rows is then local.",
)
variant(
    ulysses,
    "not_exchanged",
    dist=lambda rank, x: torch.cumsum(all_gather(x, 2)[:, :3], 0),
    kind="all-to-all-layout",
    why="Every rank takes the first columns.",
)

# --- running sum over a cut dimension
scan = case(
    "cumsum_over_shards",
    seq=lambda x: torch.cumsum(x, 0),
    dist=lambda rank, x: torch.cumsum(x, 0) + all_gather(x.sum(0, keepdim=True), 2)[:rank].sum(0, keepdim=True),
    inputs={"x": Tensor((8, 3), "Shard(0)@cp")},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    accept=["UNKNOWN"],
    why="A rank adds the totals of the ranks before it.",
)
variant(scan, "no_offset", dist=lambda rank, x: torch.cumsum(x, 0), why="Every rank starts from zero.")


# --- experts: two, one on each rank, tokens replicated
def expert(x, w, p):
    return torch.relu(x @ w) * p


moe = case(
    "experts_replicated_tokens",
    seq=lambda x, r, w0, w1: (
        expert(x, w0, torch.softmax(x @ r, -1)[:, 0:1]) + expert(x, w1, torch.softmax(x @ r, -1)[:, 1:2])
    ),
    dist=lambda rank, x, r, *w: all_reduce(expert(x, w[0], torch.softmax(x @ r, -1)[:, rank : rank + 1])),
    inputs={
        "x": Tensor((5, 4)),
        "r": Tensor((4, 2)),
        "w0": Tensor((4, 4), "On(0)@ep"),
        "w1": Tensor((4, 4), "On(1)@ep"),
    },
    outputs=OUT,
    mesh={"ep": 2},
    verdict="PROVED",
    why="Each rank adds its expert's output, weighted by the router's probability for that expert.",
)
variant(
    moe,
    "weights_swapped",
    dist=lambda rank, x, r, *w: all_reduce(expert(x, w[0], torch.softmax(x @ r, -1)[:, 1 - rank : 2 - rank])),
    why="Each expert gets the other's weight.",
)


# --- experts by capacity: every rank has 2 slots for each expert, exchanged there and back
def dispatch(rank, x, w, back=True):
    y = torch.relu(all_to_all(x, [2, 2], [2, 2]) @ w[0])
    return all_to_all(y, [2, 2], [2, 2]) if back else y


capacity = case(
    "expert_all_to_all",
    seq=lambda x, w: (
        torch.relu(torch.bmm(x.view(2, 2, 2, 3).transpose(0, 1).reshape(2, 4, 3), w))
        .view(2, 2, 2, 3)
        .transpose(0, 1)
        .reshape(8, 3)
    ),
    dist=lambda rank, x, w: dispatch(rank, x, w),
    inputs={"x": Tensor((8, 3), "Shard(0)@ep"), "w": Tensor((2, 3, 3), "Shard(0)@ep")},
    outputs={"out": {"expect": "Shard(0)@ep"}},
    mesh={"ep": 2},
    verdict="PROVED",
    why="A rank's first two rows go to expert 0 and its last two to expert 1, and come back to where they were.",
)
variant(
    capacity,
    "no_return",
    dist=lambda rank, x, w: dispatch(rank, x, w, back=False),
    why="The rows stay at their experts.",
)

# --- pipeline stages with send and receive
SEND, RECV, WAIT = (
    torch.ops._c10d_functional.isend,
    torch.ops._c10d_functional.irecv,
    torch.ops._c10d_functional.wait_tensor,
)


def stage0(x, w, order):
    for tag, part in enumerate(order(x.chunk(2))):
        WAIT(SEND(torch.tanh(part @ w), 1, tag, "0"))
    return ()


def stage1(w, tags=(0, 1)):
    return torch.cat([WAIT(RECV(torch.empty(2, 3), 0, tag, "0")) @ w for tag in tags])


pipeline = case(
    "pipeline_two_stages",
    seq=lambda x, w0, w1: torch.tanh(x @ w0) @ w1,
    dist=lambda rank, *a: stage0(*a, lambda p: p) if rank == 0 else stage1(*a),
    inputs={"x": Tensor((4, 3), "On(0)@pp"), "w0": Tensor((3, 3), "On(0)@pp"), "w1": Tensor((3, 3), "On(1)@pp")},
    outputs={"out": {"dist": [None, "out"], "expect": "On(1)@pp"}},
    mesh={"pp": 2},
    verdict="PROVED",
    why="Two microbatches pass the stages in order and are joined in order.",
)
variant(
    pipeline,
    "microbatches_swapped",
    dist=lambda rank, *a: stage0(*a, lambda p: p) if rank == 0 else stage1(*a, tags=(1, 0)),
    kind="pipeline-schedule",
    why="The second stage joins the microbatches in the wrong order.",
)
variant(
    pipeline,
    "missing_send",
    dist=lambda rank, *a: stage0(*a, lambda p: p[:1]) if rank == 0 else stage1(*a),
    kind="would-hang",
    numeric=False,
    why="The second stage waits for a message that nobody sends.",
)


# --- communication that cannot complete
def two_collectives(rank, x, swapped):
    if swapped and rank == 1:
        total = reduce_scatter(x, 2)
        return all_reduce(x) + all_gather(total, 2)
    return all_reduce(x) + all_gather(reduce_scatter(x, 2), 2)


order = case(
    "collective_order",
    seq=lambda x: 4 * x,
    dist=lambda rank, x: two_collectives(rank, x, False),
    inputs={"x": Tensor((4, 3))},
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="Both ranks add twice the input, by two routes.",
)
variant(
    order,
    "swapped",
    dist=lambda rank, x: two_collectives(rank, x, True),
    kind="mismatched-collective",
    numeric=False,
    why="Rank 0 stands at an all-reduce while rank 1 stands at a reduce-scatter of the same group.",
)
variant(
    order,
    "one_rank_skips",
    dist=lambda rank, x: all_reduce(x) + (all_reduce(x) if rank == 0 else 2 * x),
    kind="would-hang",
    numeric=False,
    why="Rank 0 waits in a second all-reduce that rank 1 never enters.",
)
variant(
    order,
    "shapes",
    dist=lambda rank, x: 2 * all_reduce(x if rank == 0 else x.reshape(-1)).view(4, 3),
    kind="mismatched-collective",
    numeric=False,
    accept=["PROVED"],
    why="The ranks' tensors have one size and different shapes: the contract counts that as a disagreement.",
)

# --- convolution
conv = case(
    "convolution_channels",
    seq=lambda x, w: F.conv2d(x, w, padding=1),
    dist=lambda rank, x, w: all_reduce(F.conv2d(x, w, padding=1)),
    inputs={"x": Tensor((2, 4, 5, 5), "Shard(1)@tp"), "w": Tensor((3, 4, 3, 3), "Shard(1)@tp")},
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="A convolution sums over input channels.",
)
variant(
    conv,
    "no_padding_bottom",
    dist=lambda rank, x, w: all_reduce(F.pad(F.conv2d(x, w, padding=(0, 1)), (0, 0, 1, 1))),
    why="The first and last rows are zeros instead of sums over the rows that are there.",
)

# --- other reductions and broadcast
case(
    "all_reduce_max_min",
    seq=lambda x: (x.amax(0), x.amin(0)),
    dist=lambda rank, x: (all_reduce(x.amax(0), "max"), all_reduce(x.amin(0), "min")),
    inputs={"x": Tensor((6, 4), "Shard(0)@dp")},
    outputs={"top": {"expect": "Replicate"}, "bottom": {"expect": "Replicate"}},
    mesh={"dp": 3},
    verdict="PROVED",
    why="The maximum of the parts' maxima.",
)
cast = case(
    "broadcast_from_one",
    seq=lambda x: x * x,
    dist=lambda rank, x: WAIT(torch.ops._c10d_functional.broadcast(x * x if rank == 1 else x, 1, "0")),
    inputs={"x": Tensor((3, 3))},
    outputs=OUT,
    mesh=TP2,
    verdict="PROVED",
    why="Rank 1 has computed it and gives it to all.",
)
variant(
    cast,
    "from_zero",
    dist=lambda rank, x: WAIT(torch.ops._c10d_functional.broadcast(x * x if rank == 1 else x, 0, "0")),
    why="Rank 0 gives its x, which is not squared.",
)


# --- gradients left as partial sums
def head_gradient(p, labels, valid, e, lo):
    """What a rank's columns of the vocabulary give back: (p - one-hot) / valid @ e."""
    inside = (labels >= lo) & (labels < lo + e.shape[0])
    row = torch.where(inside, labels - lo, 0)
    hit = inside.unsqueeze(-1).to(e.dtype)
    return ((p @ e) - torch.nn.functional.embedding(row, e) * hit) / valid


def norm_input_gradient(x, g, dy):
    r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
    dn = dy * g
    return dn * r - x * (dn * x).sum(-1, keepdim=True) * r**3 / x.shape[-1]


def chained(p, labels, valid, e, x, g, w, lo):
    """Backward through the last norm and three blocks beside a residual stream: a norm and two linear layers with a gate."""
    dx = norm_input_gradient(x, g, head_gradient(p, labels, valid, e, lo))
    for k in range(3):
        a = torch.tanh(x + k)
        dx = dx + norm_input_gradient(a, g, ((dx @ w.t()) * torch.cos(a)) @ w)
    return dx.t() @ torch.tanh(x) + (dx @ w.t()).t() @ x


partial_chain = case(
    "partial_gradients_through_layers",
    seq=lambda p, labels, valid, e, x, g, w: (
        ((p * p).sum() + (x * x).sum()) / valid,
        chained(p, labels, valid, e, x, g, w, 0),
    ),
    dist=lambda rank, p, labels, valid, e, x, g, w: (
        (all_reduce((p * p).sum()) + (x * x).sum()) / valid,
        chained(p, labels, valid, e, x, g, w, 4 * rank),
    ),
    inputs={
        "p": Tensor((5, 8), "Shard(1)@tp"),
        "labels": Tensor((5,), dtype=torch.int64, high=8),
        "valid": Tensor(()),
        "e": Tensor((8, 6), "Shard(0)@tp"),
        "x": Tensor((5, 6)),
        "g": Tensor((6,)),
        "w": Tensor((6, 6)),
    },
    outputs={"loss": {"role": "loss"}, "dw": {"role": "gradient", "of": "w", "expect": "Partial(sum)@tp"}},
    mesh={"tp": 2},
    manifest={"facts": ["labels in [0, 8)"]},
    verdict="PROVED",
    why="Everything behind the head is linear in the gradient, so what adds up to it still adds up in the end (L-74).",
)
variant(
    partial_chain,
    "reduced_on_the_way",
    dist=lambda rank, p, labels, valid, e, x, g, w: (
        (all_reduce((p * p).sum()) + (x * x).sum()) / valid,
        chained(p, labels, valid, e, x, g, w, 4 * rank) + w,
    ),
    statuses={"loss": "PROVED", "dw": "REFUTED"},
    why="What each rank adds is counted twice.",
)

case(
    "partial_sums_beside_one_rank",
    seq=lambda x, w: torch.tanh(x) @ w,
    dist=lambda rank, x, w: torch.tanh(x) @ w,
    inputs={"x": Tensor((4, 6), "Shard(1)@tp"), "w": Tensor((6, 3), "Shard(0)@tp")},
    outputs={"out": {"expect": "Partial(sum)@tp"}},
    mesh={"dp": 1, "tp": 2},
    groups={"0": "tp"},
    verdict="PROVED",
    why="The axis of one rank changes nothing.",
)

masked_rows = case(
    "gradient_of_masked_rows",
    seq=lambda t, dy, w, valid: (
        dy.sum() / valid,
        torch.zeros_like(w).index_put((t,), dy / valid, accumulate=True),
    ),
    dist=lambda rank, t, dy, w, valid: (
        dy.sum() / valid,
        torch.zeros_like(w).index_put(
            ((t - 4 * rank).clamp(0, 3),),
            dy / valid * ((t >= 4 * rank) & (t < 4 * rank + 4)).unsqueeze(-1).to(dy.dtype),
            accumulate=True,
        ),
    ),
    inputs={
        "t": Tensor((5,), dtype=torch.int64, high=8),
        "dy": Tensor((5, 3)),
        "w": Tensor((8, 3), "Shard(0)@tp"),
        "valid": Tensor(()),
    },
    outputs={"loss": {"role": "loss"}, "dw": {"role": "gradient", "of": "w"}},
    mesh={"tp": 2},
    manifest={"facts": ["t in [0, 8)"]},
    verdict="PROVED",
    contains=["where the loss is defined"],
    why="With a count of 0 the first and last row of a rank are 0/0 where no token has them, but so is the loss (L-75).",
)
variant(
    masked_rows,
    "no_loss",
    seq=lambda t, dy, w, valid: torch.zeros_like(w).index_put((t,), dy / valid, accumulate=True),
    dist=lambda rank, t, dy, w, valid: torch.zeros_like(w).index_put(
        ((t - 4 * rank).clamp(0, 3),),
        dy / valid * ((t >= 4 * rank) & (t < 4 * rank + 4)).unsqueeze(-1).to(dy.dtype),
        accumulate=True,
    ),
    outputs={"dw": {"role": "value", "expect": "Shard(0)@tp"}},
    verdict="UNKNOWN",
    accept=["REFUTED"],
    numeric=False,
    why="No loss says that the count is not 0, and where it is, rows that no token has are 0 on one device and undefined on the ranks.",
)
variant(
    masked_rows,
    "other_count",
    seq=lambda t, dy, w, valid: (
        dy.sum(),
        torch.zeros_like(w).index_put((t,), dy / valid, accumulate=True),
    ),
    dist=lambda rank, t, dy, w, valid: (
        dy.sum(),
        torch.zeros_like(w).index_put(
            ((t - 4 * rank).clamp(0, 3),),
            dy / valid * ((t >= 4 * rank) & (t < 4 * rank + 4)).unsqueeze(-1).to(dy.dtype),
            accumulate=True,
        ),
    ),
    statuses={"loss": "PROVED", "dw": "UNKNOWN"},
    verdict="UNKNOWN",
    accept=["REFUTED"],
    numeric=False,
    why="The loss is defined whatever the count is.",
)


# --- a dispatcher with room for every token
def dispatch_all(x, router, experts, capacity):
    """Top-2 routing with softmax scores; each expert takes the `capacity` tokens that chose it first, padded with the others."""
    tokens, count = x.shape[0], router.shape[1]
    score, choice = torch.topk(x @ router, 2, dim=1)
    gate = torch.zeros(tokens, count).scatter(1, choice, torch.softmax(score, -1))
    chosen = torch.zeros(tokens, count, dtype=torch.int32).scatter(1, choice, 1)
    first = torch.topk(chosen, capacity, dim=0, sorted=False)[1]
    taken = torch.zeros(tokens, count).scatter(0, first, 1.0).bool()
    order = torch.sort(taken.to(torch.int8).t().contiguous(), stable=True, descending=True)[1][:, :capacity]
    rows = order.reshape(-1)
    scale = torch.gather((gate * taken).t().contiguous(), 1, order).reshape(-1, 1)
    out = torch.cat([torch.tanh(part @ experts[k]) for k, part in enumerate(torch.split(x[rows], capacity, 0))]) * scale
    return torch.zeros_like(x).scatter_add(0, rows.unsqueeze(1).expand(-1, x.shape[1]), out)


room = case(
    "experts_with_room_for_all",
    seq=lambda x, router, experts: dispatch_all(x, router, experts, 6),
    dist=lambda rank, x, router, experts: dispatch_all(x, router, experts, 3),
    inputs={"x": Tensor((6, 4), "Shard(0)@dp"), "router": Tensor((4, 3)), "experts": Tensor((3, 4, 4))},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Every expert has room for every token: whatever the order in which ties are taken, all are (L-76, L-82).",
)
variant(
    room,
    "tokens_dropped",
    dist=lambda rank, x, router, experts: dispatch_all(x, router, experts, 2),
    accept=["UNKNOWN"],  # which of equal keys come first is open
    why="With room for two of a rank's three tokens, one that chose an expert may be dropped.",
)
variant(
    room,
    "wrong_rows",
    dist=lambda rank, x, router, experts: dispatch_all(x.flip(0), router, experts, 3),
    why="The rows come out in another order.",
)


def ranks_of(x):
    """The place that each element would have in its sorted row."""
    order = torch.sort(x, dim=1, stable=True)[1]
    return torch.zeros_like(x).scatter(1, order, torch.arange(x.shape[1], dtype=x.dtype).expand(x.shape))


inverse = case(
    "inverse_of_a_sort",
    seq=ranks_of,
    dist=lambda rank, x: ranks_of(x),
    inputs={"x": Tensor((4, 6), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="What is written at the places of a sort is not the same everywhere (no L-76), but each row is sorted by itself.",
)
variant(
    inverse,
    "constant",
    dist=lambda rank, x: torch.full_like(x, 2.0),
    why="Writing at every place does not make it the same everywhere.",
)


# --- buffers of experts, each with room for every token: tokens are sorted by their expert, and each rank runs some of the buffers
def buffer_plan(expert, experts, room):
    """The order of the tokens by their experts, and the slot of each in one buffer for all experts."""
    ordered, order = torch.sort(expert, stable=True)
    counts = (expert.unsqueeze(-1) == torch.arange(experts)).sum(0)
    start = counts.cumsum(0) - counts
    return order, ordered * room + torch.arange(expert.shape[0]) - start[ordered]


def buffers(rank, x, expert, w, g, ranks, gather):
    """What the experts make of their tokens, in the tokens' order, and the gradients by w and x for g."""
    experts, room, width = w.shape[0] * ranks, x.shape[0], x.shape[1]
    order, slot = buffer_plan(expert, experts, room)
    filled = torch.zeros(experts * room, width).index_copy(0, slot, x[order]).view(experts, room, width)
    mine = filled[rank * w.shape[0] : (rank + 1) * w.shape[0]]
    before, after = rank * w.shape[0], experts - (rank + 1) * w.shape[0]
    made = torch.nn.functional.pad(torch.tanh(mine @ w), (0, 0, 0, 0, before, after))
    rows = gather(made.reshape(-1, width)[slot])
    out = rows[torch.argsort(order)]
    back = torch.zeros_like(out).index_put((torch.argsort(order),), g, accumulate=True)
    blocks = torch.zeros(experts * room, width).index_put((slot,), back, accumulate=True).view(experts, room, width)
    inner = blocks[before : before + w.shape[0]] * (1 - torch.tanh(mine @ w) ** 2)
    by_slot = torch.nn.functional.pad(inner @ w.transpose(1, 2), (0, 0, 0, 0, before, after)).reshape(-1, width)
    return (
        out,
        mine.transpose(1, 2) @ inner,
        gather(torch.zeros_like(x).index_put((order,), by_slot[slot], accumulate=True)),
    )


expert_buffers = case(
    "expert_buffers",
    seq=lambda x, expert, w, g: buffers(0, x, expert, w, g, 1, lambda y: y),
    dist=lambda rank, x, expert, w, g: buffers(rank, x, expert, w, g, 2, all_reduce),
    inputs={
        "x": Tensor((5, 3)),
        "expert": Tensor((5,), dtype=torch.int64, high=4),
        "w": Tensor((4, 3, 3), "Shard(0)@ep"),
        "g": Tensor((5, 3)),
    },
    outputs={
        "out_0": {"expect": "Replicate"},
        "out_1": {"role": "gradient", "of": "w"},
        "out_2": {"expect": "Replicate"},
    },
    mesh={"ep": 2},
    manifest={"facts": ["expert in [0, 4)"]},
    verdict="PROVED",
    why="The slot's expert is its quotient by the room, and its place there the remainder: the ranks' buffers are blocks of one.",
)
variant(
    expert_buffers,
    "offset",
    dist=lambda rank, x, expert, w, g: buffers(rank, x, (expert + rank) % 4, w, g, 2, all_reduce),
    why="The second rank sends every token to the next expert.",
)
variant(
    expert_buffers,
    "not_gathered",
    dist=lambda rank, x, expert, w, g: buffers(rank, x, expert, w, g, 2, lambda y: y),
    statuses={"out_0": "REFUTED", "out_1": "PROVED", "out_2": "REFUTED"},
    why="Each rank keeps zeros for the tokens of the other's experts.",
)


def table_of_products(a, b, c, i):
    """Rows for all pairs, and two more: the whole is no number of blocks of three."""
    return torch.cat([(a.unsqueeze(1) * b.unsqueeze(0)).reshape(-1), c])[i]


uneven = case(
    "blocks_and_more",
    seq=table_of_products,
    dist=lambda rank, a, b, c, i: table_of_products(a, b, c, i),
    inputs={
        "a": Tensor((2,)),
        "b": Tensor((3,)),
        "c": Tensor((2,)),
        "i": Tensor((6,), "Shard(0)@dp", torch.int64, high=8),
    },
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    manifest={"facts": ["i in [0, 8)"]},
    verdict="PROVED",
    why="Both sides read the same table; it is not read by block and place (no L-77).",
)
variant(
    uneven,
    "other_order",
    dist=lambda rank, a, b, c, i: table_of_products(b, a, c, i),
    why="The pairs stand in another order.",
)


# --- routers: the top of a softmax is the softmax of the top (L-83), also backwards (L-84, L-93)
def top_of_softmax(x, g):
    """Weights of the two best, renormalised, at their places; and the gradient by x for the gradient g of the weights."""
    p = torch.softmax(x, -1)
    top, choice = torch.topk(p, 2)
    total = top.sum(-1, keepdim=True)
    weights = top / total
    gw = g.gather(-1, choice)
    gtop = gw / total - (gw * top).sum(-1, keepdim=True) / total**2
    gp = torch.zeros_like(p).scatter(-1, choice, gtop)
    return torch.zeros_like(p).scatter(-1, choice, weights), p * (gp - (p * gp).sum(-1, keepdim=True))


def softmax_of_top(x, g):
    top, choice = torch.topk(x, 2)
    weights = torch.softmax(top, -1)
    gw = g.gather(-1, choice)
    gtop = weights * (gw - (gw * weights).sum(-1, keepdim=True))
    return torch.zeros_like(x).scatter(-1, choice, weights), torch.zeros_like(x).scatter(-1, choice, gtop)


router = case(
    "softmax_of_top",
    seq=top_of_softmax,
    dist=lambda rank, x, g: softmax_of_top(x, g),
    inputs={"x": Tensor((4, 5), "Shard(0)@dp"), "g": Tensor((4, 5), "Shard(0)@dp")},
    outputs={f"out_{i}": {"expect": "Shard(0)@dp"} for i in range(2)},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The exponential increases, and the sum of all of them is a positive factor: the order is that of the logits.",
)
variant(
    router,
    "of_opposite",
    dist=lambda rank, x, g: softmax_of_top(-x, g),
    why="The least logits are taken.",
)
variant(
    router,
    "of_one_more",
    dist=lambda rank, x, g: (softmax_of_top(x, g)[0], softmax_of_top(x, g)[1] * 2),
    statuses={"out_0": "PROVED", "out_1": "REFUTED"},
    why="The gradient is counted twice.",
)
scaled = case(
    "sorted_up_to_a_factor",
    seq=lambda x, s: torch.sort(x * (s * s + 1).unsqueeze(-1) + s.unsqueeze(-1))[0],
    dist=lambda rank, x, s: (
        torch.sort(torch.tanh(x))[1].to(x.dtype) * 0 + torch.sort(x)[0] * (s * s + 1).unsqueeze(-1) + s.unsqueeze(-1)
    ),
    inputs={"x": Tensor((4, 3), "Shard(0)@dp"), "s": Tensor((4,), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The factor of a row is positive and finite, its summand finite.",
)
variant(
    scaled,
    "of_any_sign",
    seq=lambda x, s: torch.sort(x * s.unsqueeze(-1))[0],
    dist=lambda rank, x, s: torch.sort(x)[0] * s.unsqueeze(-1),
    why="Where the factor is negative, the order is the other one.",
)
variant(
    scaled,
    "may_be_undefined",
    seq=lambda x, s: torch.sort(x, descending=True)[1].to(x.dtype) + s.unsqueeze(-1),
    dist=lambda rank, x, s: (
        torch.sort(x + torch.log(s).unsqueeze(-1), descending=True)[1].to(x.dtype) + s.unsqueeze(-1)
    ),
    verdict="UNKNOWN",
    accept=["REFUTED"],
    numeric=False,
    why="The logarithm of what may be negative is undefined, and then so is the order (no L-83).",
)
variant(
    scaled,
    "other_row",
    seq=lambda x, s: x.gather(-1, torch.sort(x)[1]),
    dist=lambda rank, x, s: x.flip(0).gather(-1, torch.sort(x)[1]),
    why="The order of one row, read in another.",
)
variant(
    scaled,
    "gathered",
    seq=lambda x, s: x.gather(-1, torch.sort(x)[1]),
    dist=lambda rank, x, s: torch.sort(x)[0],
    verdict="PROVED",
    why="What stands where the order says is what is sorted (L-84).",
)
variant(
    scaled,
    "written_together",
    seq=lambda x, s: torch.zeros(3).scatter(0, torch.sort(x)[1].reshape(-1), x.reshape(-1)) + s[:3],
    dist=lambda rank, x, s: torch.zeros(3).scatter_add(0, torch.sort(x)[1].reshape(-1), x.reshape(-1)) + s[:3],
    inputs={"x": Tensor((4, 3)), "s": Tensor((4,))},
    outputs={"out": {"expect": "Replicate"}},
    accept=["UNKNOWN"],
    why="Orders of several rows are written into one: some meet, and the last one wins (no L-93).",
)


# --- rotary positions that are counted from elsewhere: scores depend on differences (L-94)
def rotated(x, positions, back=False):
    half = x.shape[-1] // 2
    angles = positions.to(x.dtype).unsqueeze(-1) / 10000 ** (torch.arange(half) / half)
    sine, cosine = torch.sin(angles) * (-1 if back else 1), torch.cos(angles)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


def rotary_scores(q, k, g, first, offset, key_offset):
    """Exponentials of the scores of rows that start at `first`, and the gradient by the queries for the gradient g of the scores."""
    mine, theirs = torch.arange(q.shape[0]) + first + offset, torch.arange(k.shape[0]) + key_offset
    turned = rotated(k, theirs)
    return torch.exp(rotated(q, mine) @ turned.T), rotated(g @ turned, mine, back=True)


rotary = case(
    "rotary_positions_shifted",
    seq=lambda q, k, g: rotary_scores(q, k, g, 0, 0, 0),
    dist=lambda rank, q, k, g: rotary_scores(q, all_gather(k, 2), g, 2 * rank, 7, 7),
    inputs={"q": Tensor((4, 4), "Shard(0)@dp"), "k": Tensor((4, 4), "Shard(0)@dp"), "g": Tensor((4, 4), "Shard(0)@dp")},
    outputs={f"out_{i}": {"expect": "Shard(0)@dp"} for i in range(2)},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Queries and keys are turned by seven positions more, and the gradient back by as many.",
)
variant(
    rotary,
    "keys_not",
    dist=lambda rank, q, k, g: rotary_scores(q, all_gather(k, 2), g, 2 * rank, 7, 0),
    why="Only the queries' positions are shifted.",
)
variant(
    rotary,
    "by_rank",
    dist=lambda rank, q, k, g: rotary_scores(q, all_gather(k, 2), g, 0, 7, 7),
    why="Every rank counts its rows from the first.",
)
variant(
    rotary,
    "of_what_may_be_infinite",
    seq=lambda q, k, g: q * 0 + 1,
    dist=lambda rank, q, k, g: torch.cos(torch.log(q * q)) ** 2 + torch.sin(torch.log(q * q)) ** 2,
    outputs={"out": {"expect": "Shard(0)@dp"}},
    verdict="UNKNOWN",
    accept=["REFUTED"],
    numeric=False,
    why="Where q is 0 the angle is infinite, and its sine undefined.",
)


# --- experts of other ranks are masked, and read the last local expert meanwhile: as Transformers distributes experts
def batched_experts(x, score, choice, up, down):
    rows = x.repeat_interleave(choice.shape[1], 0).unsqueeze(-1)
    each = choice.reshape(-1)
    hidden = torch.tanh(torch.bmm(up[each], rows))
    out = torch.bmm(down[each], hidden).squeeze(-1) * score.reshape(-1, 1)
    return out.view(x.shape[0], choice.shape[1], -1).sum(1)


def masked_experts(rank, x, router, up, down, mine):
    score, choice = torch.topk(torch.softmax(x @ router, -1), 2)
    count = up.shape[0]
    elsewhere = torch.div(choice, count, rounding_mode="floor") != mine
    local = torch.where(elsewhere, count, choice % count).clamp(max=count - 1)
    return all_reduce(batched_experts(x, score.masked_fill(elsewhere, 0.0), local, up, down))


def routed_experts(x, router, up, down):
    score, choice = torch.topk(torch.softmax(x @ router, -1), 2)
    return batched_experts(x, score, choice, up, down)


elsewhere = case(
    "experts_elsewhere_masked",
    seq=routed_experts,
    dist=lambda rank, x, router, up, down: masked_experts(rank, x, router, up, down, rank),
    inputs={
        "x": Tensor((3, 2)),
        "router": Tensor((2, 6)),
        "up": Tensor((6, 4, 2), "Shard(0)@ep"),
        "down": Tensor((6, 2, 4), "Shard(0)@ep"),
    },
    outputs={"out": {"expect": "Replicate"}},
    mesh={"ep": 3},
    verdict="PROVED",
    why="What the masked experts make is not added: their index says nothing where the mask lets it through (L-21 inside of sums).",
)
variant(
    elsewhere,
    "of_the_next_rank",
    dist=lambda rank, x, router, up, down: masked_experts(rank, x, router, up, down, (rank + 1) % 3),
    why="Every rank takes the tokens of the next rank's experts.",
)


def unmasked_experts(rank, x, router, up, down):
    score, choice = torch.topk(torch.softmax(x @ router, -1), 2)
    local = torch.where(choice // 2 != rank, 2, choice % 2).clamp(max=1)
    return all_reduce(batched_experts(x, score, local, up, down))


variant(
    elsewhere,
    "not_masked",
    dist=unmasked_experts,
    why="The last local expert stands in for those that are elsewhere, and is added.",
)
