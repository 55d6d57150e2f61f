# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Programs that ask for a GPU get the device that a capture uses instead."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_ACCELERATORS = ("cuda", "xpu", "hpu", "npu", "mtia")


def _wants_accelerator(device: Any) -> bool:
    if isinstance(device, str):
        return device.split(":")[0] in _ACCELERATORS
    return isinstance(device, torch.device) and device.type in _ACCELERATORS


class WithoutAccelerator(TorchFunctionMode):
    """Inside, `device="cuda"`, `.to("cuda")` and `.cuda()` mean `device`."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = torch.device(device)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if _wants_accelerator(kwargs.get("device")):
            kwargs["device"] = self.device
        if func is torch.Tensor.cuda:
            return args[0].to(self.device)
        if func is torch.Tensor.to and any(_wants_accelerator(a) for a in args[1:]):
            args = (args[0], *(self.device if _wants_accelerator(a) else a for a in args[1:]))
        return func(*args, **kwargs)
