# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A transformer block with a loss, and its tensor-parallel form written by hand, as in Megatron; once right and once with a mistake.

`python model.py` captures both into the folders right/ and wrong/ (they are in the repository, so the demo needs no PyTorch).
"""

import pathlib
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

HEADS, DIM, HIDDEN = 4, 32, 64


class EnterParallel(torch.autograd.Function):
    """Every rank uses the same activation, so its gradient is the sum over the ranks."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class ForgetfulEnterParallel(EnterParallel):
    """The mistake: the gradient is not reduced. Training runs, and the layer norms and everything before them learn from a part of it."""

    @staticmethod
    def backward(ctx, grad):
        return grad


class LeaveParallel(torch.autograd.Function):
    """Each rank has a partial sum of the activation."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Block(nn.Module):
    """Causal self-attention and a gelu MLP over this rank's heads and hidden units."""

    def __init__(self, ranks=1, enter=EnterParallel):
        super().__init__()
        self.ranks, self.enter = ranks, enter
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.query, self.key, self.value = (nn.Linear(DIM, DIM // ranks, bias=False) for _ in range(3))
        self.output = nn.Linear(DIM // ranks, DIM, bias=False)
        self.up = nn.Linear(DIM, HIDDEN // ranks)
        self.down = nn.Linear(HIDDEN // ranks, DIM, bias=False)
        self.down_bias = nn.Parameter(torch.zeros(DIM))

    def attention(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            p(x).view(batch, length, HEADS // self.ranks, -1).transpose(1, 2)
            for p in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) * (DIM // HEADS) ** -0.5
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
        return self.output((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, -1))

    def reduce(self, x):
        return LeaveParallel.apply(x) if self.ranks > 1 else x

    def spread(self, x):
        return self.enter.apply(x) if self.ranks > 1 else x

    def forward(self, x, target):
        x = x + self.reduce(self.attention(self.spread(self.norm1(x))))
        h = F.gelu(self.up(self.spread(self.norm2(x))))
        x = x + self.reduce(self.down(h)) + self.down_bias
        return F.mse_loss(x, target)


PLACEMENTS = {
    **{f"{name}.weight": "Shard(0)@tp" for name in ("query", "key", "value", "up")},
    "up.bias": "Shard(0)@tp",
    "output.weight": "Shard(1)@tp",
    "down.weight": "Shard(1)@tp",
}


def main():
    import shardproof.torch as sp

    here = pathlib.Path(__file__).parent
    sys.path.insert(0, str(here))
    batch = (torch.zeros(2, 8, DIM), torch.zeros(2, 8, DIM))
    for name, enter in (("right", EnterParallel), ("wrong", ForgetfulEnterParallel)):
        made = sp.capture_pair(
            lambda: Block(),
            None,
            {"tp": 2},
            batch,
            distributed_model=lambda enter=enter: Block(2, enter),
            placements=PLACEMENTS,
        )
        made.save(here / name)


if __name__ == "__main__":
    main()
