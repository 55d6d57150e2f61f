# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Forms of tensors and terms that models other than decoders have: gradients of strided windows, grids of patches behind a token, norms of
many parts, comparisons that are read by an index, positions whose range alone keeps an index in bounds."""

import torch

from golden import Tensor, all_reduce, case, variant

OUT = {"out": {"expect": "Replicate"}}


# --- the gradient of a strided convolution leaves out positions
def input_gradient(rank, g, w, x, flip=False):
    back = torch.ops.aten.convolution_backward.default
    w = w.flip(2) if flip else w
    return back(g, x, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False])[0].square().sum((0, 2, 3))


strided = case(
    "convolution_stride_gradient",
    seq=lambda g, w, x: input_gradient(0, g, w, x),
    dist=lambda rank, g, w, x: all_reduce(input_gradient(rank, g, w, x)),
    inputs={"g": Tensor((4, 3, 3, 3), "Shard(0)@dp"), "w": Tensor((3, 2, 3, 3)), "x": Tensor((4, 2, 5, 5), "Shard(0)@dp")},
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
variant(vit, "token_last", dist=lambda rank, x, token, w: patches(x, token, w, first=False), why="The token stands behind the patches.")

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
variant(chosen, "no_offset", dist=lambda rank, x, label: picked(rank, x, label, offset=0), why="Every rank takes its classes for the first ones.")


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
variant(bias, "turned", dist=lambda rank, x, table: all_reduce(relative(x, table, turn=True)), why="The distances have the other sign.")
