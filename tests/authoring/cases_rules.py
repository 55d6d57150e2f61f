# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The small print of the manifest, section 4: literals, casts, integers, indices, undefined values, ties, randomness, aliases, vacuity."""

import math

import torch

from golden import Tensor, all_gather, all_reduce, case, reduce_scatter, variant

F = torch.nn.functional
DP2 = {"dp": 2}
ROWS = {"out": {"expect": "Shard(0)@dp"}}
X = {"x": Tensor((4, 3), "Shard(0)@dp")}


def local(f):
    """The same function on every rank's rows."""
    return lambda rank, *args: f(*args)


# --- literals
literal = case(
    "literal_fraction",
    seq=lambda x: x / 24,
    dist=local(lambda x: x * (1 / 24)),
    inputs=X,
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="0.041666666666666664 is the double next to 1/24, and no other fraction with so small a denominator is near.",
)
variant(literal, "rounded", dist=local(lambda x: x * 0.05), why="0.05 is not 1/24, by far more than its rounding.")
case(
    "literal_root",
    seq=lambda x: x / math.sqrt(12),
    dist=local(lambda x: x * (1 / math.sqrt(12))),
    inputs=X,
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="3.4641016151377544 reads as sqrt(12), 0.2886751345948129 as its inverse.",
)

# --- casts
casts = case(
    "float_casts",
    seq=lambda x: x * 2,
    dist=local(lambda x: x.to(torch.bfloat16).to(torch.float32) * 2),
    inputs=X,
    outputs=ROWS,
    mesh=DP2,
    numeric=False,
    verdict="PROVED",
    contains=["cast"],
    why="Casts between floats are read as exact; the report says so.",
)
variant(
    casts,
    "through_integer",
    dist=local(lambda x: x.to(torch.int32).to(torch.float32) * 2),
    numeric=True,
    why="A cast to an integer truncates.",
)
case(
    "integer_to_float",
    seq=lambda n: n.to(torch.float32) * 0.5,
    dist=local(lambda n: (n.to(torch.float64) * 0.5).to(torch.float32)),
    inputs={"n": Tensor((4,), "Shard(0)@dp", torch.int32)},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="Integers become floats exactly.",
)
case(
    "to_bool",
    seq=lambda x: x.to(torch.bool),
    dist=local(lambda x: x != 0),
    inputs=X,
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="A cast to bool is a test against 0.",
)

# --- integer widths
wrap = case(
    "integer_wraps",
    seq=lambda n: (n + 200).to(torch.int64),
    dist=local(lambda n: n.to(torch.int64) + 200),
    inputs={"n": Tensor((4,), "Shard(0)@dp", torch.uint8, 0, 256)},
    outputs=ROWS,
    mesh=DP2,
    verdict="REFUTED",
    accept=["UNKNOWN"],
    why="From 56 on the sum in eight bits wraps.",
)
variant(
    wrap,
    "in_range",
    verdict="PROVED",
    inputs={"n": Tensor((4,), "Shard(0)@dp", torch.uint8, 0, 50)},
    manifest={"facts": ["n in [0, 50)"]},
    why="The fact keeps the sum below 256.",
)
division = case(
    "floor_division",
    seq=lambda n: torch.div(n, 4, rounding_mode="floor") * 4 + torch.remainder(n, 4),
    dist=local(lambda n: n + 0),
    inputs={"n": Tensor((4,), "Shard(0)@dp", torch.int64, -50, 50)},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    accept=["UNKNOWN"],
    why="Quotient and remainder of floor division add up.",
)
variant(
    division,
    "truncated",
    seq=lambda n: n + 0,
    dist=local(lambda n: torch.div(n, 4, rounding_mode="trunc") * 4 + torch.remainder(n, 4)),
    why="The quotient rounds to zero and the remainder to minus infinity: negative numbers differ.",
)

# --- indices
index = case(
    "negative_index",
    seq=lambda x, i: x[i],
    dist=lambda rank, x, i: x[i + 4],
    inputs={"x": Tensor((4, 3)), "i": Tensor((2,), dtype=torch.int64, low=-4, high=0)},
    outputs={"out": {"expect": "Replicate"}},
    mesh=DP2,
    manifest={"facts": ["i in [-4, 0)"]},
    verdict="PROVED",
    accept=["UNKNOWN"],
    why="Indices from -n to -1 count from the end.",
)
variant(
    index,
    "off_by_one",
    dist=lambda rank, x, i: x[i + 3],
    why="One row too early (and the last one for i = -4).",
    numeric=True,
)
scatter = case(
    "scatter_add_columns",
    seq=lambda x, i, u: x.index_add(0, i, u),
    dist=local(lambda x, i, u: x.index_add(0, i, u)),
    inputs={
        "x": Tensor((5, 4), "Shard(1)@dp"),
        "i": Tensor((6,), dtype=torch.int64, high=5),
        "u": Tensor((6, 4), "Shard(1)@dp"),
    },
    outputs={"out": {"expect": "Shard(1)@dp"}},
    mesh=DP2,
    manifest={"facts": ["i in [0, 5)"]},
    verdict="PROVED",
    why="Rows are added by index, columns do not mix.",
)
variant(
    scatter,
    "batch_not_reduced",
    inputs={
        "x": Tensor((5, 4)),
        "i": Tensor((6,), "Shard(0)@dp", torch.int64, 0, 5),
        "u": Tensor((6, 4), "Shard(0)@dp"),
    },
    outputs={"out": {"expect": "Replicate"}},
    why="Each rank adds only its own updates.",
)

