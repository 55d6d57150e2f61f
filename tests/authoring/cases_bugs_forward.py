# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Public bug reports rebuilt: reductions in the forward pass, norms, attention and losses over what is cut."""

import math

import torch

from golden import Tensor, all_gather, all_reduce, bug, reduce_scatter

F = torch.nn.functional
I64 = torch.int64
ROW = {"x": Tensor((5, 8), "Shard(1)@tp"), "w": Tensor((8, 4), "Shard(0)@tp")}

# --- missing-allreduce
bug(
    "missing-allreduce",
    "shared_expert_partial",
    "B169 B190",
    seq=lambda x, w, y: torch.relu(x @ w + y),
    dist=lambda rank, x, w, y: torch.relu(all_reduce(x @ w) + y),
    inputs={**ROW, "y": Tensor((5, 4))},
    why="The shared expert is row-parallel: its parts are added before they meet the routed output.",
    wrong={
        "partial_plus_full": (
            lambda rank, x, w, y: torch.relu(x @ w + y),
            "A partial sum is added to a whole tensor.",
            "missing-all-reduce",
        )
    },
)

bug(
    "missing-allreduce",
    "experts_cut_twice",
    "B176",
    seq=lambda x, w: torch.relu(x @ w),
    dist=lambda rank, x, w: torch.relu(all_reduce(all_reduce(x @ w, "sum", "tp"), "sum", "ep")),
    inputs={"x": Tensor((5, 8), "Shard(1)@(ep, tp)"), "w": Tensor((8, 4), "Shard(0)@(ep, tp)")},
    mesh={"ep": 2, "tp": 2},
    why="The contraction is cut by both axes.",
    wrong={
        "one_group": (
            lambda rank, x, w: torch.relu(all_reduce(x @ w, "sum", "ep")),
            "The fused all-reduce runs over one of the two groups.",
            "missing-all-reduce wrong-group",
        )
    },
)

# --- redundant-allreduce
bug(
    "redundant-allreduce",
    "moe_output_reduced_once",
    "B167 B172 B175 B183",
    seq=lambda x, w: torch.relu(x @ w),
    dist=lambda rank, x, w: torch.relu(all_reduce(x @ w)),
    inputs=ROW,
    why="One reduction.",
    wrong={
        "again": (
            lambda rank, x, w: torch.relu(all_reduce(all_reduce(x @ w))),
            "The layer reduces, and so does its caller.",
            "redundant-all-reduce",
        )
    },
)

bug(
    "redundant-allreduce",
    "shared_expert_once",
    "B173",
    seq=lambda x, w, y: x @ w + torch.tanh(y),
    dist=lambda rank, x, w, y: all_reduce(x @ w) + torch.tanh(y),
    inputs={**ROW, "y": Tensor((5, 4))},
    why="The replicated expert's output is added after the sum.",
    wrong={
        "before_the_sum": (
            lambda rank, x, w, y: all_reduce(x @ w + torch.tanh(y)),
            "The replicated output is counted once a rank.",
            "redundant-all-reduce bias-double-count",
        )
    },
)


def cross_entropy(logits, labels, normaliser):
    picked = torch.gather(logits, 1, labels.unsqueeze(-1)).squeeze(-1)
    return (torch.log(normaliser) - picked).mean()


bug(
    "redundant-allreduce",
    "cross_entropy_of_gathered_logits",
    "B006",
    seq=lambda x, w, labels: cross_entropy(x @ w, labels, torch.exp(x @ w).sum(-1)),
    dist=lambda rank, x, w, labels: cross_entropy(
        all_gather(x @ w, 2, dim=1), labels, torch.exp(all_gather(x @ w, 2, dim=1)).sum(-1)
    ),
    inputs={"x": Tensor((5, 3)), "w": Tensor((3, 8), "Shard(1)@tp"), "labels": Tensor((5,), dtype=I64, high=8)},
    outputs={"loss": {"role": "loss"}},
    manifest={"facts": ["labels in [0, 8)"]},
    why="Gathered logits need no reduction.",
    wrong={
        "reduced_as_if_cut": (
            lambda rank, x, w, labels: cross_entropy(
                all_gather(x @ w, 2, dim=1), labels, all_reduce(torch.exp(all_gather(x @ w, 2, dim=1)).sum(-1))
            ),
            "The vocabulary-parallel loss takes the whole logits for a shard: the loss is too large by log 2.",
            "redundant-all-reduce",
        )
    },
)

