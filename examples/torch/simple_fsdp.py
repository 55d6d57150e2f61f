# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Fully sharded data parallelism as parametrizations of DTensors (SimpleFSDP).

Each parameter is cut on its first dimension; where the model uses it, it is gathered, and its gradient is averaged and cut again.

python examples/torch/simple_fsdp.py            # proved: the loss and every gradient
python examples/torch/simple_fsdp.py --broken   # the gradients of one layer are summed, not averaged
"""

from __future__ import annotations

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.nn.utils import parametrize

import shardproof.torch as sp


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(8, 12)
        self.down = nn.Linear(12, 8, bias=False)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(x + self.down(F.gelu(self.up(x))), target)


class Gathered(nn.Module):
    """The whole parameter, from its parts; backwards, the reduction of the gradient."""

    def __init__(self, reduction: str) -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, part: DTensor) -> torch.Tensor:
        return part.redistribute(placements=[Replicate()]).to_local(grad_placements=[Partial(self.reduction)])


def shard(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    for name, module in list(model.named_modules()):
        reduction = "sum" if "--broken" in sys.argv and name == "down" else "avg"
        for key, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, key, nn.Parameter(distribute_tensor(parameter, mesh["dp"], [Shard(0)])))
            parametrize.register_parametrization(module, key, Gathered(reduction), unsafe=True)
    return model


def main() -> None:
    batch = (torch.zeros(4, 8), torch.zeros(4, 8))
    report = sp.verify(Net, shard, {"dp": 2}, batch)
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