# --- undefined values
undefined = case(
    "undefined_quotient",
    seq=lambda x, y: x * y / y,
    dist=local(lambda x, y: x + 0 * y),
    inputs={"x": Tensor((4,), "Shard(0)@dp"), "y": Tensor((4,), "Shard(0)@dp")},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    accept=["UNKNOWN"],
    why="Where the one-device value is undefined (y = 0) nothing is claimed; elsewhere both are x.",
)
variant(
    undefined,
    "reversed",
    seq=lambda x, y: x + 0 * y,
    dist=local(lambda x, y: x * y / y),
    numeric=False,
    accept=["UNKNOWN"],
    why="At y = 0 the one-device value is x and the ranks' is undefined.",
)
variant(
    undefined,
    "reversed_positive",
    seq=lambda x, y: x + 0 * y,
    dist=local(lambda x, y: x * y / y),
    verdict="PROVED",
    accept=["UNKNOWN"],
    numeric=False,
    manifest={"facts": ["y > 0"]},
    why="The fact rules y = 0 out.",
)
select = case(
    "branch_not_taken",
    seq=lambda x: torch.where(x > 0, torch.log(torch.where(x > 0, x, 1.0)), 0.0),
    dist=local(lambda x: torch.where(x > 0, torch.log(x), 0.0)),
    inputs=X,
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    accept=["UNKNOWN"],
    why="The logarithm of a negative number is undefined, but where does not take that branch.",
)

# What one program leaves undefined or makes infinite where the other does not: each pair agrees on random numbers and differs at a zero,
# a negative or an infinity.
POSITIVE = {"facts": ["x > 0"]}
NOT_NEGATIVE = {"facts": ["x >= 0"]}


def undefined_pair(name, seq, dist, why, wrong="anywhere", right=POSITIVE, inputs=None, **more):
    """The right program has facts that rule the point out, or does the same on both sides; the wrong one has not."""
    first = case(
        name,
        seq=seq,
        dist=local(more.pop("right_dist", dist)),
        inputs=inputs or X,
        outputs=ROWS,
        mesh=DP2,
        verdict="PROVED",
        accept=["UNKNOWN"],
        numeric=False,
        manifest=right,
        why="Nothing that is undefined or infinite can occur, or it occurs on both sides.",
    )
    variant(
        first,
        wrong,
        dist=local(dist),
        verdict="REFUTED",
        accept=["UNKNOWN"],
        manifest=more.pop("wrong_manifest", {}),
        why=why,
    )


undefined_pair("inverted_twice", lambda x: x * 2, lambda x: 1 / (1 / x) * 2, "At x = 0 the ranks divide by zero.")
undefined_pair(
    "root_added_and_divided",
    lambda x: x * 2,
    lambda x: x * 2 * (1 + torch.sqrt(x)) / (1 + torch.sqrt(x)),
    "1 + sqrt(x) is positive only where it is defined.",
    right=NOT_NEGATIVE,
)
undefined_pair(
    "zero_of_undefined",
    lambda x: x - x,
    lambda x: torch.exp(torch.log(x)) - torch.exp(torch.log(x)),
    "The logarithm of a negative number is undefined, also where it cancels.",
)
undefined_pair(
    "absolute_root",
    lambda x: torch.abs(x) * torch.sqrt(torch.abs(x)),
    lambda x: torch.abs(x * torch.sqrt(x)),
    "The root of a negative number is undefined, and its absolute value, too.",
    right=NOT_NEGATIVE,
)
undefined_pair(
    "infinite_factor_of_a_sum",
    lambda x: torch.log(x[:, 0]) * x.sum(-1),
    lambda x: (torch.log(x[:, :1]) * x).sum(-1),
    "With log 0 = -inf before terms of both signs the sum is undefined, the product is not.",
)
undefined_pair(
    "infinite_term_added_and_taken",
    lambda x: torch.log(x) * 2,
    lambda x: (torch.log(x) * x + torch.log(x) * 2) - torch.log(x) * x,
    "Where x = 0 the ranks take an infinity from an infinity.",
    wrong_manifest=NOT_NEGATIVE,
)
undefined_pair(
    "mask_before_log",
    lambda x: torch.log(x)[:, :2].sum(-1),
    lambda x: ((torch.arange(3) < 2) * torch.log(x)).sum(-1),
    "0 log 0 is undefined; the one-device program does not read that column.",
    wrong="multiplied",
    right_dist=lambda x: torch.log(x[:, :2]).sum(-1),
    right=NOT_NEGATIVE,
    wrong_manifest=NOT_NEGATIVE,
)
undefined_pair(
    "one_hot_before_log",
    lambda x, n: torch.log(x).gather(1, n[:, None])[:, 0],
    lambda x, n: ((n[:, None] == torch.arange(3)) * torch.log(x)).sum(-1),
    "A one-hot row times log 0 is undefined at every place that is not looked up.",
    wrong="multiplied",
    right={"facts": ["n in [0, 3)", "x > 0"]},
    wrong_manifest={"facts": ["n in [0, 3)", "x >= 0"]},
    inputs={"x": Tensor((4, 3), "Shard(0)@dp"), "n": Tensor((4,), "Shard(0)@dp", torch.int64, 0, 3)},
)
undefined_pair(
    "integer_sum_to_float",
    lambda n: n.sum(-1).to(torch.float32),
    lambda n: n.to(torch.float32).sum(-1),
    "The sum of large integers wraps, that of floats does not.",
    right={"facts": ["n in [0, 100)"]},
    inputs={"n": Tensor((4, 3), "Shard(0)@dp", torch.int64)},
)
undefined_pair(
    "integer_output_narrowed",
    lambda n: n.to(torch.int8),
    lambda n: n * 1,
    "The one-device value wraps at 8 bits, the ranks' does not: outputs of two integer types are compared in the wider one.",
    right={"facts": ["n in [0, 100)"]},
    inputs={"n": Tensor((4, 3), "Shard(0)@dp", torch.int64)},
)

# --- ties
ties = case(
    "top_k_rows",
    seq=lambda x: torch.topk(x, 2).values.sum(-1),
    dist=local(lambda x: torch.topk(x, 2).values.sum(-1)),
    inputs={"x": Tensor((4, 5), "Shard(0)@dp")},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="The choice within a row depends on that row only.",
)
variant(
    ties,
    "smallest",
    dist=local(lambda x: torch.topk(x, 2, largest=False).values.sum(-1)),
    why="The two smallest instead of the two largest.",
)
variant(
    ties,
    "indices",
    verdict="PROVED",
    seq=lambda x: torch.topk(x, 2).indices,
    dist=local(lambda x: torch.topk(x, 2).indices),
    why="Ties go to the lower index on both sides.",
)