# --- bias-double-count
LINEAR = {**ROW, "b": Tensor((4,))}
bias = bug(
    "bias-double-count",
    "row_parallel_bias",
    "B071 B097 B098",
    seq=lambda x, w, b: x @ w + b,
    dist=lambda rank, x, w, b: all_reduce(x @ w) + b,
    inputs=LINEAR,
    why="The bias is added after the sum.",
    wrong={
        "before_the_sum": (
            lambda rank, x, w, b: all_reduce(x @ w + b),
            "Every rank adds the bias, and the sum holds it twice.",
            "bias-double-count",
        )
    },
)
bug(
    "bias-double-count",
    "row_parallel_bias_on_one_rank",
    "B095 B096",
    seq=lambda x, w, b: x @ w + b,
    dist=lambda rank, x, w, b: all_reduce(x @ w + b if rank == 0 else x @ w),
    inputs=LINEAR,
    why="Two reports took this for a mistake: the bias is added on rank 0 only, and then the ranks are summed, which is right.",
    wrong={},
)
bug(
    "bias-double-count",
    "residual_after_reduce",
    "B184",
    seq=lambda x, w, r: F.silu(x @ w) * 2 + r,
    dist=lambda rank, x, w, r: F.silu(all_reduce(x @ w)) * 2 + r,
    inputs={**ROW, "r": Tensor((5, 4))},
    why="The residual is replicated, and added once.",
    wrong={
        "on_each_rank": (
            lambda rank, x, w, r: all_reduce(F.silu(all_reduce(x @ w)) + r),
            "The fused kernel adds the residual before the all-reduce.",
            "bias-double-count",
        )
    },
)
bug(
    "bias-double-count",
    "scalar_plus_pending_sum",
    "B106",
    seq=lambda x: x.sum(0) + 10,
    dist=lambda rank, x: all_reduce(x.sum(0)) + 10,
    inputs={"x": Tensor((8, 3), "Shard(0)@dp")},
    mesh={"dp": 2},
    why="The number is added to the sum.",
    wrong={
        "on_each_part": (
            lambda rank, x: all_reduce(x.sum(0) + 10),
            "Adding to a pending sum adds once a rank.",
            "bias-double-count",
        )
    },
)


# --- norm-over-shard, wrong-plan, stale-config
def rms(x, total=None, size=8):
    square = (x * x).sum(-1, keepdim=True)
    square = square if total is None else total(square)
    return x * torch.rsqrt(square / size + 1e-5)


HIDDEN = {"x": Tensor((5, 8), "Shard(1)@tp"), "w": Tensor((8,), "Shard(0)@tp")}
CUT = {"out": {"expect": "Shard(1)@tp"}}
bug(
    "norm-over-shard",
    "rms_norm_of_cut_hidden",
    "B054 B187 B192",
    seq=lambda x, w: rms(x) * w,
    dist=lambda rank, x, w: rms(x, all_reduce) * w,
    inputs=HIDDEN,
    outputs=CUT,
    why="The sum of squares is over the hidden size of all ranks.",
    wrong={
        "local": (lambda rank, x, w: rms(x, size=4) * w, "Each rank normalises its own part.", "norm-over-shard"),
        "local_count": (
            lambda rank, x, w: rms(x, all_reduce, size=4) * w,
            "The sum over all ranks is divided by the number of local elements.",
            "norm-over-shard wrong-scale redundant-all-reduce",
        ),
    },
)


def group_norm(x, total):
    mean = total(x.sum((1, 2), keepdim=True)) / 30
    return (x - mean) * torch.rsqrt(total(((x - mean) ** 2).sum((1, 2), keepdim=True)) / 30 + 1e-5)


