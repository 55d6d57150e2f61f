# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A small Llama, and its tensor, sequence and fully sharded data parallel form by PyTorch's own parallelize_module and fully_shard.

python examples/torch/llama.py              proves it
python examples/torch/llama.py --broken     the attention's output projection forgets its reduction
"""

from __future__ import annotations

import dataclasses
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


@dataclasses.dataclass
class Config:
    vocab: int = 64
    dim: int = 32
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    hidden: int = 48
    sequence: int = 16


def rotary(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions on [batch, sequence, heads, size]."""
    half = x.shape[-1] // 2
    frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float32, device=x.device) / half)
    angle = torch.outer(torch.arange(x.shape[1], dtype=torch.float32, device=x.device), frequency)
    cos, sin = angle.cos()[:, None, :], angle.sin()[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Attention(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.size = c.dim // c.heads
        self.wq = nn.Linear(c.dim, c.heads * self.size, bias=False)
        self.wk = nn.Linear(c.dim, c.kv_heads * self.size, bias=False)
        self.wv = nn.Linear(c.dim, c.kv_heads * self.size, bias=False)
        self.wo = nn.Linear(c.heads * self.size, c.dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, -1, self.size) for p in (self.wq, self.wk, self.wv))
        q, k = rotary(q), rotary(k)
        repeat = q.shape[2] // k.shape[2]
        k, v = (t.repeat_interleave(repeat, 2).transpose(1, 2) for t in (k, v))
        scores = q.transpose(1, 2) @ k.transpose(-1, -2) / self.size**0.5
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(mask, float("-inf")), -1)
        return self.wo((weights @ v).transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(c.dim, eps=1e-5)
        self.attention = Attention(c)
        self.ffn_norm = nn.RMSNorm(c.dim, eps=1e-5)
        self.w1 = nn.Linear(c.dim, c.hidden, bias=False)
        self.w2 = nn.Linear(c.hidden, c.dim, bias=False)
        self.w3 = nn.Linear(c.dim, c.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        h = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Llama(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.embed = nn.Embedding(c.vocab, c.dim)
        self.layers = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = nn.RMSNorm(c.dim, eps=1e-5)
        self.head = nn.Linear(c.dim, c.vocab, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def tensor_parallel(model: Llama, mesh: DeviceMesh, broken: bool = False) -> Llama:
    """Megatron-style tensor and sequence parallelism: activations between blocks are cut along the sequence."""
    parallelize_module(
        model,
        mesh,
        {
            "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        },
    )
    for block in model.layers:
        plan = {
            "attention_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "attention.wq": ColwiseParallel(),
            "attention.wk": ColwiseParallel(),
            "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "ffn_norm": SequenceParallel(),
            "w1": ColwiseParallel(input_layouts=Shard(1)),
            "w3": ColwiseParallel(input_layouts=Shard(1)),
            "w2": RowwiseParallel(output_layouts=Shard(1)),
        }
        parallelize_module(block, mesh, plan)
        if broken:
            # The partial sums are scattered as if they were the sums.
            block.attention.wo.register_forward_hook(forget_reduction, prepend=True)
    return model


def forget_reduction(module: nn.Module, args: tuple, output: torch.Tensor) -> torch.Tensor:
    from torch.distributed.tensor import DTensor

    if isinstance(output, DTensor) and output.placements == (Partial(),):
        return DTensor.from_local(output.to_local(), output.device_mesh, (Replicate(),), run_check=False)
    return output


def parallelize(model: Llama, mesh: DeviceMesh) -> Llama:
    from torch.distributed.fsdp import fully_shard

    if "tp" in mesh.mesh_dim_names:
        tensor_parallel(model, mesh["tp"], broken="--broken" in sys.argv)
    if "dp" in mesh.mesh_dim_names:
        for block in model.layers:
            fully_shard(block, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    return model


def batch(c: Config, rows: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(rows, c.sequence, dtype=torch.int64), torch.zeros(rows, c.sequence, dtype=torch.int64)


def main() -> None:
    import shardproof.torch as sp

    config = Config()
    report = sp.verify(lambda: Llama(config), parallelize, {"dp": 2, "tp": 2}, batch(config))
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