# --- randomness
drop = case(
    "dropout_rows",
    seq=lambda x, w: F.dropout(x * w, 0.25, True),
    dist=local(lambda x, w: F.dropout(x * w, 0.25, True)),
    inputs={"x": Tensor((4, 3), "Shard(0)@dp"), "w": Tensor((3,))},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    numeric=False,
    why="The ranks' masks are the pieces of the one-device mask: an assumption, which the report lists.",
)
variant(
    drop,
    "probability",
    verdict="UNKNOWN",
    dist=local(lambda x, w: F.dropout(x * w, 0.5, True)),
    why="Draws with different probabilities are not matched, so the contract asks for UNKNOWN; the falsifier, which matches nothing here, still answers REFUTED.",
    accept=["REFUTED"],
)
variant(
    drop,
    "not_scaled",
    dist=local(lambda x, w: F.dropout(x * w, 0.25, True) * 2),
    accept=["UNKNOWN"],
    why="Twice the value wherever the mask keeps it.",
)

# --- aliases
alias = case(
    "in_place_on_view",
    seq=lambda x: torch.cat([x[:1] + 1, x[1:]]),
    dist=lambda rank, x: add_to_first(x),
    inputs={"x": Tensor((4, 3))},
    outputs={"out": {"expect": "Replicate"}},
    mesh=DP2,
    verdict="PROVED",
    why="Adding to a view of a clone changes the clone.",
)
variant(alias, "lost", seq=lambda x: x.clone(), why="The one-device program does not add.")


def add_to_first(x):
    y = x.clone()
    y[0].add_(1)
    return y


def step_in_place(x, w):
    w.add_(x.sum(0), alpha=-0.1)
    return (w * 2,)


mutated = case(
    "in_place_update",
    seq=lambda x, w: step_in_place(x, w),
    dist=lambda rank, x, w: step_in_place_reduced(x, w),
    inputs={"x": Tensor((4, 3), "Shard(0)@dp"), "w": Tensor((3,))},
    outputs={"out": {"expect": "Replicate"}, "mut:w": {"dist": "mut:w", "role": "updated", "of": "w"}},
    mesh=DP2,
    numeric=False,
    verdict="PROVED",
    why="A write to an input is an output of its own, and both programs write the same.",
)


def step_in_place_reduced(x, w):
    w.add_(all_reduce(x.sum(0)), alpha=-0.1)
    return (w * 2,)


variant(
    mutated,
    "not_reduced",
    dist=lambda rank, x, w: step_in_place(x, w),
    why="Each rank steps with the sum of its own rows.",
)

# --- vacuity
vacuous = case(
    "constant_output",
    seq=lambda x: x * 0,
    dist=local(lambda x: torch.zeros(2, 3)),
    inputs=X,
    outputs=ROWS,
    mesh=DP2,
    verdict="UNKNOWN",
    accept=[],
    numeric=False,
    why="The ranks' values depend on no input where the one-device value does: that is not proved, whatever the values are.",
)

# --- names, constants, extra inputs, free terms
case(
    "rename_and_extra",
    seq=lambda x, w: (x @ w) * 3,
    dist=lambda rank, x, w, scale: (x @ w) * scale,
    inputs={"x": Tensor((4, 3), "Shard(0)@dp"), "w": Tensor((3, 2))},
    outputs=ROWS,
    mesh=DP2,
    manifest={"extra_inputs": {"scale": 3}},
    verdict="PROVED",
    why="The extra input is stated to be 3.",
)
case(
    "free_term",
    seq=lambda x: x * x,
    dist=lambda rank, x: x * x,
    inputs={"x": Tensor((4, 3), "concat(0, r1.x, r0.x)")},
    outputs={"out": {"expect": "concat(0, r1.out, r0.out)"}},
    mesh=DP2,
    numeric=False,
    verdict="PROVED",
    why="Rank 1 holds the first rows and rank 0 the last.",
)
case(
    "partial_input",
    seq=lambda x, w: x @ w,
    dist=lambda rank, x, w: reduce_scatter(x, 2) @ w,
    inputs={"x": Tensor((4, 3), "Partial(sum)@dp"), "w": Tensor((3, 2))},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="The input is a sum of what the ranks hold; scattering that sum gives each rank its rows.",
)
any_ = case(
    "any_placement",
    seq=lambda x, w: torch.sin(x) @ w,
    dist=lambda rank, x, w: torch.sin(x) @ w,
    inputs={"x": Tensor((4, 3)), "w": Tensor((3, 6), "Shard(1)@dp")},
    outputs={"out": {}},
    mesh=DP2,
    verdict="PROVED",
    why="Without an expectation any placement of the finite set will do: here Shard(1).",
)
variant(
    any_,
    "gathered_wrong",
    dist=lambda rank, x, w: all_gather(torch.sin(x) @ w, 2).reshape(4, 6),
    accept=["UNKNOWN"],
    numeric=False,
    why="Gathered on dimension 0 and reshaped, which mixes the columns: no placement fits.",
)

# --- bad input: exit code 2
variant(
    literal,
    "contradictory_facts",
    verdict="ERROR",
    manifest={"facts": ["x > 2", "x in [0, 1)"]},
    numeric=False,
    why="No input satisfies both facts, so a proof would be empty.",
)
variant(
    literal,
    "unknown_key",
    verdict="ERROR",
    manifest={"meshes": {}},
    numeric=False,
    why="An unknown key is an error, which names the nearest known one.",
    contains=["mesh"],
)
variant(literal, "no_outputs", verdict="ERROR", manifest={"outputs": {}}, numeric=False, why="Nothing to check.")
variant(
    literal,
    "uncovered_input",
    verdict="ERROR",
    manifest={"inputs": {}},
    numeric=False,
    why="Every input needs a placement.",
    contains=["x"],
)
variant(
    literal,
    "fact_on_unknown_input",
    verdict="ERROR",
    manifest={"facts": ["y > 0"]},
    numeric=False,
    why="There is no input y.",
    contains=["y"],
)
variant(
    literal,
    "missing_file",
    verdict="ERROR",
    manifest={"sequential": "nowhere.fx.txt"},
    numeric=False,
    why="The file does not exist.",
    contains=["nowhere.fx.txt"],
)


