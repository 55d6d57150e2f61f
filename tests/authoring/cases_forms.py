# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Forms of tensors and terms that models other than decoders have: gradients of strided windows, grids of patches behind a token, norms of
many parts, comparisons that are read by an index, positions whose range alone keeps an index in bounds."""

import torch

from golden import Tensor, all_gather, all_reduce, all_to_all, case, variant

F = torch.nn.functional

OUT = {"out": {"expect": "Replicate"}}


# --- the gradient of a strided convolution leaves out positions
def input_gradient(rank, g, w, x, flip=False):
    back = torch.ops.aten.convolution_backward.default
    w = w.flip(2) if flip else w
    return (
        back(g, x, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False])[0].square().sum((0, 2, 3))
    )


strided = case(
    "convolution_stride_gradient",
    seq=lambda g, w, x: input_gradient(0, g, w, x),
    dist=lambda rank, g, w, x: all_reduce(input_gradient(rank, g, w, x)),
    inputs={
        "g": Tensor((4, 3, 3, 3), "Shard(0)@dp"),
        "w": Tensor((3, 2, 3, 3)),
        "x": Tensor((4, 2, 5, 5), "Shard(0)@dp"),
    },
    outputs=OUT,
    mesh={"dp": 2},
    verdict="PROVED",
    why="The gradient of each image is that of the image alone, wherever the windows' strides leave it.",
)
variant(
    strided,
    "flipped",
    dist=lambda rank, g, w, x: all_reduce(input_gradient(rank, g, w, x, flip=True)),
    why="The filters are turned round.",
)


# --- patches behind a token, flattened for a product
def patches(x, token, w, first=True):
    grid = x.flatten(2).transpose(1, 2)
    token = token.expand(x.shape[0], -1, -1)
    rows = torch.cat([token, grid] if first else [grid, token], 1)
    return (rows.reshape(-1, 4) @ w).view(*rows.shape[:2], 3)


vit = case(
    "patches_behind_token",
    seq=lambda x, token, w: patches(x, token, w),
    dist=lambda rank, x, token, w: patches(x, token, w),
    inputs={"x": Tensor((6, 4, 2, 3), "Shard(0)@dp"), "token": Tensor((1, 1, 4)), "w": Tensor((4, 3))},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 3},
    verdict="PROVED",
    why="Rows of seven: a token, then two rows of three patches.",
)
variant(
    vit,
    "token_last",
    dist=lambda rank, x, token, w: patches(x, token, w, first=False),
    why="The token stands behind the patches.",
)

# --- a norm over parts whose factors have long numerators and denominators
C, D = 0.1234567891, 0.9876543211
norm = case(
    "norm_with_long_factors",
    seq=lambda x, y: torch.sqrt(C * (x * x).sum() + D * (y * y).sum()) * y,
    dist=lambda rank, x, y: torch.sqrt(all_reduce(C * (x * x).sum() + D * (y * y).sum())) * y,
    inputs={"x": Tensor((4, 3), "Shard(0)@tp"), "y": Tensor((6,), "Shard(0)@tp")},
    outputs={"out": {"expect": "Shard(0)@tp"}},
    mesh={"tp": 2},
    verdict="PROVED",
    why="The root of such a factor does not fit into 64 bits; the factor stays below the root.",
)
variant(
    norm,
    "root_first",
    dist=lambda rank, x, y: all_reduce(torch.sqrt(C * (x * x).sum() + D * (y * y).sum())) * y,
    why="The ranks' norms are added instead of their squares.",
)


# --- a comparison of reals is read by an index
def picked(rank, x, label, offset=3):
    here = (torch.arange(3) + rank * offset) == label[:, None]
    return all_reduce((here * (x > 0)).to(torch.float32).sum(1))


chosen = case(
    "comparison_by_label",
    seq=lambda x, label: torch.gather((x > 0).to(torch.float32), 1, label[:, None])[:, 0],
    dist=picked,
    inputs={"x": Tensor((4, 6), "Shard(1)@tp"), "label": Tensor((4,), dtype=torch.int64, high=6)},
    outputs=OUT,
    mesh={"tp": 2},
    verdict="PROVED",
    why="The one class that is the label counts, on the rank that has it.",
    manifest={"facts": ["label in [0, 6)"]},
)
variant(
    chosen,
    "no_offset",
    dist=lambda rank, x, label: picked(rank, x, label, offset=0),
    why="Every rank takes its classes for the first ones.",
)


# --- an index that only its range keeps in bounds, below a comparison
def relative(x, table, turn=False):
    i = torch.arange(3)
    distance = (i[None] - i[:, None] if turn else i[:, None] - i[None]).clamp(min=0)
    return ((x + table[distance]) > 0).to(torch.float32).sum(0)


bias = case(
    "relative_positions_compared",
    seq=lambda x, table: relative(x, table),
    dist=lambda rank, x, table: all_reduce(relative(x, table)),
    inputs={"x": Tensor((4, 3, 3), "Shard(0)@dp"), "table": Tensor((3,))},
    outputs=OUT,
    mesh={"dp": 2},
    verdict="PROVED",
    why="Distances of three positions are below three, so nothing is undefined and the ranks' counts add up.",
)
variant(
    bias,
    "turned",
    dist=lambda rank, x, table: all_reduce(relative(x, table, turn=True)),
    why="The distances have the other sign.",
)


# --- tables read one by one: only the products behind them show that table t goes with column t
def pooled(tables, columns):
    rows = torch.stack([F.embedding(c, t).sum(1) for c, t in zip(columns, tables, strict=True)], 1)
    return rows @ rows.transpose(1, 2)


def exchanged(rank, table, index, column=None):
    full = all_gather(index, 2)
    mine = F.embedding(full[:, rank if column is None else column], table[0]).sum(1)
    rows = all_to_all(mine, [2, 2], [2, 2]).view(2, 2, 4).transpose(0, 1)
    return rows @ rows.transpose(1, 2)


tables = case(
    "embedding_tables_apart",
    seq=lambda table, index: pooled(table.unbind(0), index.unbind(1)),
    dist=exchanged,
    inputs={
        "table": Tensor((2, 5, 4), "Shard(0)@dp"),
        "index": Tensor((4, 2, 3), "Shard(0)@dp", dtype=torch.int64, high=5),
    },
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Each rank pools its table over all rows and sends the rows home.",
    manifest={"facts": ["index in [0, 5)"]},
)
variant(
    tables,
    "first_column",
    dist=lambda rank, table, index: exchanged(rank, table, index, column=0),
    why="Both tables are read by the first column.",
)


# --- one flat buffer of several parameters, in which the end of one rank's part continues at the start of the next
def buffered(rank, w, v, start=11):
    rows = all_gather(torch.cat([w.flatten(), v, w.flatten()]), 2).view(2, 17)
    return rows[:, :6].reshape(4, 3) + rows[:, start : start + 6].reshape(4, 3), rows[:, 6:11].reshape(10)


flat = case(
    "flat_buffer_of_parameters",
    seq=lambda w, v: (2 * w, v + 0),
    dist=buffered,
    inputs={"w": Tensor((4, 3), "Shard(0)@dp"), "v": Tensor((10,), "Shard(0)@dp")},
    outputs={"out": {"expect": "Replicate"}, "rest": {"expect": "Replicate"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="w stands twice in the buffer, as a tied weight does.",
)
variant(
    flat,
    "one_early",
    dist=lambda rank, w, v: buffered(rank, w, v, start=10),
    statuses={"rest": "PROVED"},
    why="The second copy is read from one element before it.",
)


# --- a column behind the scores, which takes part in the maximum
def with_sink(q, k, sink, turn=False):
    scores = q @ k.transpose(1, 2)
    column = (
        (sink.flip(0) if turn else sink)[None, :, None].expand(scores.shape[0], -1, scores.shape[1]).transpose(1, 2)
    )
    both = torch.cat([scores, column[:, :, :1]], -1)
    return torch.exp(both - both.amax(-1, keepdim=True))[..., :-1]


sink = case(
    "attention_sink",
    seq=lambda q, k, sink: with_sink(q, k, sink),
    dist=lambda rank, q, k, sink: with_sink(q, k, sink),
    inputs={"q": Tensor((4, 3, 2), "Shard(0)@dp"), "k": Tensor((4, 3, 2), "Shard(0)@dp"), "sink": Tensor((3,))},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The maximum is that of the scores of a row and of the sink.",
)
variant(
    sink,
    "turned",
    dist=lambda rank, q, k, sink: with_sink(q, k, sink, turn=True),
    why="The sinks are in another order.",
)

# --- counting the classes behind a label
count = case(
    "classes_behind_a_label",
    seq=lambda x, label: x * (torch.arange(12) > label[:, None]).to(torch.float32).sum(1),
    dist=lambda rank, x, label: x * (11 - label).to(torch.float32),
    inputs={"x": Tensor((4,), "Shard(0)@dp"), "label": Tensor((4,), "Shard(0)@dp", dtype=torch.int64, high=12)},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Of twelve classes 11 - label are behind the label.",
    manifest={"facts": ["label in [0, 12)"]},
)
variant(
    count,
    "with_the_label",
    dist=lambda rank, x, label: x * (12 - label).to(torch.float32),
    why="The label's own class counts, too.",
)


# --- a window of three, and ranks with two rows: none of the first rank's rows sees its far end
def windowed(q, k, v, first=0):
    i, j = torch.arange(q.shape[0])[:, None] + first, torch.arange(k.shape[0])[None]
    scores = torch.exp(q @ k.t()) * ((j <= i) & (j > i - 3))
    return (scores @ v) / scores.sum(1, keepdim=True)


window = case(
    "sliding_window_few_rows",
    seq=lambda q, k, v: windowed(q, k, v),
    dist=lambda rank, q, k, v: windowed(q, all_gather(k, 4), all_gather(v, 4), first=2 * rank),
    inputs={n: Tensor((8, 2), "Shard(0)@cp") for n in "qkv"},
    outputs={"out": {"expect": "Shard(0)@cp"}},
    mesh={"cp": 4},
    verdict="PROVED",
    why="Rows 0 and 1 have no position before the window, so its far end never shows.",
)
variant(
    window,
    "from_the_start",
    dist=lambda rank, q, k, v: windowed(q, all_gather(k, 4), all_gather(v, 4)),
    why="Every rank takes its rows for the first ones.",
)


# --- a masked mean of values that may be undefined
def masked_mean(x, y, v, scale=1.0):
    return torch.where(x > 0, y * torch.sqrt(v), 0.0).mean(0) * scale


masked = case(
    "masked_mean_of_roots",
    seq=lambda x, y, v: masked_mean(x, y, v),
    dist=lambda rank, x, y, v: all_reduce(masked_mean(x, y, v), "avg"),
    inputs={"x": Tensor((4, 3), "Shard(0)@dp"), "y": Tensor((4, 3), "Shard(0)@dp"), "v": Tensor((3,))},
    outputs=OUT,
    mesh={"dp": 2},
    verdict="PROVED",
    numeric=False,  # NaN where v is negative, on both sides
    why="Each rank's mean is over half of the rows.",
)
variant(
    masked, "summed", dist=lambda rank, x, y, v: all_reduce(masked_mean(x, y, v)), why="The ranks' means are added."
)


# --- positions of maxima within windows are a table that does not know the batch
def pooled_gradient(rank, x, g, shift=0):
    values, where = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], [2, 2])
    back = torch.ops.aten.max_pool2d_with_indices_backward.default(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, where)
    return (values.sum(0), (back.roll(shift, 3) * x).sum(0))


pool = case(
    "pooling_gradient",
    seq=lambda x, g: pooled_gradient(0, x, g),
    dist=lambda rank, x, g: tuple(all_reduce(t) for t in pooled_gradient(rank, x, g)),
    inputs={"x": Tensor((4, 2, 4, 4), "Shard(0)@dp"), "g": Tensor((4, 2, 2, 2), "Shard(0)@dp")},
    outputs={"out": {"expect": "Replicate"}, "back": {"expect": "Replicate"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Each image's maxima are its own.",
)
variant(
    pool,
    "shifted",
    dist=lambda rank, x, g: tuple(all_reduce(t) for t in pooled_gradient(rank, x, g, shift=1)),
    statuses={"out": "PROVED"},
    why="The gradient lies one column beside the maximum.",
)


# --- rotation by complex numbers, with a real factor among them
def turned(x, angle, back=False):
    z = torch.view_as_complex(x) * (torch.polar(torch.ones_like(angle), -angle if back else angle) * 1.0)
    return torch.view_as_real(z).square().sum((0, 2)) + torch.view_as_real(z)[..., 0].sum(0)


rotation = case(
    "complex_rotation_scaled",
    seq=lambda x, angle: turned(x, angle),
    dist=lambda rank, x, angle: all_reduce(turned(x, angle)),
    inputs={"x": Tensor((4, 3, 2), "Shard(0)@dp"), "angle": Tensor((3,))},
    outputs=OUT,
    mesh={"dp": 2},
    verdict="PROVED",
    why="A product with the real number 1 leaves nothing undefined.",
)
variant(
    rotation,
    "turned_back",
    dist=lambda rank, x, angle: all_reduce(turned(x, angle, back=True)),
    why="The angles have the other sign.",
)


# --- bags of rows of which each rank holds some
def bag(rank, table, index, mask=True):
    own = index - 3 * rank
    missing = (own < 0) | (own >= 3)
    rows = F.embedding(own.masked_fill(missing, 0), table)
    pooled = all_reduce((rows * (~missing)[..., None] if mask else rows).sum(1))
    return pooled @ pooled.t()


bags = case(
    "embedding_bag_by_rows",
    seq=lambda table, index: F.embedding(index, table).sum(1) @ F.embedding(index, table).sum(1).t(),
    dist=bag,
    inputs={"table": Tensor((6, 4), "Shard(0)@tp"), "index": Tensor((4, 3), dtype=torch.int64, high=6)},
    outputs=OUT,
    mesh={"tp": 2},
    verdict="PROVED",
    why="Each row of a bag is on one rank; the others add zeros.",
    manifest={"facts": ["index in [0, 6)"]},
)
variant(
    bags,
    "not_masked",
    dist=lambda rank, table, index: bag(rank, table, index, mask=False),
    why="The other ranks add their first row.",
)


# --- one row on each rank
def bias_gradient(x, label, rows):
    hot = (torch.arange(5) == label[:, None]).to(torch.float32)
    return (torch.softmax(x, 1) - hot).sum(0) / rows


single = case(
    "one_row_a_rank",
    seq=lambda x, label: bias_gradient(x, label, 4),
    dist=lambda rank, x, label: all_reduce(bias_gradient(x, label, 1), "avg"),
    inputs={"x": Tensor((4, 5), "Shard(0)@dp"), "label": Tensor((4,), "Shard(0)@dp", dtype=torch.int64, high=5)},
    outputs=OUT,
    mesh={"dp": 4},
    verdict="PROVED",
    why="The labels of four rows are four places of one tensor.",
    manifest={"facts": ["label in [0, 5)"]},
)
variant(
    single,
    "summed",
    dist=lambda rank, x, label: all_reduce(bias_gradient(x, label, 1)),
    why="The rows are added instead of averaged.",
)


# --- nested sums that the ranks group in another way (L-65)
def absorbed_output(q, c, up, down):
    """Attention with the up-projection of keys and values multiplied into the query and the context, as MLA decodes."""
    heads = q.unflatten(1, (-1, 3))  # [tokens, heads of this rank, 3]
    own = up.unflatten(0, (-1, 3))  # [heads of this rank, 3, latent]
    weights = torch.softmax(torch.einsum("thl,sl->hts", torch.einsum("thd,hdl->thl", heads, own), c), -1)
    context = torch.einsum("hts,sl->thl", weights, c)
    return torch.einsum("thl,hdl->thd", context, own).flatten(1) @ down


def plain_attention(q, c, up, down):
    heads = q.unflatten(1, (-1, 3))
    keys = (c @ up.t()).unflatten(1, (-1, 3))
    weights = torch.softmax(torch.einsum("thd,shd->hts", heads, keys), -1)
    return torch.einsum("hts,shd->thd", weights, keys).flatten(1) @ down


mla = case(
    "absorbed_projection",
    seq=lambda q, c, up, down: plain_attention(q, c, up, down).sum(0),
    dist=lambda rank, q, c, up, down: all_reduce(absorbed_output(q, c, up, down).sum(0)),
    inputs={
        "q": Tensor((4, 12), "Shard(1)@tp"),
        "c": Tensor((4, 5), "Replicate"),
        "up": Tensor((12, 5), "Shard(0)@tp"),
        "down": Tensor((12, 6), "Shard(0)@tp"),
    },
    outputs=OUT,
    mesh={"tp": 2},
    verdict="PROVED",
    why="The keys' projection is multiplied into the query and out of the context: the same sums in another order.",
)
variant(
    mla,
    "not_reduced",
    dist=lambda rank, q, c, up, down: absorbed_output(q, c, up, down).sum(0),
    why="Each rank has its own heads.",
)


# The gradient of a product of normalised rows: the ranks sum over their rows first, the one-device program over the features.
def scale_gradient(x, y, t):
    """d/dt of the sum of squares of exp(t) u(x) u(y)^T, u: rows of norm 1."""
    u, v = (z * torch.rsqrt(z.square().sum(1, keepdim=True) + 1) + 0.5 * z for z in (x, y))
    s = torch.tanh(torch.exp(t) * (u @ v.t()))
    return u, v, s


def by_columns(x, y, scale):
    u, v, s = scale_gradient(x, y, scale)
    return ((s.t() @ u) * v).sum() * torch.exp(scale)


def by_rows(rank, x, y, scale, half=1.0):
    u, v, s = scale_gradient(x, all_gather(y, 2), scale)
    return all_reduce((u * (s @ v)).sum() * torch.exp(scale) * half)


rows = case(
    "similarity_scale_gradient",
    seq=by_columns,
    dist=by_rows,
    inputs={
        "x": Tensor((4, 3), "Shard(0)@dp"),
        "y": Tensor((4, 3), "Shard(0)@dp"),
        "scale": Tensor((), "Replicate"),
    },
    outputs=OUT,
    mesh={"dp": 2},
    verdict="PROVED",
    why="sum over j of v_j sum over i of s_ij u_i is sum over i of u_i sum over j of s_ij v_j.",
)
variant(
    rows,
    "averaged",
    dist=lambda rank, x, y, scale: by_rows(rank, x, y, scale, half=0.5),
    why="The ranks' parts are averaged.",
)


# --- weights written to the places of the largest logits, rows on ranks
def spread_weights(logits):
    w, at = logits.softmax(-1).topk(2, -1)
    return torch.zeros_like(logits).scatter(-1, at, w / w.sum(-1, keepdim=True)).cumsum(0)


def spread_rows(rank, logits, back=0):
    w, at = logits.softmax(-1).topk(2, -1)
    own = torch.zeros_like(logits).scatter(-1, (at + back).clamp(max=4), w / w.sum(-1, keepdim=True))
    return all_gather(own, 2).cumsum(0)


placed = case(
    "scatter_along_by_rows",
    seq=spread_weights,
    dist=spread_rows,
    inputs={"logits": Tensor((6, 5), "Shard(0)@ep")},
    outputs=OUT,
    mesh={"ep": 2},
    verdict="PROVED",
    why="Along one dimension every other one is read at one place by data, index and update.",
)
variant(
    placed,
    "next_expert",
    dist=lambda rank, logits: spread_rows(rank, logits, back=1),
    why="The weights go to the expert behind the chosen one.",
)


# --- a rank's rows of a padded window reach one border only (L-54)
def pooled_image(x, w, padding=(0, 1)):
    return F.avg_pool2d(F.relu(F.conv2d(x, w, padding=padding)), 2)


def with_halo(rank, x, w, wraps=False):
    """The rank's four rows, one more on either side; zeros (or, wrongly, the other end) behind the border."""
    full = all_gather(x, 2, dim=2)
    border = full if wraps else torch.zeros_like(full)
    rows = torch.cat([border[:, :, -1:], full, border[:, :, :1]], 2)
    return pooled_image(rows[:, :, 4 * rank : 4 * rank + 6], w)


