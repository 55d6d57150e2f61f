# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel by its meaning: its reducer is C++ that runs on real gradients, outside of anything that is traced.

The wrapper is taken off, and what it promises, the average of every gradient over its group, is put after the backward pass. The report says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from shardproof.torch._errors import CaptureError

NOTE = "DistributedDataParallel is taken by its meaning: after the backward pass every gradient is averaged over its group (its own compression hooks change the type only)"


def _init(
    self: DistributedDataParallel,
    module: torch.nn.Module,
    *args: Any,
    process_group: Any = None,
    device_mesh: Any = None,
    **options: Any,
) -> None:
    """Keeps the module and the group; the real constructor compares and broadcasts real weights."""
    torch.nn.Module.__init__(self)
    self.module = module
    if process_group is None:
        process_group = dist.group.WORLD if device_mesh is None else device_mesh.get_group()
    self.process_group = process_group


def _register_comm_hook(self: DistributedDataParallel, state: Any, hook: Any) -> None:
    """PyTorch's own hooks average, through another type; what any other does to a bucket is nothing that can be seen here."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    plain = (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook, default_hooks.bf16_compress_hook)
    if hook not in plain:
        raise CaptureError(
            f"the communication hook {getattr(hook, '__name__', hook)} of DistributedDataParallel works on buckets that no trace shows: leave it out and give what it means as "
            "after_backward=, a function of the module that reduces p.grad"
        )


@contextlib.contextmanager
def by_meaning() -> Iterator[None]:
    """Inside, DistributedDataParallel(module) only remembers what it wraps."""
    originals = DistributedDataParallel.__init__, DistributedDataParallel.register_comm_hook
    DistributedDataParallel.__init__ = _init  # type: ignore[method-assign, assignment]
    DistributedDataParallel.register_comm_hook = _register_comm_hook  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        DistributedDataParallel.__init__, DistributedDataParallel.register_comm_hook = originals  # type: ignore[method-assign]


def unwrapped(module: torch.nn.Module) -> tuple[torch.nn.Module, Callable[[torch.nn.Module], None] | None]:
    """The wrapped module, and what averages its gradients; the module itself and None where it is not wrapped."""
    if not isinstance(module, DistributedDataParallel):
        inner = [n for n, m in module.named_modules() if isinstance(m, DistributedDataParallel)]
        if inner:
            raise CaptureError(
                f"the submodule {inner[0]} is wrapped in DistributedDataParallel; wrap the whole model, or reduce the gradients in after_backward"
            )
        return module, None
    group = module.process_group

    def average(model: torch.nn.Module) -> None:
        for parameter in model.parameters():
            gradient = parameter.grad
            if gradient is not None:
                dist.all_reduce(gradient, op=dist.ReduceOp.AVG, group=group)

    return module.module, average