# --- long sums: a residual stream gains summands with every layer (L-44)


def stream(x, w, v, reduce, together=False, twice_at=None):
    for layer in range(22):
        h = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1)
        a = reduce(torch.tanh(h @ w[layer]) @ v[layer])
        b = reduce(torch.sigmoid(h @ w[layer]) @ v[layer])
        if layer == twice_at:
            b = reduce(b)
        x = x + (b + a) if together else (x + a) + b
    return x * x


long_sum = case(
    "long_residual",
    seq=lambda x, w, v: stream(x, w, v, lambda y: y),
    dist=lambda rank, x, w, v: stream(x, w, v, all_reduce),
    inputs={"x": Tensor((4, 3)), "w": Tensor((22, 3, 4), "Shard(2)@tp"), "v": Tensor((22, 4, 3), "Shard(1)@tp")},
    outputs={"out": {"expect": "Replicate"}},
    mesh={"tp": 2},
    verdict="PROVED",
    why="Each layer's hidden features are cut over the ranks and its sum is reduced before it joins the stream.",
)
variant(
    long_sum,
    "in_another_order",
    verdict="PROVED",
    dist=lambda rank, x, w, v: stream(x, w, v, all_reduce, together=True),
    why="A sum in another order.",
)
variant(
    long_sum,
    "reduced_twice",
    dist=lambda rank, x, w, v: stream(x, w, v, all_reduce, twice_at=2),
    why="One early summand is reduced twice.",
)
variant(
    long_sum,
    "reduced_twice_late",
    dist=lambda rank, x, w, v: stream(x, w, v, all_reduce, twice_at=20),
    why="One late summand is reduced twice.",
)

# --- the order of two sums (L-50): a blockwise attention's backward needs rowsum(g * out) where the formula has sum of p * (g v')


def softmax_backward(q, k, v, g, delta):
    p = torch.softmax(q @ k.T, -1)
    d = g @ v.T
    return p * (d - delta(p, v, g, d))


TWO_SUMS = {
    "q": Tensor((6, 3), "Shard(0)@cp"),
    "k": Tensor((5, 3)),
    "v": Tensor((5, 4)),
    "g": Tensor((6, 4), "Shard(0)@cp"),
}
two_sums = case(
    "two_sums_in_turn",
    seq=lambda q, k, v, g: softmax_backward(q, k, v, g, lambda p, v, g, d: (p * d).sum(-1, keepdim=True)),
    dist=local(lambda q, k, v, g: softmax_backward(q, k, v, g, lambda p, v, g, d: (g * (p @ v)).sum(-1, keepdim=True))),
    inputs=TWO_SUMS,
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="The sum over keys and the one over features change places.",
)
variant(
    two_sums,
    "of_other_values",
    dist=local(
        lambda q, k, v, g: softmax_backward(q, k, v, g, lambda p, v, g, d: (g * (p @ v.flip(1))).sum(-1, keepdim=True))
    ),
    why="The features of the output are in another order than the gradient's.",
)
variant(
    two_sums,
    "one_feature_missing",
    dist=local(
        lambda q, k, v, g: softmax_backward(q, k, v, g, lambda p, v, g, d: (g * (p @ v))[:, 1:].sum(-1, keepdim=True))
    ),
    why="The first feature is not summed.",
)

# --- brackets hide what is undefined where they do not hold (L-22)


def lower(x, offset=0):
    return torch.ones(x.shape[0], x.shape[1], dtype=torch.bool).tril(offset)


hidden = case(
    "masked_quotient",
    seq=lambda x, n: torch.where(lower(x), x / n, 0.0) * 2,
    dist=lambda rank, x, n: torch.where(lower(x, 3 * rank), 2 * x / n, 0.0),
    inputs={"x": Tensor((6, 6), "Shard(0)@dp"), "n": Tensor(())},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="Above the diagonal both are 0, also where n is 0.",
)
variant(
    hidden,
    "times_mask",
    dist=lambda rank, x, n: lower(x, 3 * rank) * (2 * x / n),
    numeric=False,
    accept=["UNKNOWN"],
    why="0 times an undefined quotient is undefined, where the one-device program has 0.",
)
variant(
    hidden,
    "same_diagonal",
    dist=lambda rank, x, n: torch.where(lower(x), 2 * x / n, 0.0),
    why="The second rank's rows start at 3, its diagonal at 0.",
)

# --- causal blocks with another mask beside (L-11): behind the diagonal no mask is needed


def causal_sums(rank, x, m, skip=0):
    blocks = list(all_gather(m[:, None] * x, 2).chunk(2))
    out = torch.ones(3, 3).triu(skip) @ blocks[rank]
    return out + torch.ones(3, 3) @ blocks[1] if rank == 0 else out


causal = case(
    "causal_blocks",
    seq=lambda x, m: torch.ones(6, 6).triu() @ (m[:, None] * x),
    dist=lambda rank, x, m: causal_sums(rank, x, m),
    inputs={"x": Tensor((6, 4), "Shard(0)@cp"), "m": Tensor((6,), "Shard(0)@cp", dtype=torch.bool)},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="Rank 0 adds the masked part of its own block and all of the next one.",
)
variant(
    causal,
    "without_diagonal",
    dist=lambda rank, x, m: causal_sums(rank, x, m, 1),
    why="The diagonal of each block is left out.",
)

# --- two terms that are a name of the one-device program (L-51)
centred = case(
    "centred_by_parts",
    seq=lambda x, w, v: torch.tanh((x - x.mean(0, keepdim=True)) * w + v) @ w.T,
    dist=lambda rank, x, w, v: torch.tanh(x * w + v - all_reduce(x.sum(0, keepdim=True)) / 6 * w) @ w.T,
    inputs={"x": Tensor((6, 4), "Shard(0)@dp"), "w": Tensor((1, 4)), "v": Tensor((6, 4), "Shard(0)@dp")},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="x w - mean w is (x - mean) w.",
)
variant(
    centred,
    "local_mean",
    dist=lambda rank, x, w, v: torch.tanh(x * w + v - x.mean(0, keepdim=True) * w) @ w.T,
    why="Each rank takes the mean of its own rows.",
)