def group_norm_renormalised(x):
    n = x.shape[1] * x.shape[2]
    mean = all_reduce(x.sum((1, 2), keepdim=True) / n, "avg")
    var = all_reduce(((x - mean) ** 2).sum((1, 2), keepdim=True) / n, "avg")
    return (x - mean) * torch.rsqrt(var + 1e-5)


bug(
    "norm-over-shard",
    "group_norm_of_uneven_rows",
    "B253",
    seq=lambda x: group_norm(x, lambda s: s),
    dist=lambda rank, x: group_norm(x, all_reduce),
    inputs={"x": Tensor((2, 5, 6), "Shard(1)@sp")},
    outputs={"out": {"expect": "Shard(1)@sp"}},
    mesh={"sp": 2},
    why="Sums over all rows, of which rank 0 has three and rank 1 two.",
    wrong={
        "mean_of_means": (
            lambda rank, x: group_norm_renormalised(x),
            "The ranks' means are averaged although they are of unequal numbers.",
            "norm-over-shard batchnorm-stats mean-over-shard",
        )
    },
)

bug(
    "wrong-plan",
    "query_norm_over_all_heads",
    "B144 B145",
    seq=lambda x, wq, w: rms(x @ wq) * w,
    dist=lambda rank, x, wq, w: rms(x @ wq, all_reduce) * w,
    inputs={"x": Tensor((5, 3)), "wq": Tensor((3, 8), "Shard(1)@tp"), "w": Tensor((8,), "Shard(0)@tp")},
    outputs=CUT,
    why="This model's query norm is over all heads, which the plan cuts: the sum of squares must be reduced.",
    wrong={
        "as_if_per_head": (
            lambda rank, x, wq, w: rms(x @ wq, size=4) * w,
            "The plan cuts a projection whose output is normalised as a whole.",
            "norm-over-shard wrong-plan",
        )
    },
)


def grouped_rms(x, size):
    return rms(x.unflatten(-1, (-1, size)), size=size).flatten(-2)


bug(
    "stale-config",
    "norm_group_size",
    "B191",
    seq=lambda x: grouped_rms(x, 4),
    dist=lambda rank, x: grouped_rms(x, 4),
    inputs={"x": Tensor((5, 16), "Shard(1)@tp")},
    outputs=CUT,
    why="Groups of four, two on each rank.",
    wrong={
        "local_size_by_all_groups": (
            lambda rank, x: grouped_rms(x, 2),
            "The group size is the local width divided by the number of groups of all ranks.",
            "stale-config norm-over-shard wrong-layout",
        )
    },
)


# --- batchnorm-stats, mean-over-shard
def batch_norm(x, count, total):
    mean = total(x.sum(0)) / count
    var = total((x * x).sum(0)) / count - mean * mean
    return (x - mean) * torch.rsqrt(var + 1e-5)


def batch_norm_mean_of_means(x):
    mean = all_reduce(x.sum(0) / x.shape[0], "avg")
    var = all_reduce((x * x).sum(0) / x.shape[0], "avg") - mean * mean
    return (x - mean) * torch.rsqrt(var + 1e-5)


