# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A mixture of experts with a fixed capacity, written by hand: each of two ranks has half of the experts and half of the tokens.

Every expert takes `capacity` slots of tokens from each rank. An all-to-all brings the slots to the ranks of their experts, and one brings the results back.

python examples/torch/moe.py            # proved: loss, and the gradients of router and experts
python examples/torch/moe.py --broken   # the way back is forgotten: each rank combines its own experts' results
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import all_to_all_single_autograd

import shardproof.torch as sp

EXPERTS, WIDTH, HIDDEN, TOKENS = 4, 8, 6, 3


class Experts(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.up = nn.Parameter(torch.empty(count, WIDTH, HIDDEN))
        self.down = nn.Parameter(torch.empty(count, HIDDEN, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [experts, slots, width]
        return torch.bmm(F.silu(torch.bmm(x, self.up)), self.down)


class Layer(nn.Module):
    """Every token has a slot at every expert, weighted by the router: nothing is dropped, and all shapes are fixed."""

    def __init__(self, ranks: int = 1) -> None:
        super().__init__()
        self.ranks = ranks
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = Experts(EXPERTS // ranks)

    def exchange(self, x: torch.Tensor) -> torch.Tensor:
        return all_to_all_single_autograd(x.contiguous(), None, None, dist.group.WORLD) if self.ranks > 1 else x

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        weights = F.softmax(self.router(x), -1)
        slots = x.expand(EXPERTS, *x.shape)  # [experts, tokens, width]
        there = self.exchange(slots)  # from every rank, the slots of my experts
        there = there.unflatten(0, (self.ranks, -1)).transpose(0, 1).flatten(1, 2)
        done = self.experts(there)
        back = done.unflatten(1, (self.ranks, -1)).transpose(0, 1).flatten(0, 1)
        if "--broken" not in sys.argv:
            back = self.exchange(back)
        return F.mse_loss(x + torch.einsum("te,etw->tw", weights, back), target)


def average_router(model: nn.Module) -> None:
    """The experts' gradients are complete but for the mean over the batch; the router's are each rank's own."""
    for name, parameter in model.named_parameters():
        if "router" in name:
            dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def main() -> None:
    batch = (torch.zeros(2 * TOKENS, WIDTH), torch.zeros(2 * TOKENS, WIDTH))
    report = sp.verify(
        Layer,
        None,
        {"ep": 2},
        batch,
        distributed_model=lambda: Layer(2),
        input_placements={"x": "Shard(0)@ep", "target": "Shard(0)@ep"},
        expect={"loss": "Partial(avg)@ep"},
        after_backward=average_router,
    )
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