spatial = case(
    "convolution_rows_pooled",
    seq=lambda x, w: pooled_image(x, w, (1, 1)),
    dist=with_halo,
    inputs={"x": Tensor((2, 3, 8, 6), "Shard(2)@tp"), "w": Tensor((4, 3, 3, 3), "Replicate")},
    outputs={"out": {"expect": "Shard(2)@tp"}},
    mesh={"tp": 2},
    verdict="PROVED",
    why="Either rank has one border of the image; the other end of the window is out of its reach.",
)
variant(
    spatial,
    "wraps",
    dist=lambda rank, x, w: with_halo(rank, x, w, wraps=True),
    why="Behind the border are the rows of the other end.",
)


# --- the norm of the one element that a rank holds (L-66)
def clipped(x, total):
    return x * torch.clamp(1 / (total + 1e-6), max=1.0)


def clipped_by_norms(rank, x, square=True):
    own = torch.linalg.vector_norm(x)
    return clipped(x, torch.sqrt(all_reduce(own.square() if square else own)))


one_element = case(
    "norm_of_one_element",
    seq=lambda x: clipped(x, torch.linalg.vector_norm(x)),
    dist=clipped_by_norms,
    inputs={"x": Tensor((3,), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="Three elements on two ranks: the norm of the last one is its absolute value, whose square is its square.",
)
variant(
    one_element,
    "norms_added",
    dist=lambda rank, x: clipped_by_norms(rank, x, square=False),
    why="The root of a sum of norms is no norm.",
)


# --- a threshold that ordinary inputs do not reach
def clipped_at_20(x, total):
    return x * torch.clamp(20 / (total + 1e-6), max=1.0)


threshold = case(
    "clip_threshold",
    seq=lambda x: clipped_at_20(x, torch.linalg.vector_norm(x)),
    dist=lambda rank, x: clipped_at_20(x, torch.sqrt(all_reduce(torch.linalg.vector_norm(x).square()))),
    inputs={"x": Tensor((4, 3), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="The norm of all rows is the root of the sum of the ranks' squares.",
)
variant(
    threshold,
    "own_norm",
    dist=lambda rank, x: clipped_at_20(x, torch.linalg.vector_norm(x)),
    numeric=False,
    why="Each rank clips by its own norm, which shows only where something is clipped.",
)


# --- the norm of a gradient in flat shards that cut its rows, the last one padded
def clipped_flat(rank, x, w, shards=4):
    g = x.T @ torch.tanh(x @ w)
    size = -(-g.numel() // shards)
    flat = F.pad(g.reshape(-1), (0, size * shards - g.numel()))
    own = flat[rank * size : (rank + 1) * size]
    norm = torch.sqrt(all_reduce((own * own).sum()) + 1e-4)
    return g * torch.clamp(2.0 / norm, max=1.0)


def clipped_whole(x, w):
    g = x.T @ torch.tanh(x @ w)
    return g * torch.clamp(2.0 / torch.sqrt((g * g).sum() + 1e-4), max=1.0)


flat_norm = case(
    "norm_of_flat_shards",
    seq=clipped_whole,
    dist=clipped_flat,
    inputs={"x": Tensor((2, 3)), "w": Tensor((3, 5))},
    outputs=OUT,
    mesh={"dp": 4},
    verdict="PROVED",
    why="Fifteen elements in four shards of four: each shard has the end of one row and the start of the next.",
)
variant(
    flat_norm,
    "one_shard_short",
    dist=lambda rank, x, w: clipped_flat(rank % 3, x, w),
    why="The last rank adds the first shard again.",
)


# --- a column of an array on each rank: what each puts into zeros is read by an index after they are added
def column_of_rank(rank, x, w, index, shift=0):
    own = torch.tanh(x @ w)
    at = (rank + shift) % 3
    columns = all_reduce(F.pad(own[..., None], (at, 2 - at)))
    return torch.gather(columns, -1, index)


one_column = case(
    "column_of_each_rank",
    seq=lambda x, w, index: torch.gather(torch.tanh(torch.einsum("td,ed->te", x, w)), -1, index),
    dist=lambda rank, x, w, index: column_of_rank(rank, x, w[0], index),
    inputs={
        "x": Tensor((4, 2)),
        "w": Tensor((3, 2), "Shard(0)@ep"),
        "index": Tensor((4, 2), dtype=torch.int64, high=3),
    },
    outputs=OUT,
    mesh={"ep": 3},
    verdict="PROVED",
    why="One expert on each rank.",
)
variant(
    one_column,
    "next_column",
    dist=lambda rank, x, w, index: column_of_rank(rank, x, w[0], index, shift=1),
    why="Each rank puts its column where the next one's belongs.",
)


# --- the gradient of a router with capacity: what each token sends goes to its first expert, its second gets zero
def to_first(z, y, capacity=2):
    index = torch.topk(z, 2).indices
    first = (index[..., :1] == torch.arange(4)).to(torch.int64)
    place = (torch.cumsum(first, 1) * first).sum(-1)
    sent = (y * first.to(torch.float32) * (place < capacity)[..., None].to(torch.float32)).sum(-1)
    return torch.scatter(torch.zeros_like(z), -1, index, F.pad(sent[..., None], (0, 1)))


sent_first = case(
    "scatter_of_pieces_with_capacity",
    seq=to_first,
    dist=lambda rank, z, y: to_first(z, y),
    inputs={"z": Tensor((2, 3, 4), "Shard(0)@dp"), "y": Tensor((2, 3, 4), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="What is written lies in pieces along the slots, and a rank's part of it is the part of the whole.",
)
variant(
    sent_first,
    "more_capacity",
    dist=lambda rank, z, y: to_first(z, y, capacity=3),
    why="The ranks drop fewer tokens.",
)


# --- what is put into zeros by an index has the factors of its values: means over other numbers of rows
def to_router(z, y, x, rows, k=2):
    i = z.topk(k, -1).indices
    g = torch.zeros_like(z).scatter(-1, i, y / rows)
    return g.reshape(-1, z.shape[-1]).T @ x.reshape(-1, x.shape[-1])


router = case(
    "router_gradient_of_a_mean",
    seq=lambda z, y, x: to_router(z, y, x, 12),
    dist=lambda rank, z, y, x: all_reduce(to_router(z, y, x, 6)) / 2,
    inputs={
        "z": Tensor((4, 3, 5), "Shard(0)@dp"),
        "y": Tensor((4, 3, 2), "Shard(0)@dp"),
        "x": Tensor((4, 3, 3), "Shard(0)@dp"),
    },
    outputs=OUT,
    mesh={"dp": 2},
    verdict="PROVED",
    why="The gradient of the chosen logits is scattered into zeros; each rank takes the mean over its own rows.",
)
variant(
    router,
    "not_averaged",
    dist=lambda rank, z, y, x: all_reduce(to_router(z, y, x, 6)),
    why="The sum of the ranks' means is twice the mean.",
)


# --- powers of a constant, as XLA writes the frequencies of rotary positions
def frequencies(x, sign):
    k = torch.arange(x.shape[-1]) / x.shape[-1]
    return torch.cos(x / torch.pow(10000.0, k)) if sign is None else torch.cos(x * torch.pow(10000.0, sign * k))


rotary = case(
    "inverse_power_of_constant",
    seq=lambda x: frequencies(x, None),
    dist=lambda rank, x: frequencies(x, -1.0),
    inputs={"x": Tensor((4, 6), "Shard(0)@dp")},
    outputs={"out": {"expect": "Shard(0)@dp"}},
    mesh={"dp": 2},
    verdict="PROVED",
    why="x / c^k is x c^-k.",
)
variant(rotary, "not_inverted", dist=lambda rank, x: frequencies(x, 1.0), why="The power is not inverted.")