# --- the largest of a masked row is finite where the mask leaves one (a blockwise softmax subtracts it)


def explicit_softmax(s, mask):
    s = s.masked_fill(~mask, -math.inf)
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


masked_max = case(
    "masked_softmax_by_hand",
    seq=lambda s: torch.softmax(s.masked_fill(~lower(s), -math.inf), -1),
    dist=lambda rank, s: explicit_softmax(s, lower(s, 3 * rank)),
    inputs={"s": Tensor((6, 6), "Shard(0)@cp")},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="Every row has its diagonal, so that its largest element is finite and leaves the quotient.",
)
variant(
    masked_max,
    "same_diagonal",
    dist=lambda rank, s: explicit_softmax(s, lower(s)),
    why="The second rank's rows start at 3, its diagonal at 0.",
)

# --- merging of normalised parts (L-57), as torch's ring attention does


def merged(q, k, v, weigh):
    parts = []
    for a, b in zip(k.chunk(2), v.chunk(2), strict=True):
        s = q @ a.T
        lse = torch.logsumexp(s, -1, keepdim=True)
        parts.append((torch.exp(s - lse) @ b, lse))
    (out, lse), (more, other) = parts
    return out - weigh(other, lse) * (out - more)


merging = case(
    "merged_parts_of_softmax",
    seq=lambda q, k, v: torch.softmax(q @ k.T, -1) @ v,
    dist=local(lambda q, k, v: merged(q, k, v, lambda other, lse: torch.sigmoid(other - lse))),
    inputs={"q": Tensor((6, 3), "Shard(0)@cp"), "k": Tensor((6, 3)), "v": Tensor((6, 4))},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 2},
    verdict="PROVED",
    why="Two blocks of keys are merged by the logistic function of the difference of their logarithms.",
)
variant(
    merging,
    "weights_swapped",
    dist=local(lambda q, k, v: merged(q, k, v, lambda other, lse: torch.sigmoid(lse - other))),
    why="Each part gets the other's weight.",
)
variant(
    merging,
    "half_each",
    dist=local(lambda q, k, v: merged(q, k, v, lambda other, lse: 0.5)),
    why="Both parts weigh the same.",
)


# --- L-12: three ranks' parts of a product of two halves of one tensor; two of them are a range before the third comes
def gated_experts(x, expert, up, down, reduce):
    h = torch.bmm(up[expert], x.unsqueeze(-1)).squeeze(-1)
    gate, value = h.chunk(2, -1)
    return reduce(torch.bmm(down[expert], (F.silu(gate) * value).unsqueeze(-1)).squeeze(-1))


gated = case(
    "gated_experts_three_ranks",
    seq=lambda x, expert, up, down: gated_experts(x, expert, up, down, lambda y: y),
    dist=lambda rank, x, expert, up, down: gated_experts(x, expert, up, down, all_reduce),
    inputs={
        "x": Tensor((5, 4)),
        "expert": Tensor((5,), dtype=torch.int64, high=2),
        "up": Tensor((2, 12, 4), "Shard(1, blocks=2)@tp"),
        "down": Tensor((2, 4, 6), "Shard(2)@tp"),
    },
    outputs={"out": {"expect": "Replicate"}},
    mesh={"tp": 3},
    manifest={"facts": ["expert in [0, 2)"]},
    verdict="PROVED",
    why="Each rank has a third of the gates and the same third of the values; the sum over the inner dimension is cut in three.",
)
variant(
    gated,
    "values_of_the_next",
    inputs={**gated.inputs, "up": Tensor((2, 12, 4), {"shard": 1, "axis": "tp", "chunks": [[0, 4], [1, 5], [2, 3]]})},
    why="The gates of a rank meet the values of the next one.",
)


# --- L-85: the label of an ignored position is put to 0 before it is looked up in a cut vocabulary
def masked_label(rank, z, y, top, low=None):
    counted = y != -100
    z = z - top.unsqueeze(-1)
    k = torch.where(counted, y, torch.zeros_like(y)) - (4 * rank if low is None else low)
    inside = (k >= 0) & (k < z.shape[1])
    picked = torch.gather(z, 1, torch.where(inside, k, torch.zeros_like(k)).unsqueeze(-1)).squeeze(-1)
    return torch.where(inside, picked, torch.zeros_like(picked)), counted


def ignored_label(rank, z, y, reduce, highest, **how):
    picked, counted = masked_label(rank, z, y, highest(z.amax(-1)), **how)
    return (reduce(picked) * counted).sum()


ignored = case(
    "ignored_labels_cut_vocabulary",
    seq=lambda z, y: ignored_label(0, z, y, lambda p: p, lambda p: p),
    dist=lambda rank, z, y: ignored_label(rank, z, y, all_reduce, lambda p: all_reduce(p, "max")),
    inputs={"z": Tensor((5, 12), "Shard(1)@tp"), "y": Tensor((5,), dtype=torch.int64, high=12)},
    outputs={"out": {"expect": "Replicate"}},
    mesh={"tp": 3},
    manifest={"facts": ["y in [0, 12) or = -100"]},
    verdict="PROVED",
    why="Where the label counts it is the label; the place where it does not is masked in the end.",
)
variant(
    ignored,
    "one_rank_next_range",
    dist=lambda rank, z, y: ignored_label(
        rank, z, y, all_reduce, lambda p: all_reduce(p, "max"), low=8 if rank == 1 else None
    ),
    why="Rank 1 looks for the labels of rank 2.",
)


def small_where_counted(x, n, y):
    return torch.where(torch.where(n > 0, y, torch.zeros_like(y)) < 3, x, torch.zeros_like(x))


case(
    "masked_by_another_input",
    seq=small_where_counted,
    dist=local(small_where_counted),
    inputs={
        "x": Tensor((4,), "Shard(0)@dp"),
        "n": Tensor((4,), "Shard(0)@dp", torch.int64, high=3),
        "y": Tensor((4,), "Shard(0)@dp", torch.int64, high=6),
    },
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="The mask is of another input than what it masks: the comparison is no single bracket and stays as it is.",
)


