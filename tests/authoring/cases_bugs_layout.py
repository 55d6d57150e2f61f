# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Public bug reports rebuilt: offsets, orders and layouts; which part of a tensor a rank takes."""

import torch

from golden import Tensor, all_gather, all_reduce, all_to_all, bug, case, reduce_scatter

F = torch.nn.functional
I64 = torch.int64
SP = {"out": {"expect": "Shard(0)@tp"}}
CP = {"out": {"expect": "Shard(0)@cp"}}


# --- slice-offset-padding
def alibi(scores, first):
    slopes = 1.0 / (1.0 + torch.arange(first, first + scores.shape[0]))
    return torch.softmax(scores + slopes.reshape(-1, 1, 1) * torch.arange(scores.shape[2]), -1)


bug(
    "slice-offset-padding",
    "alibi_slopes_of_heads",
    "B069 B070",
    seq=lambda s: alibi(s, 0),
    dist=lambda rank, s: alibi(s, 2 * rank),
    inputs={"s": Tensor((4, 3, 3), "Shard(0)@tp")},
    outputs=SP,
    why="A rank's heads have the slopes of their places among all heads.",
    wrong={
        "local_heads": (
            lambda rank, s: alibi(s, 0),
            "Every rank takes the slopes of the first heads.",
            "slice-offset-padding position-offset",
        )
    },
)

bug(
    "slice-offset-padding",
    "uneven_rows_gathered",
    "B114 B115 B138",
    seq=lambda x: torch.tanh(x),
    dist=lambda rank, x: (lambda g: torch.tanh(torch.cat([g[:3], g[3:5]])))(
        all_gather(F.pad(x, (0, 0, 0, 3 - x.shape[0])), 2)
    ),
    inputs={"x": Tensor((5, 2), "Shard(0)@tp")},
    why="The shorter shard is padded for the gather, and the padding cut away.",
    wrong={
        "padding_kept": (
            lambda rank, x: torch.tanh(all_gather(F.pad(x, (0, 0, 3 - x.shape[0], 0)), 2)[:5]),
            "The padding lies in the middle, and the end is cut away.",
            "slice-offset-padding wrong-layout",
        )
    },
)

bug(
    "slice-offset-padding",
    "padded_vocabulary_maximum",
    "B040 B053 B185",
    seq=lambda x, w: (x @ w).amax(-1),
    dist=lambda rank, x, w: (x @ F.pad(w, (0, 2)))[:, :2].amax(-1),
    inputs={"x": Tensor((6, 3)), "w": Tensor((3, 2))},
    why="The padding's logits are left out.",
    wrong={
        "padding_counts": (
            lambda rank, x, w: (x @ F.pad(w, (0, 2))).amax(-1),
            "A padded column has logit 0, which wins where all others are negative.",
            "",
        )
    },
)


def rolled(labels):
    return torch.cat([labels[1:], labels[:1]])


bug(
    "slice-offset-padding",
    "labels_rolled_before_cut",
    "B227 B255",
    seq=lambda x, labels: x * rolled(labels),
    dist=lambda rank, x, labels: x * rolled(all_gather(labels, 2))[4 * rank : 4 * rank + 4],
    inputs={"x": Tensor((8,), "Shard(0)@cp"), "labels": Tensor((8,), "Shard(0)@cp")},
    outputs=CP,
    mesh={"cp": 2},
    why="The next token of a rank's last one is the first of the next rank.",
    wrong={
        "rolled_after": (
            lambda rank, x, labels: x * rolled(labels),
            "Rolled within the rank: the last token gets the rank's own first label.",
            "slice-offset-padding wrong-layout",
        )
    },
)

strided = {"shard": 0, "axis": "tp", "chunks": [[0, 1, 3], [2, 4, 5]]}
bug(
    "slice-offset-padding",
    "strided_shards_reassembled",
    "B063 B116 B186",
    seq=lambda x: torch.tanh(x),
    dist=lambda rank, x: (lambda g: torch.tanh(torch.cat([g[:2], g[3:4], g[2:3], g[4:]])))(all_gather(x, 2)),
    inputs={"x": Tensor((6, 2), strided)},
    why="The gathered chunks are put back into their order.",
    wrong={
        "contiguous": (
            lambda rank, x: torch.tanh(all_gather(x, 2)),
            "Concatenated as if the shards were contiguous.",
            "zigzag-order wrong-layout slice-offset-padding",
        )
    },
)

