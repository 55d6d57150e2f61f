# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""What cannot be captured, said with the user's line and a way around."""

from __future__ import annotations

import re
import traceback

from shardproof._report import ShardproofError


class CaptureError(ShardproofError):
    """A program that could not be captured; the message says where and what to do."""


_CAPACITY = "For dropless experts: a capacity with padding (moe_expert_capacity_factor with moe_pad_expert_input_to_capacity, or ep_implementation='all_reduce')."

# What the exception's text contains, and the advice. The first that matches is taken.
_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"aten\.(nonzero|unique|masked_select)|DynamicOutputShape",
        "How many elements there are depends on a tensor's values here (a mask as index, nonzero, unique), and a captured program has fixed shapes: multiply by the mask, or "
        "choose with torch.where, and divide by the mask's sum where a mean is meant. " + _CAPACITY,
    ),
    (
        r"DataDependentOutput|_local_scalar_dense|aten\.item|Could not guard on data-dependent",
        "A tensor's value is read by Python here (.item(), .tolist(), float(), `if tensor:`), and a captured program has no values. For a log or an assertion: take it out of the step. "
        "To choose between two results: torch.where. " + _CAPACITY,
    ),
    (
        r"\.numpy\(\) is not supported|can't convert .*numpy|Can't call numpy",
        "A tensor is handed to NumPy here, and a captured program has no values: compute it with torch, or outside of the step.",
    ),
    (
        r"Invalid mesh_dim_names|mesh_dim_name",
        "The function that distributes the model is given the mesh that verify was: use the names of its axes in both.",
    ),
    (
        r"initialize the default process group twice",
        "The process group is there already, a fake one: leave init_process_group out of what shardproof calls (`if not dist.is_initialized():`).",
    ),
    (
        r"'NoneType' object has no attribute '(synchronize|wait|record)",
        "A CUDA stream or event is used, and there is none here. In Megatron it is the dropless dispatch of experts: pad to a capacity "
        "(moe_expert_capacity_factor with moe_pad_expert_input_to_capacity).",
    ),
    (
        r"not compiled with CUDA|No CUDA GPUs|Found no NVIDIA driver|no kernel image|Triton|cuda runtime",
        "Something needs a GPU here: choose the plain PyTorch implementation of it (attention, norms and fused kernels have one), and leave devices to the "
        "example inputs instead of writing 'cuda'.",
    ),
    (
        r"FSDP needs a non-CPU accelerator",
        "FullyShardedDataParallel moves parameters on a GPU while it runs, so it is not captured: use fully_shard, which shards the same way.",
    ),
    (
        r"data is not allocated yet",
        "If this is replicate() of torch.distributed._composable: wrap the model in DistributedDataParallel, which is taken by its meaning, or use fully_shard.",
    ),
    (
        r"has no tp_plan|no tp_plan",
        "Transformers has no plan for this model: give one with distributed={'tp_plan': {...}}, or use shardproof.torch.verify with a parallelize function.",
    ),
    (
        r"symbolically trace a dynamo-optimized function",
        "A torch.compile-d function is called inside the traced program: capture the uncompiled model (shardproof sets torch._dynamo.config.error_on_nested_fx_trace = False "
        "for decorators; a compiled module must be unwrapped with module._orig_mod).",
    ),
    (
        r"nll_loss_backward.*mixed torch\.Tensor and DTensor",
        "loss_parallel() must be active during the backward pass, too: let the ranks' step call loss.backward() inside of it and return the loss, "
        "with distributed_step=... and distributed_backward='in_step'.",
    ),
    (
        r"mixed torch\.Tensor and DTensor",
        "A plain tensor meets a DTensor: distribute the module that makes it, or convert the tensor with DTensor.from_local.",
    ),
    (
        r"Mixing fake modes",
        "A tensor of another capture is kept in the model (a cache?). Build the model inside the function that you pass, not outside of it.",
    ),
    (
        r"Cannot copy out of meta tensor|is on device meta|Tensor on device meta|on meta device|device meta|device=meta|cpu and meta|meta and cpu",
        "The model makes tensors that are neither parameters nor buffers, and they are without values on the meta device. Register them as buffers, or build for real with build='cpu'.",
    ),
    (
        r"does not have a sharding strategy",
        "DTensor has no rule for this operator: choose another implementation of it (for attention: the eager or math one). context_parallel of PyTorch knows the "
        "CUDA kernels only: write ring attention on plain operators, or gather keys and values.",
    ),
    (
        r"fake(?:_tensor)?.*not.*implement|NotImplementedError: Operator",
        "An operator has no rule for DTensor or fake tensors: replace it, e.g. choose the math attention backend.",
    ),
    (
        r"same reduction dim|size mismatch, got input",
        "If the plan names a module that the model does not have, PyTorch leaves it whole with a warning (above): mend the name. If a layer is cut unevenly: DTensor takes the local parts of a plain tensor for equal ones, so the size must be divisible by the mesh axis "
        "(or keep DTensors between the layers with use_local_output=False).",
    ),
    (
        r"shape '\[[^\]]*\]' is invalid for input of size",
        "A size does not divide by the mesh axis: key/value heads by tp (Transformers does not replicate them), or the capacity of an expert is above the number of tokens.",
    ),
)


def user_line(error: BaseException) -> str:
    """`file:line in function: code` of the innermost frame that is the user's."""
    from shardproof.torch._locations import is_users

    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)]
    if not frames:
        return ""
    frame = frames[-1]
    return f"{frame.filename}:{frame.lineno} in {frame.name}: {(frame.line or '').strip()}"


def explain(error: BaseException, what: str) -> CaptureError:
    """A CaptureError for whatever went wrong while `what` was captured."""
    if isinstance(error, CaptureError):
        return error
    text = f"{type(error).__name__}: {error}"
    advice = next((a for pattern, a in _ADVICE if re.search(pattern, text, re.IGNORECASE)), "")
    frames = traceback.extract_tb(error.__traceback__)
    if any(f.name.endswith(("_object", "_object_list")) and f.filename.endswith("distributed_c10d.py") for f in frames):
        advice = (
            "Python objects are exchanged between ranks here, which no captured program does: take it out of the step."
        )
    elif (not advice or "DataDependent" in text) and any(f.filename.endswith("device_mesh.py") for f in frames):
        advice = "A device mesh is made inside the traced step: make it before, for instance in the parallelize function, which is given one."
    first = next((line for line in text.splitlines() if line.strip() and not re.fullmatch(r"\w+:\s*", line)), text)
    lines = [f"{what} could not be captured: {first.strip()[:500]}"]
    if where := user_line(error):
        lines.append(f"  at {where}")
    if advice:
        lines.append(f"  {advice}")
    made = CaptureError("\n".join(lines))
    made.__cause__ = error
    return made