# --- L-86, L-25: which rank has an expert, and at which place there, by quotient and remainder; other experts are put past the end
def expert_rows(rank, expert, weight, table, keep=1):
    count = table.shape[0]
    elsewhere = expert // count != rank
    place = torch.where(elsewhere, torch.full_like(expert, count), expert % count)
    weight = weight.masked_fill(elsewhere, 0.0).masked_fill(place >= count, 0.0)
    return all_reduce(table[place.clamp(0, count - keep)] * weight.unsqueeze(-1))


experts = case(
    "expert_by_quotient",
    seq=lambda expert, weight, table: table[expert] * weight.unsqueeze(-1),
    dist=lambda rank, expert, weight, table: expert_rows(rank, expert, weight, table),
    inputs={
        "expert": Tensor((5,), dtype=torch.int64, high=6),
        "weight": Tensor((5,)),
        "table": Tensor((6, 3), "Shard(0)@tp"),
    },
    outputs={"out": {"expect": "Replicate"}},
    mesh={"tp": 3},
    manifest={"facts": ["expert in [0, 6)"]},
    verdict="PROVED",
    why="An expert's rank is the quotient by the number of experts of a rank, its row there the remainder.",
)
variant(
    experts,
    "clamped_too_low",
    dist=lambda rank, expert, weight, table: expert_rows(rank, expert, weight, table, keep=2),
    why="The last expert of every rank is read as the first.",
)


# --- L-35: a clamp that a mask makes idle stays where the reading would not be known to be in range without it
def biased_attention(q, v, bias, g, reduce):
    t = q.shape[1]
    distance = torch.arange(t).unsqueeze(1) - torch.arange(t).unsqueeze(0)
    scores = q @ q.transpose(1, 2) + bias[distance.clamp(-1, 2) + 1].permute(2, 0, 1)
    scores = scores.masked_fill(distance < 0, -math.inf)
    out = reduce((torch.softmax(scores, -1) @ v).sum(0))
    return torch.where(out > 0, g, torch.zeros_like(g)).sum(0)


biased = case(
    "relative_bias_causal",
    seq=lambda q, v, bias, g: biased_attention(q, v, bias, g, lambda y: y),
    dist=lambda rank, q, v, bias, g: biased_attention(q, v, bias, g, all_reduce),
    inputs={
        "q": Tensor((4, 4, 3), "Shard(0)@tp"),
        "v": Tensor((4, 4, 3), "Shard(0)@tp"),
        "bias": Tensor((4, 4), "Shard(1)@tp"),
        "g": Tensor((4, 3)),
    },
    outputs={"out": {"expect": "Replicate"}},
    mesh={"tp": 2},
    verdict="PROVED",
    why="Each rank has some heads with their part of the bias; the attention is finite, as every row sees itself.",
)
variant(
    biased,
    "not_reduced",
    dist=lambda rank, q, v, bias, g: biased_attention(q, v, bias, g, lambda y: y),
    why="Every rank keeps the sum over its own heads.",
)


# --- masks of documents: every position is in its own document, so no row of the block of its own positions is empty
def document_scores(q, k, first, other, mine, theirs):
    i, j = torch.arange(q.shape[0]) + first, torch.arange(k.shape[0]) + other
    hidden = (j.unsqueeze(0) > i.unsqueeze(1)) | (mine.unsqueeze(1) != theirs.unsqueeze(0))
    return (q @ k.T).masked_fill(hidden, -math.inf)


def document_blocks(rank, q, k, v, doc, labels):
    keys, values, documents = all_gather(k, 2).chunk(2), all_gather(v, 2).chunk(2), labels(doc)
    top = total = out = None
    for source in range(rank, -1, -1):
        scores = document_scores(q, keys[source], 2 * rank, 2 * source, doc, documents[source])
        highest = scores.amax(-1) if top is None else torch.maximum(top, scores.amax(-1))
        weights = torch.exp(scores - highest.unsqueeze(-1))
        more, part = weights.sum(-1), weights @ values[source]
        if top is not None:
            again = torch.exp(top - highest)
            more, part = more + total * again, part + out * again.unsqueeze(-1)
        top, total, out = highest, more, part
    return out / total.unsqueeze(-1)


documents = case(
    "document_mask_in_blocks",
    seq=lambda q, k, v, doc: torch.softmax(document_scores(q, k, 0, 0, doc, doc), -1) @ v,
    dist=lambda rank, q, k, v, doc: document_blocks(rank, q, k, v, doc, lambda d: all_gather(d, 2).chunk(2)),
    inputs={
        "q": Tensor((4, 3), "Shard(0)@dp"),
        "k": Tensor((4, 3), "Shard(0)@dp"),
        "v": Tensor((4, 3), "Shard(0)@dp"),
        "doc": Tensor((4,), "Shard(0)@dp", torch.int64, high=2),
    },
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh=DP2,
    verdict="PROVED",
    why="The block of a rank's own positions comes first, and none of its rows is empty; an earlier block may be.",
)
variant(
    documents,
    "own_documents",
    dist=lambda rank, q, k, v, doc: document_blocks(rank, q, k, v, doc, lambda d: (d, d)),
    why="The keys of the earlier block are taken to be in the documents of this one.",
)


# --- gradients of attention over gathered keys, under masks of documents and of a sliding window
def attention_step(q, k, v, w, hidden):
    """The logarithms of the classes' probabilities by what the attention gives, and the gradients of their sum's opposite."""
    p = torch.softmax((q @ k.T).masked_fill(hidden, -math.inf), -1)
    logits = (q + p @ v) @ w
    out = torch.log_softmax(logits, -1)
    g = (torch.exp(out) * w.shape[1] - 1) @ w.T
    gp = g @ v.T
    gs = p * (gp - (gp * p).sum(-1, keepdim=True))
    return out, g + gs @ k, gs.T @ q, p.T @ g


def gathered_step(ranks, q, k, v, w, hidden, reduce):
    out, gq, gk, gv = attention_step(q, all_gather(k, ranks), all_gather(v, ranks), w, hidden)
    return out, gq, reduce(gk), reduce(gv)


def document_hidden(rows, first, mine, theirs):
    i, j = torch.arange(rows) + first, torch.arange(theirs.shape[0])
    return (j.unsqueeze(0) > i.unsqueeze(1)) | (mine.unsqueeze(1) != theirs.unsqueeze(0))


