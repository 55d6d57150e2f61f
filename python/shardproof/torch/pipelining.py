# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""torch.distributed.pipelining: the stages and the schedule that drives them, as one step of every rank.

    import shardproof.torch.pipelining as pp

    def stage(module):                                  # in a rank: what is its own of the model
        for i in range(4):
            if i // 2 != dist.get_rank():
                del module.layers[str(i)]
        return module

    def schedule(module):                               # in a rank: as for training
        example = torch.empty(2, 8, requires_grad=True)
        part = PipelineStage(module, dist.get_rank(), 2, torch.device("cpu"), input_args=(example,), output_args=(example,))
        return Schedule1F1B(part, n_microbatches=4, loss_fn=F.mse_loss)

    report = pp.verify(Model, stage, schedule, stages=2, inputs=(x, target), loss_fn=F.mse_loss)

The schedule's sends and receives are recorded where the step makes them, so wrong microbatches, a stale buffer or a deadlock show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from shardproof._report import Report
from shardproof.torch._bundle import Capture
from shardproof.torch._errors import CaptureError
from shardproof.torch._verify import Model, capture_pair


def _no_warm_up() -> None:
    """A schedule first exchanges numbers with its neighbours and looks at them to agree on how shapes are found; under a fake process group there
    is nothing to see, so the shapes must be given."""
    from torch.distributed.pipelining import _utils, schedules

    mode: Any = getattr(schedules, "InferenceMode", None) or getattr(_utils, "InferenceMode", None)

    def agree(self: Any, stages: Any, has_backward: bool, p2p_done: bool) -> None:
        for part in stages:
            if mode is not None and hasattr(part, "_inference_mode"):
                if mode.needs_dynamic(part._user_meta, has_backward):
                    raise CaptureError(
                        "give PipelineStage its shapes: input_args=(...) and output_args=(...) of one microbatch"
                    )
                part._inference_mode = mode.STATIC

    for entry in vars(schedules).values():
        if isinstance(entry, type) and "_warmup_p2p" in vars(entry):
            entry._warmup_p2p = agree  # type: ignore[attr-defined]


def _build(model: Any, stage: Callable[[torch.nn.Module], Any]) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        made = model() if not isinstance(model, torch.nn.Module) else model
        return stage(made) or made  # type: ignore[no-any-return]

    return build


def capture(
    model: Model,
    stage: Callable[[torch.nn.Module], Any],
    schedule: Callable[[torch.nn.Module], Any],
    *,
    stages: int,
    inputs: tuple[torch.Tensor, torch.Tensor],
    loss_fn: Callable[..., torch.Tensor],
    axis: str = "pp",
    **options: Any,
) -> Capture:
    """Captures the model and its pipeline; see `verify`."""

    def sequential_step(module: torch.nn.Module, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return loss_fn(module(x), target)

    def rank_step(module: torch.nn.Module, x: torch.Tensor | None, target: torch.Tensor | None) -> torch.Tensor | None:
        _no_warm_up()
        driver = schedule(module)
        if target is None:
            driver.step(*(() if x is None else (x,)))
            return None
        losses: list[torch.Tensor] = []
        driver.step(*(() if x is None else (x,)), target=target, losses=losses)
        return torch.stack(losses).mean()

    return capture_pair(
        model,
        None,
        {axis: stages},
        inputs,
        distributed_model=_build(model, stage),
        step=sequential_step,
        distributed_step=rank_step,
        distributed_backward="in_step",
        input_placements={"x": f"On(0)@{axis}", "target": f"On({stages - 1})@{axis}"},
        **options,
    )


def verify(
    model: Model,
    stage: Callable[..., Any],
    schedule: Callable[..., Any],
    *,
    check: Mapping[str, Any] | None = None,
    **options: Any,
) -> Report:
    """Proves that the pipeline computes the loss and gradients of the whole model.

    model     a module, or a function that makes one, with all layers
    stage     stage(module), in a rank: leaves the rank's layers, under the names that they have in the whole model
    schedule  schedule(module), in a rank: the schedule over its stage, with a loss_fn
    stages    the number of ranks
    inputs    (x, target): the whole batch; the first stage gets x, the last one target
    loss_fn   loss_fn(output, target), the mean over a batch: the schedule averages over its microbatches
    """
    return capture(model, stage, schedule, **options).check(**dict(check or {}))
