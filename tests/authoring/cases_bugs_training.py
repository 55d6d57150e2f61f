# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Public bug reports rebuilt: gradients, losses and optimizers. Each in the fewest operators that still show the mistake."""

import torch

from golden import Tensor, all_gather, all_reduce, bug, reduce_scatter

F = torch.nn.functional
I64 = torch.int64
GRAD_W = {"grad": {"role": "gradient", "of": "w"}}
LOSS = {"loss": {"role": "loss"}}
MISSING = "missing-gradient-all-reduce missing-backward-all-reduce"
DP_SP = {"dp": 2, "sp": 2}
DP_CP = {"dp": 2, "cp": 2}


# --- missing-grad-allreduce
def normalised(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def norm_gradient(x, dy):
    return (normalised(x) * dy).flatten(0, -2).sum(0)


bug(
    "missing-grad-allreduce",
    "norm_weight_gradient_sp",
    "B001 B047 B072",
    seq=lambda x, w, dy: norm_gradient(x, dy),
    dist=lambda rank, x, w, dy: all_reduce(norm_gradient(x, dy)),
    inputs={"x": Tensor((8, 6), "Shard(0)@tp"), "w": Tensor((6,)), "dy": Tensor((8, 6), "Shard(0)@tp")},
    outputs=GRAD_W,
    why="Under sequence parallelism each rank's norm sees its rows only; the weight's gradient is the sum over all rows.",
    wrong={
        "not_reduced": (
            lambda rank, x, w, dy: norm_gradient(x, dy),
            "The gradient of the replicated weight stays a partial sum.",
            MISSING,
        )
    },
)

bug(
    "missing-grad-allreduce",
    "qk_norm_gradient_heads",
    "B013 B059",
    seq=lambda q, w, dy: norm_gradient(q, dy),
    dist=lambda rank, q, w, dy: all_reduce(norm_gradient(q, dy)),
    inputs={"q": Tensor((5, 4, 6), "Shard(1)@tp"), "w": Tensor((6,)), "dy": Tensor((5, 4, 6), "Shard(1)@tp")},
    outputs=GRAD_W,
    why="One weight of the size of a head serves the heads of all ranks.",
    wrong={
        "not_reduced": (lambda rank, q, w, dy: norm_gradient(q, dy), "Each rank sums over its heads alone.", MISSING)
    },
)


def router_gradient(x, w, dp):
    p = torch.softmax(x @ w, -1)
    return x.t() @ (p * (dp - (p * dp).sum(-1, keepdim=True)))


bug(
    "missing-grad-allreduce",
    "router_gradient_sp",
    "B002 B103 B143",
    seq=lambda x, w, dp: router_gradient(x, w, dp),
    dist=lambda rank, x, w, dp: all_reduce(router_gradient(x, w, dp)),
    inputs={"x": Tensor((8, 4), "Shard(0)@tp"), "w": Tensor((4, 3)), "dp": Tensor((8, 3), "Shard(0)@tp")},
    outputs=GRAD_W,
    why="The router is replicated and each rank routes its part of the sequence.",
    wrong={
        "not_reduced": (
            lambda rank, x, w, dp: router_gradient(x, w, dp),
            "The router is no tensor-parallel layer, so nothing reduces its gradient.",
            MISSING,
        )
    },
)

bug(
    "missing-grad-allreduce",
    "column_parallel_input_gradient",
    "B101 B118 B232 B240",
    seq=lambda x, w, dy: dy @ w.t() * torch.cos(x),
    dist=lambda rank, x, w, dy: all_reduce(dy @ w.t()) * torch.cos(x),
    inputs={"x": Tensor((5, 4)), "w": Tensor((4, 6), "Shard(1)@tp"), "dy": Tensor((5, 6), "Shard(1)@tp")},
    outputs={"grad": {"role": "gradient", "of": "x"}},
    why="The input's gradient sums over the columns of all ranks.",
    wrong={
        "not_reduced": (lambda rank, x, w, dy: dy @ w.t() * torch.cos(x), "The collective has no backward.", MISSING)
    },
)


def key_gradient(x, w, q, ds, reduce):
    dk = torch.einsum("hst,hsd->td", ds, q)
    return x.t() @ (all_reduce(dk) if reduce else dk)


bug(
    "missing-grad-allreduce",
    "multi_query_key_gradient",
    "B043 B066 B068",
    seq=lambda x, w, q, ds: key_gradient(x, w, q, ds, False),
    dist=lambda rank, x, w, q, ds: key_gradient(x, w, q, ds, True),
    inputs={
        "x": Tensor((5, 6)),
        "w": Tensor((6, 3)),
        "q": Tensor((4, 5, 3), "Shard(0)@tp"),
        "ds": Tensor((4, 5, 5), "Shard(0)@tp"),
    },
    outputs=GRAD_W,
    why="The one key head is replicated and read by the query heads of all ranks.",
    wrong={
        "not_reduced": (
            lambda rank, x, w, q, ds: key_gradient(x, w, q, ds, False),
            "The key's gradient lacks the query heads of the other rank.",
            MISSING,
        )
    },
)

# --- redundant-allreduce
bug(
    "redundant-allreduce",
    "gather_gradient_of_replicated",
    "B015 B100 B119",
    seq=lambda x, dy: dy * torch.cos(x),
    dist=lambda rank, x, dy: dy[4 * rank : 4 * rank + 4] * torch.cos(x),
    inputs={"x": Tensor((8, 3), "Shard(0)@tp"), "dy": Tensor((8, 3))},
    outputs={"grad": {"role": "gradient", "of": "x"}},
    why="What reads the gathered sequence is replicated, so the gradient is, too: each rank takes its rows.",
    wrong={
        "scattered_sum": (
            lambda rank, x, dy: reduce_scatter(dy, 2) * torch.cos(x),
            "The gather's backward sums the equal gradients of both ranks.",
            "redundant-all-reduce",
        )
    },
)

bug(
    "redundant-allreduce",
    "norm_gradient_summed_twice",
    "B034 B205",
    seq=lambda x, w, dy: norm_gradient(x, dy),
    dist=lambda rank, x, w, dy: all_reduce(norm_gradient(x, dy)),
    inputs={"x": Tensor((8, 6), "Shard(0)@tp"), "w": Tensor((6,)), "dy": Tensor((8, 6), "Shard(0)@tp")},
    outputs=GRAD_W,
    why="One sum over the ranks.",
    wrong={
        "again": (
            lambda rank, x, w, dy: all_reduce(all_reduce(norm_gradient(x, dy))),
            "The layer reduced it already, and the finalisation of the gradients does so again.",
            "redundant-all-reduce",
        )
    },
)


# --- wrong-reduce-op
bug(
    "wrong-reduce-op",
    "norm_gradient_averaged",
    "B073",
    seq=lambda x, w, dy: norm_gradient(x, dy),
    dist=lambda rank, x, w, dy: all_reduce(norm_gradient(x, dy)),
    inputs={"x": Tensor((8, 6), "Shard(0)@tp"), "w": Tensor((6,)), "dy": Tensor((8, 6), "Shard(0)@tp")},
    outputs=GRAD_W,
    why="The ranks hold parts of the sequence, so their gradients add up.",
    wrong={
        "avg": (
            lambda rank, x, w, dy: all_reduce(norm_gradient(x, dy), "avg"),
            "The hook averages as if the ranks were data-parallel.",
            "wrong-reduce-op dp-average-scale wrong-scale",
        )
    },
)


# --- dp-average-scale: the mean over the batch (dp) of sums over the sequence (sp)
def weight_gradient(x, dy):
    return torch.einsum("bsi,bso->io", x, dy)


bug(
    "dp-average-scale",
    "gradient_average_with_sequence_parallel",
    "B079 B080 B123",
    seq=lambda x, w, dy: weight_gradient(x, dy) / 4,
    dist=lambda rank, x, w, dy: all_reduce(all_reduce(weight_gradient(x, dy) / 2, "sum", "sp"), "avg", "dp"),
    inputs={
        "x": Tensor((4, 6, 3), "Shard(0)@dp, Shard(1)@sp"),
        "w": Tensor((3, 2)),
        "dy": Tensor((4, 6, 2), "Shard(0)@dp, Shard(1)@sp"),
    },
    outputs=GRAD_W,
    mesh=DP_SP,
    why="The loss is a mean over the batch and a sum over the sequence.",
    wrong={
        "averaged_over_both": (
            lambda rank, x, w, dy: all_reduce(all_reduce(weight_gradient(x, dy) / 2, "avg", "sp"), "avg", "dp"),
            "Divided by the number of all ranks instead of the data-parallel ones.",
            "dp-average-scale",
        ),
        "not_divided": (
            lambda rank, x, w, dy: all_reduce(all_reduce(weight_gradient(x, dy) / 2, "sum", "sp"), "sum", "dp"),
            "Nothing divides any more.",
            "dp-average-scale redundant-all-reduce",
        ),
    },
)

bug(
    "dp-average-scale",
    "expert_gradient_scale",
    "B083 B094 B120 B122",
    seq=lambda x, w, dy: torch.bmm(x.transpose(1, 2), dy) / 8,
    dist=lambda rank, x, w, dy: torch.bmm(x.transpose(1, 2), dy) / 8,
    inputs={
        "x": Tensor((2, 8, 3), "Shard(0)@ep"),
        "w": Tensor((2, 3, 3), "Shard(0)@ep"),
        "dy": Tensor((2, 8, 3), "Shard(0)@ep"),
    },
    outputs=GRAD_W,
    mesh={"ep": 2},
    why="An expert sees the tokens of all ranks, and the loss is their mean.",
    wrong={
        "mean_over_own_batch": (
            lambda rank, x, w, dy: torch.bmm(x.transpose(1, 2), dy) / 4,
            "The gradient of experts is not divided by the number of data-parallel ranks.",
            "dp-average-scale redundant-all-reduce wrong-scale",
        ),
        "divided_twice": (
            lambda rank, x, w, dy: torch.bmm(x.transpose(1, 2), dy) / 16,
            "The gradient was divided already.",
            "dp-average-scale wrong-scale",
        ),
    },
)


# --- losses over unequal numbers of tokens
def masked_mean(loss, mask):
    return (loss * mask).sum() / mask.sum()


TOKENS = {"x": Tensor((8, 3), "Shard(0)@cp"), "mask": Tensor((8,), "Shard(0)@cp")}

bug(
    "cp-loss-reduction",
    "token_mean_over_context_ranks",
    "B020 B021 B220 B229",
    seq=lambda x, mask: masked_mean(torch.exp(x).sum(-1), mask),
    dist=lambda rank, x, mask: all_reduce((torch.exp(x).sum(-1) * mask).sum()) / all_reduce(mask.sum()),
    inputs=TOKENS,
    outputs=LOSS,
    mesh={"cp": 2},
    why="Both sums are over all ranks.",
    wrong={
        "mean_of_means": (
            lambda rank, x, mask: all_reduce(masked_mean(torch.exp(x).sum(-1), mask), "avg"),
            "Each rank divides by its own number of tokens.",
            "cp-loss-reduction",
        ),
        "times_cp": (
            lambda rank, x, mask: 2 * (all_reduce((torch.exp(x).sum(-1) * mask).sum()) / all_reduce(mask.sum())),
            "Scaled by the number of context ranks after it was reduced over them.",
            "cp-loss-reduction redundant-all-reduce wrong-scale",
        ),
    },
)

bug(
    "cp-loss-reduction",
    "tokens_counted_once_per_sequence_rank",
    "B217 B226 B231",
    seq=lambda x, mask: (torch.exp(x).sum(-1) * mask).sum() / mask.sum(),
    dist=lambda rank, x, mask: (
        all_reduce((torch.exp(x).sum(-1) * mask[4 * rank : 4 * rank + 4]).sum())
        / all_reduce(mask[4 * rank : 4 * rank + 4].sum())
    ),
    inputs={"x": Tensor((8, 3), "Shard(0)@sp"), "mask": Tensor((8,))},
    outputs=LOSS,
    mesh={"sp": 2},
    why="Each rank counts its own tokens.",
    wrong={
        "counted_by_all": (
            lambda rank, x, mask: (
                all_reduce((torch.exp(x).sum(-1) * mask[4 * rank : 4 * rank + 4]).sum()) / all_reduce(mask.sum())
            ),
            "Every rank counts all tokens, and the counts are added.",
            "cp-loss-reduction dp-average-scale wrong-scale redundant-all-reduce",
        )
    },
)

bug(
    "wrong-scale",
    "token_loss_gradient_by_local_count",
    "B007 B028 B136",
    seq=lambda x, w, mask: x.t() @ mask / mask.sum(),
    dist=lambda rank, x, w, mask: all_reduce(x.t() @ mask) / all_reduce(mask.sum()),
    inputs={"x": Tensor((8, 3), "Shard(0)@dp"), "w": Tensor((3,)), "mask": Tensor((8,), "Shard(0)@dp")},
    outputs=GRAD_W,
    mesh={"dp": 2},
    why="The gradient of a mean over all valid tokens.",
    wrong={
        "local_count": (
            lambda rank, x, w, mask: all_reduce(x.t() @ mask / mask.sum(), "avg"),
            "Every rank divides by its own number of valid tokens.",
            "wrong-scale cp-loss-reduction",
        ),
        "not_divided": (
            lambda rank, x, w, mask: all_reduce(x.t() @ mask),
            "The loss that is differentiated is the sum; only the one that is shown is divided.",
            "wrong-scale",
        ),
    },
)

bug(
    "wrong-group",
    "token_count_group",
    "B224 B252",
    seq=lambda x, mask: (x * mask).sum() / mask.sum(),
    dist=lambda rank, x, mask: (
        all_reduce(all_reduce((x * mask).sum(), "sum", "dp"), "sum", "cp")
        / all_reduce(all_reduce(mask.sum(), "sum", "dp"), "sum", "cp")
    ),
    inputs={"x": Tensor((4, 8), "Shard(0)@dp, Shard(1)@cp"), "mask": Tensor((4, 8), "Shard(0)@dp, Shard(1)@cp")},
    outputs=LOSS,
    mesh=DP_CP,
    why="Numerator and denominator are sums over both axes.",
    wrong={
        "count_over_dp": (
            lambda rank, x, mask: (
                all_reduce(all_reduce((x * mask).sum(), "sum", "dp"), "sum", "cp") / all_reduce(mask.sum(), "sum", "dp")
            ),
            "The mask is cut by cp, too.",
            "wrong-group missing-all-reduce",
        )
    },
)

# --- grad-accumulation
MICRO = {"x": Tensor((8, 3), "Shard(0)@dp"), "w": Tensor((3,)), "mask": Tensor((8,), "Shard(0)@dp")}


def halves(x, mask):
    return [(a.t() @ m, m.sum()) for a, m in zip(x.chunk(2), mask.chunk(2), strict=True)]


def accumulate_right(rank, x, w, mask):
    (g1, n1), (g2, n2) = halves(x, mask)
    return all_reduce(g1 + g2) / all_reduce(n1 + n2)


def accumulate_means(rank, x, w, mask):
    (g1, n1), (g2, n2) = halves(x, mask)
    return all_reduce((g1 / n1 + g2 / n2) / 2, "avg")


bug(
    "grad-accumulation",
    "accumulated_token_loss",
    "B026 B147 B228",
    seq=lambda x, w, mask: x.t() @ mask / mask.sum(),
    dist=accumulate_right,
    inputs=MICRO,
    outputs=GRAD_W,
    mesh={"dp": 2},
    why="Sums over microbatches and ranks, divided by the number of all tokens once.",
    wrong={
        "mean_of_means": (
            accumulate_means,
            "Each microbatch divides by its own number of tokens.",
            "grad-accumulation wrong-scale cp-loss-reduction",
        )
    },
)


def steps(x, dy):
    return [a.t() @ d / 4 for a, d in zip(x.chunk(2), dy.chunk(2), strict=True)]


bug(
    "grad-accumulation",
    "accumulated_mean_loss",
    "B125 B135 B148",
    seq=lambda x, w, dy: x.t() @ dy / 8,
    dist=lambda rank, x, w, dy: sum(g / 2 for g in steps(x, dy)),
    inputs={"x": Tensor((8, 3)), "w": Tensor((3, 2)), "dy": Tensor((8, 2))},
    outputs=GRAD_W,
    mesh={"pp": 1},
    why="Two microbatches of equal size: the mean is half the sum of their means.",
    wrong={
        "not_divided": (
            lambda rank, x, w, dy: sum(steps(x, dy)),
            "The loss of a microbatch is not divided by their number.",
            "grad-accumulation wrong-scale",
        ),
        "divided_at_each_step": (
            lambda rank, x, w, dy: (steps(x, dy)[0] / 2 + steps(x, dy)[1]) / 2,
            "What was accumulated is divided again at each step: an exponential average.",
            "grad-accumulation",
        ),
        "last_only": (
            lambda rank, x, w, dy: steps(x, dy)[1] / 2,
            "The gradient of the last microbatch overwrites the others.",
            "grad-accumulation missing-accumulate",
        ),
    },
)


# --- aux-loss-scale: a load-balancing loss of experts, its gradient added to the main one
def aux_gradient(x, tokens):
    return x.t() @ torch.sigmoid(x.sum(-1)) * (0.01 / tokens)


bug(
    "aux-loss-scale",
    "router_aux_loss_scale",
    "B012 B024 B025 B040",
    seq=lambda x, w: aux_gradient(x, 8),
    dist=lambda rank, x, w: all_reduce(aux_gradient(x, 8)),
    inputs={"x": Tensor((8, 3), "Shard(0)@tp"), "w": Tensor((3,))},
    outputs=GRAD_W,
    why="The auxiliary loss is a mean over the tokens of all ranks.",
    wrong={
        "local_tokens": (
            lambda rank, x, w: all_reduce(aux_gradient(x, 4)),
            "Scaled by the number of this rank's tokens.",
            "aux-loss-scale wrong-scale redundant-all-reduce dp-average-scale",
        ),
        "averaged_again": (
            lambda rank, x, w: all_reduce(aux_gradient(x, 8), "avg"),
            "Divided by the number of all tokens, and averaged over the ranks, too.",
            "aux-loss-scale dp-average-scale",
        ),
    },
)


# --- tied-embedding: the first stage reads the table for tokens, the last one for logits
def lookup_gradient(tokens, dx):
    return torch.zeros(6, 3).index_add(0, tokens, dx)


def tied(rank, w, a, b, reduce=True):
    grad = lookup_gradient(a, b) if rank == 0 else a.t() @ b
    return all_reduce(grad) if reduce else grad


bug(
    "tied-embedding",
    "tied_embedding_gradient",
    "B018 B042 B056 B241",
    seq=lambda w, tokens, dx, dlogits, h: lookup_gradient(tokens, dx) + dlogits.t() @ h,
    dist=tied,
    inputs={
        "w": Tensor((6, 3)),
        "tokens": Tensor((5,), "On(0)@pp", dtype=I64, high=6),
        "dx": Tensor((5, 3), "On(0)@pp"),
        "dlogits": Tensor((5, 6), "On(1)@pp"),
        "h": Tensor((5, 3), "On(1)@pp"),
    },
    outputs=GRAD_W,
    mesh={"pp": 2},
    manifest={"facts": ["tokens in [0, 6)"]},
    why="The table is one parameter with a copy on the first and the last stage.",
    wrong={
        "not_reduced": (
            lambda rank, w, a, b: tied(rank, w, a, b, False),
            "Each stage keeps its own part of the gradient, and the copies drift apart.",
            "tied-embedding " + MISSING,
        )
    },
)


def tied_dp(rank, w, a, b, first=True):
    grad = lookup_gradient(a, b) if rank < 2 else a.t() @ b
    if first or rank >= 2:
        grad = all_reduce(grad, "avg", "dp")
    return all_reduce(grad, "sum", "pp")


bug(
    "tied-embedding",
    "tied_embedding_reduced_over_data",
    "B017",
    seq=lambda w, tokens, dx, dlogits, h: (lookup_gradient(tokens, dx) + dlogits.t() @ h) / 2,
    dist=tied_dp,
    inputs={
        "w": Tensor((6, 3)),
        "tokens": Tensor((6,), "On(0)@pp, Shard(0)@dp", dtype=I64, high=6),
        "dx": Tensor((6, 3), "On(0)@pp, Shard(0)@dp"),
        "dlogits": Tensor((6, 6), "On(1)@pp, Shard(0)@dp"),
        "h": Tensor((6, 3), "On(1)@pp, Shard(0)@dp"),
    },
    outputs=GRAD_W,
    mesh={"pp": 2, "dp": 2},
    manifest={"facts": ["tokens in [0, 6)"]},
    why="Averaged over data-parallel ranks, then added over the two stages.",
    wrong={
        "one_stage_unreduced": (
            lambda rank, w, a, b: tied_dp(rank, w, a, b, False),
            "The stages' sum adds a gradient that is reduced over data-parallel ranks to one that is not.",
            "",
        )
    },
)


# --- grad-clip-norm: w is cut by tp, b is replicated
def clip(square, *grads):
    scale = torch.clamp(1.0 / (torch.sqrt(square) + 1e-6), max=1.0)
    return tuple(g * scale for g in grads)


def clipped(rank, w, b, gw, gb, count_twice=False):
    if count_twice:
        return clip(all_reduce((gw * gw).sum() + (gb * gb).sum()), gw, gb)
    return clip(all_reduce((gw * gw).sum()) + (gb * gb).sum(), gw, gb)


bug(
    "grad-clip-norm",
    "clip_replicated_parameters",
    "B029 B055 B060 B237",
    seq=lambda w, b, gw, gb: clip((gw * gw).sum() + (gb * gb).sum(), gw, gb),
    dist=clipped,
    inputs={
        "w": Tensor((4, 6), "Shard(1)@tp"),
        "b": Tensor((4,)),
        "gw": Tensor((4, 6), "Shard(1)@tp"),
        "gb": Tensor((4,)),
    },
    outputs={"dw": {"role": "gradient", "of": "w"}, "db": {"role": "gradient", "of": "b"}},
    why="What is cut is summed over the ranks, what is replicated is counted once.",
    wrong={
        "counted_by_each_rank": (
            lambda rank, *xs: clipped(rank, *xs, count_twice=True),
            "The replicated parameter is counted once a rank: the norm is too large.",
            "grad-clip-norm bias-double-count",
        ),
        "own_part": (
            lambda rank, w, b, gw, gb: clip((gw * gw).sum() + (gb * gb).sum(), gw, gb),
            "Each rank clips by the norm of what it has.",
            "grad-clip-norm missing-all-reduce missing-backward-all-reduce",
        ),
    },
)


def clip_stage(rank, w0, g0, over_all=True):
    square = (g0 * g0).sum()
    return clip(all_reduce(square) if over_all else square, g0)[0]


bug(
    "grad-clip-norm",
    "clip_over_stages",
    "B031 B092 B235 B236",
    seq=lambda w0, w1, g0, g1: clip((g0 * g0).sum() + (g1 * g1).sum(), g0, g1),
    dist=clip_stage,
    inputs={
        "w0": Tensor((4, 3), "On(0)@pp"),
        "w1": Tensor((4, 3), "On(1)@pp"),
        "g0": Tensor((4, 3), "On(0)@pp"),
        "g1": Tensor((4, 3), "On(1)@pp"),
    },
    outputs={
        "d0": {"role": "gradient", "of": "w0", "dist": ["d", None]},
        "d1": {"role": "gradient", "of": "w1", "dist": [None, "d"]},
    },
    mesh={"pp": 2},
    why="The norm is that of the gradients of all stages.",
    wrong={
        "each_stage": (
            lambda rank, w, g: clip_stage(rank, w, g, False),
            "Every stage clips by its own norm.",
            "grad-clip-norm missing-all-reduce missing-backward-all-reduce",
        )
    },
)

bug(
    "grad-clip-norm",
    "norm_of_pending_sum",
    "B109",
    seq=lambda x, w: torch.linalg.vector_norm(x @ w),
    dist=lambda rank, x, w: torch.linalg.vector_norm(all_reduce(x @ w)),
    inputs={"x": Tensor((3, 4), "Shard(1)@tp"), "w": Tensor((4, 3), "Shard(0)@tp")},
    why="The norm is taken of the sum.",
    wrong={
        "sum_of_norms": (
            lambda rank, x, w: all_reduce(torch.linalg.vector_norm(x @ w)),
            "A norm is not linear: the norms of the parts do not add up to it.",
            "grad-clip-norm missing-all-reduce",
        )
    },
)


# --- optimizer-shard
def momentum_step(w, m, g):
    m = 0.9 * m + g
    return w - 0.1 * m, m


def zero_step(rank, w, m, g, part=None):
    part = rank if part is None else part
    new, m = momentum_step(w[4 * part : 4 * part + 4], m, reduce_scatter(g, 2, "avg"))
    return all_gather(new, 2), m


bug(
    "optimizer-shard",
    "zero_partition_copy_back",
    "B033 B041 B084",
    seq=lambda w, m, g: momentum_step(w, m, g)[0],
    dist=lambda rank, w, m, g: zero_step(rank, w, m, g)[0],
    inputs={"w": Tensor((8,)), "m": Tensor((8,), "Shard(0)@dp"), "g": Tensor((8,), "Partial(avg)@dp")},
    outputs={"w_new": {"role": "updated", "of": "w"}},
    mesh={"dp": 2},
    why="Each rank updates its half of the flat parameter and they gather the halves.",
    wrong={
        "wrong_partition": (
            lambda rank, w, m, g: zero_step(rank, w, m, g, 0)[0],
            "Every rank takes partition 0: the second half of the parameter is lost.",
            "",
        ),
        "not_gathered": (
            lambda rank, w, m, g: torch.cat(
                [
                    momentum_step(w[4 * k : 4 * k + 4], m, reduce_scatter(g, 2, "avg"))[0]
                    if k == rank
                    else w[4 * k : 4 * k + 4]
                    for k in range(2)
                ]
            ),
            "The other half keeps its old value: only a part of the parameters is trained.",
            "",
        ),
    },
)


def trust(w, u, reduce):
    norm = lambda x: torch.sqrt(all_reduce((x * x).sum()) if reduce else (x * x).sum())  # noqa: E731
    return w - 0.1 * (norm(w) / norm(u)) * u


bug(
    "optimizer-shard",
    "trust_ratio_of_layer",
    "B093",
    seq=lambda w, u: trust(w, u, False),
    dist=lambda rank, w, u: trust(w, u, True),
    inputs={"w": Tensor((8,), "Shard(0)@dp"), "u": Tensor((8,), "Shard(0)@dp")},
    outputs={"w_new": {"role": "updated", "of": "w"}},
    mesh={"dp": 2},
    why="LAMB's trust ratio is one of norms of the whole layer.",
    wrong={
        "of_partition": (
            lambda rank, w, u: trust(w, u, False),
            "The ratio is taken of each partition.",
            "optimizer-shard missing-all-reduce",
        )
    },
)


def orthogonalise(g, reduce):
    gram = g @ g.t()
    gram = all_reduce(gram) if reduce else gram
    return 1.5 * g - 0.5 * (gram @ g)


bug(
    "optimizer-shard",
    "newton_schulz_of_shard",
    "B037 B038 B085",
    seq=lambda w, g: w - 0.1 * orthogonalise(g, False),
    dist=lambda rank, w, g: w - 0.1 * orthogonalise(g, True),
    inputs={"w": Tensor((3, 6), "Shard(1)@tp"), "g": Tensor((3, 6), "Shard(1)@tp")},
    outputs={"w_new": {"role": "updated", "of": "w"}},
    why="The Gram matrix sums over the columns of all ranks.",
    wrong={
        "local_gram": (
            lambda rank, w, g: w - 0.1 * orthogonalise(g, False),
            "Every rank orthogonalises its shard for itself.",
            "optimizer-shard missing-all-reduce",
        )
    },
)
