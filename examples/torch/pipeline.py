# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""torch.distributed.pipelining: a network in two stages, driven by a schedule over four microbatches.

python examples/torch/pipeline.py [ScheduleGPipe|Schedule1F1B]   # proved: loss and every gradient
python examples/torch/pipeline.py Schedule1F1B --broken          # the schedule adds up the microbatches' gradients and does not scale them
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed import pipelining

import shardproof.torch.pipelining as pp

LAYERS, STAGES, WIDTH, MICROBATCHES = 4, 2, 8, 4


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({str(i): nn.Linear(WIDTH, WIDTH) for i in range(LAYERS)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values():
            x = x + torch.tanh(layer(x))
        return x


def own_layers(model: nn.Module) -> None:
    """What this rank keeps of the model."""
    for i in range(LAYERS):
        if i * STAGES // LAYERS != dist.get_rank():
            del model.layers[str(i)]


def schedule(model: nn.Module) -> Any:
    example = torch.empty(2, WIDTH, requires_grad=True)  # one microbatch
    stage = pipelining.PipelineStage(
        model, dist.get_rank(), STAGES, torch.device("cpu"), input_args=(example,), output_args=(example,)
    )
    kind = next((a for a in sys.argv[1:] if not a.startswith("-")), "Schedule1F1B")
    options = {"scale_grads": False} if "--broken" in sys.argv else {}
    return getattr(pipelining, kind)(stage, MICROBATCHES, loss_fn=F.mse_loss, **options)


def main() -> None:
    batch = (torch.zeros(2 * MICROBATCHES, WIDTH), torch.zeros(2 * MICROBATCHES, WIDTH))
    report = pp.verify(Net, own_layers, schedule, stages=STAGES, inputs=batch, loss_fn=F.mse_loss)
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
