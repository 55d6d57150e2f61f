# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism for Transformers' GPT-2, which has no plan upstream: Megatron's, on plain tensors.

The fused projection of queries, keys and values is a row of three blocks, each cut by heads; the output projections are row-parallel, with
the bias added after the reduction.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn

_F = torch.ops._c10d_functional


def _all_reduce(x: torch.Tensor, group: str) -> torch.Tensor:
    return _F.wait_tensor(_F.all_reduce(x, "sum", group))  # type: ignore[no-any-return]


class _Enter(torch.autograd.Function):
    """Into the parallel region: the same value everywhere; its gradient is the sum over ranks."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: str) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        return _all_reduce(gradient, ctx.group), None


class _Leave(torch.autograd.Function):
    """Out of it: partial sums are added; each rank's gradient is that of the sum."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: str) -> torch.Tensor:
        return _all_reduce(x, group)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        return gradient, None


class _ColumnConv1D(nn.Module):
    """Transformers' Conv1D (x @ weight + bias) with this rank's columns of each block."""

    def __init__(self, layer: Any, rank: int, size: int, group: str, blocks: int) -> None:
        super().__init__()
        self.group = group
        self.weight, self.bias = (
            nn.Parameter(_columns(p.detach(), rank, size, blocks)) for p in (layer.weight, layer.bias)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = _Enter.apply(x, self.group)
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class _RowConv1D(nn.Module):
    """Conv1D with this rank's rows; the bias, which every rank has, is added to the sum."""

    def __init__(self, layer: Any, rank: int, size: int, group: str) -> None:
        super().__init__()
        self.group = group
        self.weight = nn.Parameter(torch.chunk(layer.weight.detach(), size, 0)[rank].clone())
        self.bias = layer.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)
        return _Leave.apply(y, self.group) + self.bias  # type: ignore[no-any-return]


def _columns(tensor: torch.Tensor, rank: int, size: int, blocks: int) -> torch.Tensor:
    return torch.cat([torch.chunk(b, size, -1)[rank] for b in torch.chunk(tensor, blocks, -1)], -1)


def tensor_parallel(model: Any, mesh: Any) -> nn.Module:
    """Replaces the projections of every block; embeddings, norms and the head stay whole."""
    size, rank, group = mesh.size(), mesh.get_local_rank(), str(mesh.get_group().group_name)
    assert dist.is_initialized()
    for block in model.transformer.h:
        attention, mlp = block.attn, block.mlp
        attention.c_attn = _ColumnConv1D(attention.c_attn, rank, size, group, 3)
        attention.c_proj = _RowConv1D(attention.c_proj, rank, size, group)
        mlp.c_fc = _ColumnConv1D(mlp.c_fc, rank, size, group, 1)
        mlp.c_proj = _RowConv1D(mlp.c_proj, rank, size, group)
        attention.num_heads //= size
        attention.split_size //= size
        attention.embed_dim //= size
    return model  # type: ignore[no-any-return]


def placements() -> dict[str, str]:
    return {
        "*.attn.c_attn.weight": "Shard(1, blocks=3)@tp",
        "*.attn.c_attn.bias": "Shard(0, blocks=3)@tp",
        "*.attn.c_proj.weight": "Shard(0)@tp",
        "*.mlp.c_fc.weight": "Shard(1)@tp",
        "*.mlp.c_fc.bias": "Shard(0)@tp",
        "*.mlp.c_proj.weight": "Shard(0)@tp",
    }