GATHERED_STEP = {
    "q": Tensor((6, 2), "Shard(0)@dp"),
    "k": Tensor((6, 2), "Shard(0)@dp"),
    "v": Tensor((6, 2), "Shard(0)@dp"),
    "w": Tensor((2, 3)),
}
STEP_OUTPUTS = {f"out_{i}": {"expect": "Shard(0)@dp"} for i in range(4)}
document_step = case(
    "document_mask_gradients",
    seq=lambda q, k, v, w, doc: attention_step(q, k, v, w, document_hidden(6, 0, doc, doc)),
    dist=lambda rank, q, k, v, w, doc: gathered_step(
        3, q, k, v, w, document_hidden(2, 2 * rank, doc, all_gather(doc, 3)), lambda g: reduce_scatter(g, 3)
    ),
    inputs={**GATHERED_STEP, "doc": Tensor((6,), "Shard(0)@dp", torch.int64, high=2)},
    outputs=STEP_OUTPUTS,
    mesh={"dp": 3},
    verdict="PROVED",
    why="Every position is in its own document, so no row is empty, also where the softmax stands inside of what is summed.",
)
variant(
    document_step,
    "first_documents",
    dist=lambda rank, q, k, v, w, doc: gathered_step(
        3,
        q,
        k,
        v,
        w,
        document_hidden(2, 2 * rank, all_gather(doc, 3)[:2], all_gather(doc, 3)),
        lambda g: reduce_scatter(g, 3),
    ),
    why="Every rank takes its rows to be in the documents of the first two.",
)


def window_hidden(rows, first, keys, width):
    distance = (torch.arange(rows) + first).unsqueeze(1) - torch.arange(keys).unsqueeze(0)
    return (distance < 0) | (distance >= width)


window_step = case(
    "window_mask_gradients",
    seq=lambda q, k, v, w: attention_step(q, k, v, w, window_hidden(6, 0, 6, 3)),
    dist=lambda rank, q, k, v, w: gathered_step(
        3, q, k, v, w, window_hidden(2, 2 * rank, 6, 3), lambda g: reduce_scatter(g, 3)
    ),
    inputs=GATHERED_STEP,
    outputs=STEP_OUTPUTS,
    mesh={"dp": 3},
    verdict="PROVED",
    why="The keys of the first rank get nothing from the rows of the last, which are out of the window.",
)
variant(
    window_step,
    "one_wider",
    dist=lambda rank, q, k, v, w: gathered_step(
        3, q, k, v, w, window_hidden(2, 2 * rank, 6, 4), lambda g: reduce_scatter(g, 3)
    ),
    why="The ranks' window reaches one position further back.",
)


def window_ring(rank, q, k, v, w, width):
    """Blocks of keys from the own one back, merged by their log-sum-exp; and the gradient by q with the merged one."""
    keys, values = all_gather(k, 3).chunk(3), all_gather(v, 3).chunk(3)
    out = lse = None
    blocks = []
    for source in range(rank, -1, -1):
        distance = (torch.arange(2) + 2 * rank).unsqueeze(1) - (torch.arange(2) + 2 * source).unsqueeze(0)
        scores = (q @ keys[source].T).masked_fill((distance < 0) | (distance >= width), -math.inf)
        blocks.append((source, scores))
        part = torch.logsumexp(scores, -1, keepdim=True)
        mine = torch.exp(scores - part) @ values[source]
        if lse is None:
            out, lse = mine, part
        else:
            both = torch.logaddexp(lse, part)
            out, lse = out * torch.exp(lse - both) + mine * torch.exp(part - both), both
    log = torch.log_softmax((q + out) @ w, -1)
    g = (torch.exp(log) * w.shape[1] - 1) @ w.T
    delta = (out * g).sum(-1, keepdim=True)
    gq = g
    for source, scores in blocks:
        p = torch.exp(scores - lse)
        gq = gq + (p * (g @ values[source].T - delta)) @ keys[source]
    return log, gq


window_blocks = case(
    "window_mask_in_blocks",
    seq=lambda q, k, v, w: attention_step(q, k, v, w, window_hidden(6, 0, 6, 5))[:2],
    dist=lambda rank, q, k, v, w: window_ring(rank, q, k, v, w, 5),
    inputs=GATHERED_STEP,
    outputs={f"out_{i}": {"expect": "Shard(0)@dp"} for i in range(2)},
    mesh={"dp": 3},
    verdict="PROVED",
    why="A rank that holds two rows sees one end of the window only, or none, and no block of keys is out of it altogether.",
)
variant(
    window_blocks,
    "narrower",
    dist=lambda rank, q, k, v, w: window_ring(rank, q, k, v, w, 4 + (rank == 0)),
    why="All ranks but the first have a window that is one too narrow: the last row then finds no key in the first block.",
)


# --- layers upon layers of causal attention, each row's highest score taken off by hand: finite, as every row sees itself
def causal_layer(x):
    hidden = torch.arange(x.shape[1]).unsqueeze(0) > torch.arange(x.shape[1]).unsqueeze(1)
    scores = (x @ x.transpose(1, 2)).masked_fill(hidden, -math.inf)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    p = weights / weights.sum(-1, keepdim=True)
    return p @ x, p


def causal_back(x, p, g):
    gp = g @ x.transpose(1, 2)
    gs = p * (gp - (gp * p).sum(-1, keepdim=True))
    return gs @ x + gs.transpose(1, 2) @ x + p.transpose(1, 2) @ g


def causal_layers(x):
    y, p = causal_layer(x)
    z, q = causal_layer(y)
    return causal_back(x, p, causal_back(y, q, 1 - torch.tanh(z) ** 2))