# --- wrong-group
bug(
    "wrong-group",
    "sequence_gather_group",
    "B008 B009 B164 B246",
    seq=lambda x, w: torch.cumsum(x @ w, 1),
    dist=lambda rank, x, w: torch.cumsum(all_gather(x @ w, 2, "tp", 1), 1),
    inputs={"x": Tensor((4, 4, 3), "Shard(0)@dp, Shard(1)@tp"), "w": Tensor((3, 2))},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2, "tp": 2},
    why="The sequence is gathered over the ranks that hold its parts.",
    wrong={
        "over_dp": (
            lambda rank, x, w: torch.cumsum(all_gather(x @ w, 2, "dp", 1), 1),
            "The other group of the same size: samples of two replicas are mixed.",
            "wrong-group",
        )
    },
)
bug(
    "wrong-group",
    "row_parallel_group",
    "B201",
    seq=lambda x, w: torch.relu(x @ w),
    dist=lambda rank, x, w: torch.relu(all_reduce(x @ w, "sum", "tp")),
    inputs={"x": Tensor((4, 8), "Shard(0)@dp, Shard(1)@tp"), "w": Tensor((8, 3), "Shard(0)@tp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2, "tp": 2},
    why="The partial sums are those of the tensor-parallel ranks.",
    wrong={
        "groups_of_one": (
            lambda rank, x, w: torch.relu(x @ w),
            "The groups have one rank each: nothing is reduced.",
            "wrong-group missing-all-reduce",
        ),
        "over_dp": (
            lambda rank, x, w: torch.relu(all_reduce(x @ w, "sum", "dp")),
            "Parts of different samples are added.",
            "wrong-group missing-all-reduce",
        ),
    },
)


# --- alltoall-layout: Ulysses, sequence cut -> heads cut and back. 2 samples, 8 positions, 4 heads, 3
def to_heads(x, right=True):
    b, s, h, d = x.shape
    out = all_to_all(x.reshape(b, s, 2, h // 2, d).permute(2, 0, 1, 3, 4).reshape(2 * b, s, h // 2, d), [b, b], [b, b])
    if not right:
        return out.reshape(b, 2 * s, h // 2, d)
    return out.reshape(2, b, s, h // 2, d).permute(1, 0, 2, 3, 4).reshape(b, 2 * s, h // 2, d)


bug(
    "alltoall-layout",
    "sequence_to_heads",
    "B075 B076 B077",
    seq=lambda x: torch.cumsum(x, 1),
    dist=lambda rank, x: torch.cumsum(to_heads(x), 1),
    inputs={"x": Tensor((2, 8, 4, 3), "Shard(1)@cp")},
    outputs={"out": {"expect": "Shard(2)@cp"}},
    mesh={"cp": 2},
    why="The received blocks are put one after the other along the sequence of each sample.",
    wrong={
        "no_permute": (
            lambda rank, x: torch.cumsum(to_heads(x, False), 1),
            "The buffer is reshaped without the permutation: right only for one sample.",
            "all-to-all-layout wrong-layout",
        )
    },
)


# --- wrong-gather-dim
def scores(q, k):
    return torch.einsum("bshd,bthd->bhst", q, k)


bug(
    "wrong-gather-dim",
    "keys_gathered_over_sequence",
    "B137",
    seq=lambda q, k: scores(q, k),
    dist=lambda rank, q, k: scores(q, all_gather(k, 2, dim=1)),
    inputs={"q": Tensor((2, 8, 4, 3), "Shard(1)@cp"), "k": Tensor((2, 8, 4, 3), "Shard(1)@cp")},
    outputs={"out": {"expect": "Shard(2)@cp"}},
    mesh={"cp": 2},
    why="The keys of the whole sequence.",
    wrong={
        "over_heads": (
            lambda rank, q, k: scores(q, all_gather(k, 2, dim=2).reshape(2, 8, 4, 3)),
            "Gathered along the dimension of heads, as before a transposition.",
            "wrong-gather-dim wrong-layout all-to-all-layout",
        )
    },
)


# --- rope-offset
def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def rope(rank, x, cos, sin, first=None):
    first = 4 * rank if first is None else first
    return rotate(x, cos[first : first + 4], sin[first : first + 4])


bug(
    "rope-offset",
    "rotary_positions_of_shard",
    "B052 B250",
    seq=lambda x, cos, sin: rotate(x, cos, sin),
    dist=rope,
    inputs={"x": Tensor((8, 4), "Shard(0)@cp"), "cos": Tensor((8, 2)), "sin": Tensor((8, 2))},
    outputs=CP,
    mesh={"cp": 2},
    why="A rank's rows of the tables start at its first position.",
    wrong={
        "from_zero": (
            lambda rank, x, cos, sin: rope(rank, x, cos, sin, 0),
            "Every rank takes the first rows of the tables.",
            "rope-offset position-offset slice-offset-padding",
        )
    },
)

# --- zigzag-order
zigzag = {"shard": 0, "axis": "cp", "order": "zigzag"}


def unzigzag(g):
    c = g.chunk(4)
    return torch.cat([c[0], c[2], c[3], c[1]])


bug(
    "zigzag-order",
    "zigzag_chunks_reassembled",
    "B130 B214",
    seq=lambda x: torch.cumsum(x, 0),
    dist=lambda rank, x: torch.cumsum(unzigzag(all_gather(x, 2)), 0),
    inputs={"x": Tensor((8, 3), zigzag)},
    mesh={"cp": 2},
    why="Rank 0 holds chunks 0 and 3, rank 1 holds 1 and 2.",
    wrong={
        "contiguous": (
            lambda rank, x: torch.cumsum(all_gather(x, 2), 0),
            "Concatenated as if the ranks held contiguous halves.",
            "zigzag-order wrong-layout",
        )
    },
)

# --- fused-layout: [gate | up] packed in one weight
PACKED = {"x": Tensor((5, 3)), "w": Tensor((3, 8), "Shard(1, blocks=2)@tp"), "v": Tensor((4, 2), "Shard(0)@tp")}


def gated(h, v):
    gate, up = h.chunk(2, -1)
    return (F.silu(gate) * up) @ v


bug(
    "fused-layout",
    "packed_gate_and_up",
    "B044 B058 B155",
    seq=lambda x, w, v: gated(x @ w, v),
    dist=lambda rank, x, w, v: all_reduce(gated(x @ w, v)),
    inputs=PACKED,
    why="Each rank holds its part of the gate and its part of the up projection.",
    wrong={},
)
case(
    "packed_gate_and_up__plain_cut",
    bug="fused-layout",
    reports=["B044", "B058", "B155"],
    seq=lambda x, w, v: gated(x @ w, v),
    dist=lambda rank, x, w, v: all_reduce(gated(x @ w, v)),
    inputs={**PACKED, "w": Tensor((3, 8), "Shard(1)@tp")},
    outputs={"out": {"expect": "Replicate"}},
    mesh={"tp": 2},
    verdict="REFUTED",
    why="The packed weight is cut as one matrix: rank 0 has all of the gate, rank 1 all of the up projection.",
)

# --- weight-loading
bug(
    "weight-loading",
    "checkpoint_narrowed_per_rank",
    "B165",
    seq=lambda x, w: torch.relu(x @ w),
    dist=lambda rank, x, w: torch.relu(x @ w[:, 4 * rank : 4 * rank + 4]),
    inputs={"x": Tensor((5, 3)), "w": Tensor((3, 8))},
    outputs={"out": {"expect": "Shard(1)@tp"}},
    why="Each rank narrows the whole weight to its own columns.",
    wrong={
        "first_shard": (
            lambda rank, x, w: torch.relu(x @ w[:, :4]),
            "All ranks narrow to the first shard.",
            "weight-loading wrong-layout slice-offset-padding wrong-shard",
        )
    },
)

# --- gqa-replication: 2 key heads, 4 query heads, tp 4
KV = {"q": Tensor((4, 5, 3), "Shard(0)@tp"), "k": Tensor((2, 5, 3))}
bug(
    "gqa-replication",
    "key_head_of_rank",
    "B178",
    seq=lambda q, k: q @ k.repeat_interleave(2, 0).transpose(1, 2),
    dist=lambda rank, q, k: q @ k[rank // 2 : rank // 2 + 1].transpose(1, 2),
    inputs=KV,
    outputs=SP,
    mesh={"tp": 4},
    why="Ranks 0 and 1 share key head 0, ranks 2 and 3 head 1.",
    wrong={
        "interleaved": (
            lambda rank, q, k: q @ k[rank % 2 : rank % 2 + 1].transpose(1, 2),
            "The offset is computed with a wrong number of heads.",
            "gqa-replication wrong-layout wrong-shard",
        )
    },
)

# --- mamba-tp: 6 heads, 2 to a group, 3 heads a rank
MAMBA = {"x": Tensor((6, 4), "Shard(0)@tp"), "b": Tensor((3, 4))}
bug(
    "mamba-tp",
    "state_group_of_head",
    "B160",
    seq=lambda x, b: x * b[torch.arange(6) // 2],
    dist=lambda rank, x, b: x * b[(torch.arange(3) + 3 * rank) // 2],
    inputs=MAMBA,
    outputs=SP,
    why="The group of a head is that of its number among all heads.",
    wrong={
        "local_ratio": (
            lambda rank, x, b: x * b[torch.arange(3) // 2 + rank],
            "The ratio of heads to groups is applied to the local number.",
            "",
        )
    },
)

# --- spmd-partitioner
bug(
    "spmd-partitioner",
    "cumulative_sum_carry",
    "B207 B208",
    seq=lambda x: torch.cumsum(x, 0),
    dist=lambda rank, x: torch.cumsum(x, 0) + all_gather(x.sum(0, keepdim=True), 2)[:rank].sum(0, keepdim=True),
    inputs={"x": Tensor((8, 3), "Shard(0)@cp")},
    outputs=CP,
    mesh={"cp": 2},
    why="A rank adds the totals of the ranks before it.",
    wrong={
        "no_carry": (
            lambda rank, x: torch.cumsum(x, 0),
            "Every rank starts from zero.",
            "spmd-partitioner",
        )
    },
)


def table_gradient(tokens, dx):
    return torch.zeros(8, 3).index_add(0, tokens, dx)


bug(
    "spmd-partitioner",
    "embedding_gradient_scattered",
    "B199 B200",
    seq=lambda w, tokens, dx: table_gradient(tokens, dx),
    dist=lambda rank, w, tokens, dx: reduce_scatter(table_gradient(tokens, dx), 2),
    inputs={
        "w": Tensor((8, 3), "Shard(0)@tp"),
        "tokens": Tensor((6,), "Shard(0)@tp", dtype=I64, high=8),
        "dx": Tensor((6, 3), "Shard(0)@tp"),
    },
    outputs={"grad": {"role": "gradient", "of": "w"}},
    manifest={"facts": ["tokens in [0, 8)"]},
    why="The gradients of all ranks' tokens are added, and each rank keeps its rows.",
    wrong={
        "slice_before_reduce": (
            lambda rank, w, tokens, dx: all_reduce(table_gradient(tokens, dx)[4 * rank : 4 * rank + 4]),
            "Each rank takes its rows first: row i of one shard is added to row i of the other.",
            "",
        )
    },
)
bug(
    "spmd-partitioner",
    "difference_of_shards",
    "B202",
    seq=lambda a, b, w: (a - b) @ w,
    dist=lambda rank, a, b, w: all_reduce((a - b) @ w),
    inputs={"a": Tensor((5, 4), "Shard(1)@tp"), "b": Tensor((5, 4), "Shard(1)@tp"), "w": Tensor((4, 3), "Shard(0)@tp")},
    why="The operands keep their order.",
    wrong={
        "swapped": (lambda rank, a, b, w: all_reduce((b - a) @ w), "The operands are swapped.", "wrong-scale"),
    },
)
bug(
    "spmd-partitioner",
    "slice_across_shards",
    "B197 B198",
    seq=lambda x: torch.relu(x[2:8]),
    dist=lambda rank, x: torch.relu(all_gather(x, 2)[2 + 3 * rank : 5 + 3 * rank]),
    inputs={"x": Tensor((8, 2), "Shard(0)@tp")},
    outputs=SP,
    why="A slice that does not start at a border of the shards is taken of the whole.",
    wrong={
        "clamped_twice": (
            lambda rank, x: torch.relu(all_gather(x, 2)[5:8]),
            "The start is moved by the shard and then clamped: both read from 5.",
            "wrong-layout spmd-partitioner slice-offset-padding",
        )
    },
)

# --- wrong-layout
bug(
    "wrong-layout",
    "norm_statistics_order",
    "B254",
    seq=lambda x: (x - x.mean(-1, keepdim=True)) * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1.0),
    dist=lambda rank, x: with_statistics(x, torch.stack([x.sum(-1), (x * x).sum(-1)])),
    inputs={"x": Tensor((5, 8), "Shard(1)@tp")},
    outputs={"out": {"expect": "Shard(1)@tp"}},
    why="The ranks send [E(x), E(x^2)], and that is how they are read.",
    wrong={
        "swapped": (
            lambda rank, x: with_statistics(x, torch.stack([(x * x).sum(-1), x.sum(-1)])),
            "The sender's order is not the reader's.",
            "",
        )
    },
)


def with_statistics(x, stats):
    mean, square = all_reduce(stats) / 8
    return (x - mean.unsqueeze(-1)) * torch.rsqrt(square.unsqueeze(-1) + 1.0)


bug(
    "wrong-layout",
    "sequence_first_output",
    "B195",
    seq=lambda x, w: (x @ w).transpose(0, 1),
    dist=lambda rank, x, w: all_reduce(x @ w).transpose(0, 1),
    inputs={"x": Tensor((4, 6, 4), "Shard(2)@tp"), "w": Tensor((4, 3), "Shard(0)@tp")},
    why="Batch and sequence are exchanged.",
    wrong={
        "reshaped": (
            lambda rank, x, w: all_reduce(x @ w).reshape(6, 4, 3),
            "Reshaped instead of transposed.",
            "wrong-layout",
        )
    },
)
