# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""torchtitan models under torchtitan's own parallelize function, from their specification alone.

    import shardproof.torch.torchtitan as titan
    from torchtitan.models.llama3 import model_registry

    report = titan.verify(model_registry("debugmodel", attn_backend="flex"), fsdp=2, tp=2, layers=2)

The specification's `parallelize_fn` is called as the trainer calls it, in full precision and without compilation. The loss is the trainer's: the sum over
tokens, divided by the number of valid tokens of the whole batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch

from shardproof._report import Report
from shardproof.torch._bundle import Capture
from shardproof.torch._errors import CaptureError
from shardproof.torch._verify import capture_pair


def step(model: torch.nn.Module, tokens: torch.Tensor, labels: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """The loss of one rank's rows: their sum over all ranks is the loss of the batch."""
    from torchtitan.components.loss import cross_entropy_loss

    return cross_entropy_loss(model(tokens), labels) / valid  # type: ignore[no-any-return]


def _parallelism(fsdp: int, tp: int, changes: Mapping[str, Any]) -> Any:
    from torchtitan.config import ParallelismConfig

    # Under the spmd_types backend parameters are plain tensors, which do not say how they lie.
    options = {"spmd_backend": "partial_dtensor", "data_parallel_shard_degree": fsdp, "tensor_parallel_degree": tp}
    return ParallelismConfig(**{**options, **changes})


def _prepared(model: Any, layers: int | None, length: int) -> Any:
    """The configuration with fewer layers, plain attention, and rotary tables as long as the batch."""
    from torchtitan.models.common.attention import ScaledDotProductAttention

    config = copy.deepcopy(model)
    if layers is not None:
        config.layers = config.layers[:layers]
    plain = ScaledDotProductAttention.Config()
    for layer in config.layers:
        if hasattr(layer.attention, "inner_attention"):
            layer.attention.inner_attention = plain
        rope = getattr(layer.attention, "rope", None)
        if rope is not None and hasattr(rope, "max_seq_len"):
            rope.max_seq_len = length
    return config


def _set_up(config: Any, parallelism: Any) -> None:
    """What the trainer does before it builds the model."""
    from types import SimpleNamespace

    import torchtitan.tools.utils as tools

    tools.device_type, tools.device_module = "cpu", torch.cpu
    from torchtitan.distributed import parallel_dims
    from torchtitan.distributed.utils import set_spmd_backend

    if hasattr(parallel_dims, "device_type"):
        parallel_dims.device_type = "cpu"
    set_spmd_backend(parallelism.spmd_backend)
    config.update_from_config(config=SimpleNamespace(parallelism=parallelism))


def _builder(config: Any, parallelism: Any) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        made = copy.deepcopy(config)
        _set_up(made, parallelism)
        return made.build().train()  # type: ignore[no-any-return]

    return build


def _distribute(spec: Any, parallelism: Any, world: int) -> Callable[..., Any]:
    def parallelize(model: torch.nn.Module, mesh: Any) -> Any:
        from torchtitan.config import CompileConfig, TrainingConfig
        from torchtitan.distributed import ParallelDims

        dims = ParallelDims.from_config(parallelism, world)
        dims.build_mesh()
        return spec.parallelize_fn(
            model,
            parallel_dims=dims,
            training=TrainingConfig(mixed_precision_param="float32", mixed_precision_reduce="float32"),
            parallelism=parallelism,
            compile_config=CompileConfig(enable=False),
            ac_config=None,
            dump_folder="",
        )

    return parallelize


def capture(
    spec: Any,
    *,
    tp: int = 1,
    fsdp: int = 1,
    batch: tuple[int, int] = (2, 16),
    layers: int | None = None,
    parallelism: Mapping[str, Any] | None = None,
    **options: Any,
) -> Capture:
    """Captures the model and its distributed form; see `verify`."""
    try:
        import torchtitan.config  # noqa: F401
    except ImportError as error:
        raise CaptureError(f"torchtitan cannot be imported ({error}): pip install torchtitan") from error
    rows, length = batch
    config = _prepared(spec.model, layers, length)
    ids = torch.zeros(rows * fsdp, length, dtype=torch.int64)
    cut = "Shard(0)@fsdp" if fsdp > 1 else "Replicate"
    expect = {"loss": "Partial(sum)@fsdp"} if fsdp > 1 else {}
    return capture_pair(
        _builder(config, _parallelism(1, 1, {})),
        _distribute(spec, _parallelism(fsdp, tp, parallelism or {}), fsdp * tp),
        [("fsdp", fsdp), ("tp", tp)],
        (ids, ids.clone(), torch.ones(())),
        distributed_model=_builder(config, _parallelism(fsdp, tp, parallelism or {})),
        step=options.pop("step", step),
        input_placements=options.pop("input_placements", {"tokens": cut, "labels": cut}),
        expect={**expect, **dict(options.pop("expect", None) or {})},
        facts=[*options.pop("facts", ()), "valid > 0", f"labels in [0, {config.vocab_size})"],
        **options,
    )


def verify(spec: Any, *, tp: int = 1, fsdp: int = 1, check: Mapping[str, Any] | None = None, **options: Any) -> Report:
    """Proves that the model under its parallelize function computes the loss and the gradients of the model on one device.

    spec         what the model's `model_registry(flavor)` returns
    tp, fsdp     degrees of tensor and fully sharded data parallelism
    batch        (rows of one data-parallel rank, length)
    layers       use that many layers: fewer are captured faster
    parallelism  further options of ParallelismConfig, e.g. {"enable_sequence_parallel": False}
    and the options of shardproof.torch.verify.
    """
    return capture(spec, tp=tp, fsdp=fsdp, **options).check(**dict(check or {}))