layers = case(
    "causal_layers_gradient",
    seq=causal_layers,
    dist=lambda rank, x: causal_layers(x),
    inputs={"x": Tensor((4, 3, 2), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh=DP2,
    verdict="PROVED",
    why="What a second layer masks is finite where it is read, though not wherever a first layer could be.",
)
variant(
    layers,
    "first_layer_only",
    dist=lambda rank, x: causal_back(x, causal_layer(x)[1], 1 - torch.tanh(causal_layer(x)[0]) ** 2),
    why="The second layer is left out.",
)


# --- label smoothing over a cut vocabulary: a rank writes the label's column, which leaves both sides of it
def smoothed_rows(y, x, start, columns, total, smoothing=0.125):
    kept = y != -1
    local = y.masked_fill(~kept, 0) - start
    outside = (local < 0) | (local >= columns)
    at = local.masked_fill(outside, 0).unsqueeze(1)
    label = torch.zeros((y.shape[0], columns)).scatter(1, at, (~outside).float().unsqueeze(1))
    rows = -(1 - smoothing) * label - smoothing / total
    return (rows * kept.unsqueeze(1)).T @ x


def smoothed_one_device(y, x, total, smoothing=0.125):
    label = torch.arange(total).unsqueeze(0) == y.unsqueeze(1)
    rows = -(1 - smoothing) * label - smoothing / total
    return (rows * (y != -1).unsqueeze(1)).T @ x


SMOOTHED = {"y": Tensor((5,), dtype=torch.int64, low=-1, high=12), "x": Tensor((5, 4))}
smoothed = case(
    "smoothed_labels_over_a_cut_vocabulary",
    seq=lambda y, x: smoothed_one_device(y, x, 12),
    dist=lambda rank, y, x: smoothed_rows(y, x, 4 * rank, 4, 12),
    inputs=SMOOTHED,
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 3},
    manifest={"facts": ["y in [-1, 12)"]},
    verdict="PROVED",
    why="Columns below the label, the label's and those above are all columns, and something more in the label's.",
)
variant(
    smoothed,
    "ignored_counted",
    dist=lambda rank, y, x: smoothed_rows(y.clamp(min=0), x, 4 * rank, 4, 12),
    why="Ignored labels count as label 0.",
)


def whole_and_place(y, x):
    column = torch.arange(x.shape[1]).unsqueeze(0)
    label, nothing = y.unsqueeze(1), torch.zeros(())
    return torch.where(label >= 0, x, nothing) + torch.where(label == column, x, nothing)


def sides_and_place(y, x):
    column = torch.arange(x.shape[1]).unsqueeze(0)
    label, nothing = y.unsqueeze(1), torch.zeros(())
    below = torch.where((label >= 0) & (label < column), x, nothing)
    return below + torch.where(label > column, x, nothing) + torch.where(label == column, 2 * x, nothing)


case(
    "both_sides_of_a_place_finite",
    seq=whole_and_place,
    dist=lambda rank, y, x: sides_and_place(y, x),
    inputs={"y": Tensor((5,), dtype=torch.int64, low=-1, high=6), "x": Tensor((5, 6))},
    outputs={"out": {"expect": "Replicate"}},
    mesh=DP2,
    verdict="PROVED",
    why="Below the label's column, above it and twice there are all columns and once more there.",
)
case(
    "both_sides_of_a_place_infinite",
    seq=lambda y, x: whole_and_place(y, torch.log(x)),
    dist=lambda rank, y, x: sides_and_place(y, torch.log(x)),
    inputs={"y": Tensor((5,), dtype=torch.int64, low=-1, high=6), "x": Tensor((5, 6))},
    outputs={"out": {"expect": "Replicate"}},
    mesh=DP2,
    manifest={"facts": ["x >= 0"]},
    verdict="PROVED",
    accept=["UNKNOWN"],
    numeric=False,
    why="As above, but what is infinite must not be taken away from itself, so that this need not be proved.",
)


# --- two functions of the same arguments that are a whole together
NAMES = {"n": Tensor((6,), "Shard(0)@dp", dtype=torch.int64, low=0, high=12), "table": Tensor((12, 3))}
parts = case(
    "quotient_and_remainder",
    seq=lambda n, table: table[n],
    dist=local(lambda n, table: table[n // 4 * 4 + n % 4]),
    inputs=NAMES,
    outputs=ROWS,
    mesh=DP2,
    manifest={"facts": ["n in [0, 12)"]},
    verdict="PROVED",
    why="An index is the multiple of its quotient and the remainder.",
)
variant(
    parts,
    "other_divisor",
    dist=local(lambda n, table: table[n // 6 * 4 + n % 4]),
    why="The quotient is by another number.",
)
variant(
    parts,
    "rounded_to_zero",
    seq=lambda n, table: table[n],
    dist=local(lambda n, table: table[torch.div(n, 4, rounding_mode="trunc") * 4 + n % 4]),
    verdict="PROVED",
    why="What is not negative is rounded down by both.",
)

bounded = case(
    "larger_than_what_is_smaller",
    seq=lambda x, z: x + z,
    dist=local(lambda x, z: torch.maximum(x, torch.minimum(x, z)) + torch.minimum(z, torch.maximum(x, z))),
    inputs={"x": X["x"], "z": X["x"]},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="The smaller of x and z is never larger than x.",
)
variant(
    bounded,
    "smaller_twice",
    dist=local(lambda x, z: torch.minimum(x, torch.minimum(x, z)) + torch.minimum(z, torch.maximum(x, z))),
    why="The smaller of x and z is not x.",
)
variant(
    bounded,
    "undefined",
    seq=lambda x, z: 2 * x,
    dist=local(lambda x, z: 2 * torch.maximum(x, torch.minimum(x, torch.log(z)))),
    why="The logarithm may be undefined, and so is the smaller of it and x.",
)

halves = case(
    "positive_and_negative_part",
    seq=lambda x, z: (x * z).sum(1, keepdim=True) + x + z,
    dist=local(
        lambda x, z: (
            F.relu((x * z).sum(1, keepdim=True))
            - F.relu(-(x * z).sum(1, keepdim=True))
            + torch.maximum(x, z)
            + torch.minimum(x, z)
        )
    ),
    inputs={"x": X["x"], "z": X["x"]},
    outputs=ROWS,
    mesh=DP2,
    verdict="PROVED",
    why="The larger and the smaller of two are both.",
)
variant(
    halves,
    "of_others",
    seq=lambda x, z: x + z,
    dist=local(lambda x, z: torch.maximum(x, z) + torch.minimum(x, 2 * z)),
    why="The larger of two and the smaller of two others.",
)