bug(
    "batchnorm-stats",
    "sync_batch_norm_uneven",
    "B104 B129 B242",
    seq=lambda x: batch_norm(x, 5, lambda s: s),
    dist=lambda rank, x: batch_norm(x, 5, all_reduce),
    inputs={"x": Tensor((5, 3), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    why="Sums over the batch of all ranks, divided by its size.",
    wrong={
        "mean_of_means": (
            lambda rank, x: batch_norm_mean_of_means(x),
            "The last batch is uneven, and the ranks' means count alike.",
            "batchnorm-stats mean-over-shard",
        )
    },
)
bug(
    "mean-over-shard",
    "mean_of_uneven_rows",
    "B105",
    seq=lambda x: x.mean(0),
    dist=lambda rank, x: all_reduce(x.sum(0)) / 3,
    inputs={"x": Tensor((3, 4), "Shard(0)@dp")},
    mesh={"dp": 2},
    why="The sum over all rows by their number.",
    wrong={
        "avg_of_means": (
            lambda rank, x: all_reduce(x.mean(0), "avg"),
            "Rank 0 has two rows and rank 1 one: the average of their means is no mean.",
            "mean-over-shard batchnorm-stats",
        )
    },
)


# --- vocab-parallel-ce with label smoothing
def smooth(logits, labels, total, pick, size):
    log_z = torch.log(total(torch.exp(logits).sum(-1)))
    mean_log = total((logits - log_z.unsqueeze(-1)).sum(-1)) / size
    return (0.9 * (log_z - pick(logits, labels)) - 0.1 * mean_log).mean()


def pick_local(rank, logits, labels):
    outside = (labels < 4 * rank) | (labels >= 4 * rank + 4)
    local = torch.where(outside, torch.zeros_like(labels), labels - 4 * rank)
    return all_reduce(torch.where(outside, 0.0, torch.gather(logits, 1, local.unsqueeze(-1)).squeeze(-1)))


def smooth_local_mean(rank, logits, labels):
    log_z = torch.log(all_reduce(torch.exp(logits).sum(-1)))
    mean_log = (logits - log_z.unsqueeze(-1)).mean(-1)
    return (0.9 * (log_z - pick_local(rank, logits, labels)) - 0.1 * mean_log).mean()


bug(
    "vocab-parallel-ce",
    "label_smoothing",
    "B004",
    seq=lambda logits, labels: smooth(
        logits, labels, lambda s: s, lambda x, t: torch.gather(x, 1, t.unsqueeze(-1)).squeeze(-1), 8
    ),
    dist=lambda rank, logits, labels: smooth(logits, labels, all_reduce, lambda x, t: pick_local(rank, x, t), 8),
    inputs={"logits": Tensor((5, 8), "Shard(1)@tp"), "labels": Tensor((5,), dtype=I64, high=8)},
    outputs={"loss": {"role": "loss"}},
    manifest={"facts": ["labels in [0, 8)"]},
    why="The smoothed part is a mean over the whole vocabulary.",
    wrong={
        "local_mean": (
            lambda rank, logits, labels: smooth_local_mean(rank, logits, labels),
            "The mean is over this rank's columns.",
            "vocab-parallel-ce missing-all-reduce",
        )
    },
)

# --- wrong-reduce-op, dtensor-rule
bug(
    "dtensor-rule",
    "maximum_of_pending_sum",
    "B107 B108",
    seq=lambda x, w: (x @ w).amax(-1),
    dist=lambda rank, x, w: all_reduce(x @ w).amax(-1),
    inputs=ROW,
    why="The maximum is taken of the sum.",
    wrong={
        "sum_of_maxima": (
            lambda rank, x, w: all_reduce((x @ w).amax(-1)),
            "The maxima of the parts do not add up to it.",
            "dtensor-rule missing-all-reduce",
        )
    },
)
bug(
    "dtensor-rule",
    "contraction_cut_in_one_order",
    "B111",
    seq=lambda x, w: x @ w,
    dist=lambda rank, x, w: all_reduce(all_reduce(x @ w, "sum", "a"), "sum", "b"),
    inputs={"x": Tensor((5, 8), "Shard(1)@a, Shard(1)@b"), "w": Tensor((8, 4), "Shard(0)@a, Shard(0)@b")},
    mesh={"a": 2, "b": 2},
    why="Both operands' contraction is cut by a first.",
    wrong={
        "other_order": (
            lambda rank, x, w: all_reduce(
                all_reduce(
                    x @ all_gather(all_gather(w, 2, "b"), 2, "a")[2 * (rank % 2 * 2 + rank // 2) :][:2], "sum", "a"
                ),
                "sum",
                "b",
            ),
            "One operand's shards are numbered by b first: columns meet rows of another rank.",
            "",
        )
    },
)
bug(
    "dtensor-rule",
    "index_put_of_global_rows",
    "B112 B113",
    seq=lambda x, i, v: x.index_add(0, i, v),
    dist=lambda rank, x, i, v: all_gather(x, 2).index_add(0, i, v)[4 * rank : 4 * rank + 4],
    inputs={"x": Tensor((8, 3), "Shard(0)@tp"), "i": Tensor((2,), dtype=I64, high=4), "v": Tensor((2, 3))},
    outputs={"out": {"expect": "Shard(0)@tp"}},
    manifest={"facts": ["i in [0, 4)"]},
    why="The indices count rows of the whole tensor.",
    wrong={
        "on_each_shard": (
            lambda rank, x, i, v: x.index_add(0, i, v),
            "Every rank takes the global indices for its own rows.",
            "",
        )
    },
)
bug(
    "dtensor-rule",
    "norm_gradient_of_pending_sum",
    "B102",
    seq=lambda x, w, dy, v: norm_input_gradient(x, dy @ v),
    dist=lambda rank, x, w, dy, v: norm_input_gradient(x, all_reduce(dy @ v)),
    inputs={
        "x": Tensor((5, 4)),
        "w": Tensor((4,)),
        "dy": Tensor((5, 6), "Shard(1)@tp"),
        "v": Tensor((6, 4), "Shard(0)@tp"),
    },
    outputs={"dx": {"role": "gradient", "of": "x"}},
    why="The norm's backward gets the sum.",
    wrong={
        "left_pending": (
            lambda rank, x, w, dy, v: norm_input_gradient(x, dy @ v),
            "The rule lets the pending sum through and calls the result replicated.",
            "missing-backward-all-reduce missing-gradient-all-reduce",
        )
    },
)


def norm_input_gradient(x, dy):
    r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
    return r * dy - x * r**3 * (x * dy).mean(-1, keepdim=True)


# --- lora-tp
bug(
    "lora-tp",
    "lora_of_row_parallel",
    "B061 B157 B179",
    seq=lambda x, w, a, b: x @ w + 2 * (x @ a @ b),
    dist=lambda rank, x, w, a, b: all_reduce(x @ w + 2 * (x @ a @ b)),
    inputs={**ROW, "a": Tensor((8, 2), "Shard(0)@tp"), "b": Tensor((2, 4))},
    why="The adapter's first factor is cut like the weight; both parts are summed.",
    wrong={
        "adapter_not_reduced": (
            lambda rank, x, w, a, b: all_reduce(x @ w) + 2 * (x @ a @ b),
            "The adapter's product is added after the reduction, which it lacks.",
            "lora-tp missing-all-reduce",
        )
    },
)


# --- quant-scale
def scaled(x, w, reduce):
    amax = x.abs().amax()
    amax = all_reduce(amax, "max") if reduce else amax
    return torch.clamp(x * (448.0 / amax), -448.0, 448.0) @ w, 448.0 / amax


bug(
    "quant-scale",
    "amax_of_whole_tensor",
    "B140 B159",
    seq=lambda x, w: scaled(x, w, False),
    dist=lambda rank, x, w: scaled(x, w, True),
    inputs={"x": Tensor((6, 4), "Shard(0)@tp"), "w": Tensor((4, 3))},
    outputs={"out": {"expect": "Shard(0)@tp"}, "scale": {"expect": "Replicate"}},
    why="The scale of the whole tensor is that of its largest element on any rank.",
    wrong={
        "of_shard": (
            lambda rank, x, w: scaled(x, w, False),
            "Every rank scales by the largest element of its own rows.",
            "quant-scale missing-all-reduce",
        )
    },
)
bug(
    "quant-scale",
    "block_scales_cut_like_weight",
    "B170",
    seq=lambda x, w, s: x @ (w * s.repeat_interleave(2).unsqueeze(-1)),
    dist=lambda rank, x, w, s: all_reduce(x @ (w * s[2 * rank : 2 * rank + 2].repeat_interleave(2).unsqueeze(-1))),
    inputs={**ROW, "s": Tensor((4,))},
    why="Each rank takes the scales of its blocks.",
    wrong={
        "first_blocks": (
            lambda rank, x, w, s: all_reduce(x @ (w * s[:2].repeat_interleave(2).unsqueeze(-1))),
            "All ranks take the first scales.",
            "",
        )
    },
)


# --- cp-attention: keys and values cut by cp
def attention_backward(q, k, p_sum, dp):
    s = q @ k.t()
    p = torch.exp(s) / p_sum
    return p * dp


def query_gradient(q, k, do, v, whole):
    e = torch.exp(q @ k.t())
    p = e / whole(e.sum(-1, keepdim=True))
    dp = do @ v.t()
    ds = p * (dp - whole((p * dp).sum(-1, keepdim=True)))
    return whole(ds @ k)


def query_gradient_local_lse(q, k, do, v):
    e = torch.exp(q @ k.t())
    p = e / e.sum(-1, keepdim=True)
    dp = do @ v.t()
    return all_reduce(p * (dp - all_reduce((p * dp).sum(-1, keepdim=True))) @ k)


bug(
    "cp-attention",
    "attention_backward_over_blocks",
    "B035",
    seq=lambda q, k, v, do: query_gradient(q, k, do, v, lambda s: s),
    dist=lambda rank, q, k, v, do: query_gradient(q, k, do, v, all_reduce),
    inputs={
        "q": Tensor((4, 3)),
        "k": Tensor((6, 3), "Shard(0)@cp"),
        "v": Tensor((6, 3), "Shard(0)@cp"),
        "do": Tensor((4, 3)),
    },
    outputs={"dq": {"role": "gradient", "of": "q"}},
    mesh={"cp": 2},
    why="Each block of keys recomputes its probabilities with the normaliser of all.",
    wrong={
        "local_normaliser": (
            lambda rank, q, k, v, do: query_gradient_local_lse(q, k, do, v),
            "The probabilities are normalised over the rank's own block.",
            "cp-attention online-softmax lse-merge missing-all-reduce missing-backward-all-reduce missing-gradient-all-reduce",
        )
    },
)


# --- the same mask on both sides
def masked_attention(q, k, v, rows, window):
    cols = torch.arange(8)
    allowed = rows.unsqueeze(-1) >= cols
    if window:
        allowed = allowed & (rows.unsqueeze(-1) - cols < 3)
    return torch.softmax((q @ k.t()).masked_fill(~allowed, -math.inf), -1) @ v


def cp_attention(rank, q, k, v, window=True, offset=True):
    rows = torch.arange(4) + (4 * rank if offset else 0)
    return masked_attention(q, all_gather(k, 2), all_gather(v, 2), rows, window)


bug(
    "cp-attention-mask",
    "sliding_window_mask",
    "B149",
    seq=lambda q, k, v: masked_attention(q, k, v, torch.arange(8), True),
    dist=lambda rank, q, k, v: cp_attention(rank, q, k, v),
    inputs={n: Tensor((8, 3), "Shard(0)@cp") for n in "qkv"},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    why="The rank's rows, numbered in the whole sequence, see a window of three.",
    wrong={
        "plain_causal": (
            lambda rank, q, k, v: cp_attention(rank, q, k, v, window=False),
            "The mask is dropped, and the attention causal without a window.",
            "cp-attention-mask attention-mask",
        ),
        "rows_not_offset": (
            lambda rank, q, k, v: cp_attention(rank, q, k, v, offset=False),
            "Every rank masks as if its rows were the first.",
            "cp-attention-mask attention-mask position-offset",
        ),
    },
)

# --- wrong-layout: what is scattered is taken for replicated
bug(
    "wrong-layout",
    "scattered_residual_between_stages",
    "B154",
    seq=lambda x, w: torch.relu(x @ w),
    dist=lambda rank, x, w: torch.relu(all_gather(reduce_scatter(x @ w, 2), 2)),
    inputs={"x": Tensor((8, 4), "Shard(1)@tp"), "w": Tensor((4, 3), "Shard(0)@tp")},
    why="The residual is scattered by rows, and gathered whole.",
    wrong={
        "slice_then_gather": (
            lambda rank, x, w: torch.relu(
                all_gather(reduce_scatter(x @ w, 2)[2 * rank : 2 * rank + 2], 2).repeat_interleave(2, 0)
            ),
            "The sender sends a slice as if the tensor were the same on all ranks.",
            "",
        )
    },
)
