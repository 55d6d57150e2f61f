# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Megatron-core models, built by the user's own provider, on a machine without a GPU.

    import shardproof.torch.megatron as mcore

    def provider(tp):                                  # called with 1 for the one-device model, and in every rank
        config = mcore.cpu_config(num_layers=1, hidden_size=64, num_attention_heads=4, tensor_model_parallel_size=tp)
        return GPTModel(config, get_gpt_layer_local_spec(), vocab_size=128, max_sequence_length=32)

    report = mcore.verify(provider, tp=2, batch=(2, 16), vocab_size=128)

The finalisation of gradients (layer norms under sequence parallelism, and the like) is part of the captured step, as in training.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from shardproof._report import Report
from shardproof.torch._bundle import Capture
from shardproof.torch._errors import CaptureError
from shardproof.torch._verify import capture_pair

Provider = Callable[[int], torch.nn.Module]


class _Idle:
    """Stands for a CUDA stream or event: nothing to wait for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def patch() -> None:
    """Lets Megatron run on a CPU: devices, streams and the random states of a GPU are stand-ins. In a forked child only."""
    cuda: Any = torch.cuda
    cuda.current_device = lambda: torch.device("cpu")
    cuda.current_stream = cuda.default_stream = lambda *args: _Idle()
    cuda.Stream = cuda.Event = _Idle
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.synchronize = lambda *args: None
    from megatron.core.tensor_parallel import random

    @contextlib.contextmanager
    def fork(self: Any, name: str = "") -> Iterator[None]:
        yield

    random.CudaRNGStatesTracker.fork = fork
    _allow_sequence_parallel_norms()
    _count_padded_tokens()


class _Counts(list[int]):
    """Stands for a tensor of counts that the host reads."""

    def tolist(self) -> list[int]:
        return list(self)


def _count_padded_tokens() -> None:
    """Padded to their capacity, all experts get equally many tokens: the count follows from the shape, and the host need not read it."""
    try:
        from megatron.core.transformer.moe.experts import SequentialMLP
    except ImportError:
        return
    original = SequentialMLP.forward
    if getattr(original, "_shardproof", False):
        return

    def forward(self: Any, hidden: torch.Tensor, tokens_per_expert: Any, *rest: Any, **options: Any) -> Any:
        count = self.num_local_experts
        if self.config.moe_pad_expert_input_to_capacity and hidden.shape[0] % count == 0:
            tokens_per_expert = _Counts([hidden.shape[0] // count] * count)
        return original(self, hidden, tokens_per_expert, *rest, **options)

    forward._shardproof = True  # type: ignore[attr-defined]
    SequentialMLP.forward = forward


def _allow_sequence_parallel_norms() -> None:
    """Megatron's local specification refuses PyTorch's norms under sequence parallelism, only because nothing marks their parameters for the
    reduction of gradients. Here they are marked, as Apex's and Transformer Engine's are."""
    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    original = WrappedTorchNorm.__new__
    if getattr(original, "_shardproof", False):
        return

    def new(cls: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
        sequence_parallel, config.sequence_parallel = config.sequence_parallel, False
        try:
            made = original(cls, config, *args, **kwargs)
        finally:
            config.sequence_parallel = sequence_parallel
        for parameter in made.parameters():
            parameter.sequence_parallel = sequence_parallel
        return made

    new._shardproof = True  # type: ignore[attr-defined]
    WrappedTorchNorm.__new__ = new


def cpu_config(**changes: Any) -> Any:
    """A TransformerConfig for capture: parameters made on the CPU, no dropout, no fused CUDA kernels."""
    from megatron.core.transformer import TransformerConfig

    defaults: dict[str, Any] = {
        "use_cpu_initialization": True,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "gradient_accumulation_fusion": False,
        "bias_dropout_fusion": False,
        "bias_activation_fusion": False,
        "masked_softmax_fusion": False,
        "apply_rope_fusion": False,
        "perform_initialization": True,
    }
    return TransformerConfig(**{**defaults, **changes})


def step(
    model: torch.nn.Module, input_ids: torch.Tensor, position_ids: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """The mean of the language model's loss over all tokens."""
    return model(input_ids, position_ids, None, labels=labels).mean()  # type: ignore[no-any-return]


def finalize(model: torch.nn.Module) -> None:
    """What Megatron does to gradients after the backward pass, apart from the data-parallel reduction."""
    from types import SimpleNamespace

    from megatron.core import parallel_state
    from megatron.core.distributed import finalize_model_grads

    if not hasattr(model, "ddp_config"):
        model.ddp_config = SimpleNamespace(use_megatron_fsdp=False)  # type: ignore[assignment]
    reduce = (
        finalize_model_grads._allreduce_non_tensor_model_parallel_grads
        if hasattr(finalize_model_grads, "_allreduce_non_tensor_model_parallel_grads")
        else None
    )
    if reduce is None:
        import importlib

        reduce = importlib.import_module(
            "megatron.core.distributed.finalize_model_grads"
        )._allreduce_non_tensor_model_parallel_grads
    reduce([model], model.config, parallel_state.get_tensor_model_parallel_group())


def _build(provider: Provider, tp: int) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        import torch._dynamo.config as dynamo_config

        dynamo_config.error_on_nested_fx_trace = False
        patch()
        from megatron.core import parallel_state

        parallel_state.initialize_model_parallel(tensor_model_parallel_size=tp, create_gloo_process_groups=False)
        model = provider(tp)
        if not isinstance(model, torch.nn.Module):
            raise CaptureError(f"the model provider returned a {type(model).__name__}, not a torch.nn.Module")
        return model.train()

    return build


def capture(
    provider: Provider,
    *,
    tp: int,
    batch: tuple[int, int] = (2, 16),
    gated: bool | None = None,
    finalize_gradients: bool = True,
    vocab_size: int | None = None,
    inputs: tuple[torch.Tensor, ...] | None = None,
    **options: Any,
) -> Capture:
    """Captures the model and its tensor-parallel form; see `verify`."""
    try:
        import megatron.core  # noqa: F401
    except ImportError as error:
        raise CaptureError(
            f"Megatron-core cannot be imported ({error}): pip install megatron-core, which needs Python 3.12 and triton"
        ) from error
    rows, length = batch
    ids = torch.zeros(rows, length, dtype=torch.int64)
    positions = torch.arange(length).expand(rows, length).contiguous()
    # The fused gate and up projection is cut inside each half; partition_stride says 1 all the same.
    packed = (
        {"*.linear_fc1.weight": "Shard(0, blocks=2)@tp", "*.linear_fc1.bias": "Shard(0, blocks=2)@tp"} if gated else {}
    )
    facts = list(options.pop("facts", ()))
    if vocab_size is not None and inputs is None:
        facts += [f"labels in [0, {vocab_size})"]
    return capture_pair(
        _build(provider, 1),
        None,
        {"tp": tp},
        inputs or (ids, positions, ids.clone()),
        distributed_model=_build(provider, tp),
        step=options.pop("step", step),
        after_backward=options.pop("after_backward", finalize if finalize_gradients else None),
        placements={**packed, **dict(options.pop("placements", None) or {})},
        facts=facts,
        build="cpu",
        **options,
    )


def verify(provider: Provider, *, tp: int, check: Mapping[str, Any] | None = None, **options: Any) -> Report:
    """Proves that the model at tensor-parallel size `tp` computes the loss and gradients of the one at size 1.

    provider            provider(tp) -> GPTModel or the like, built with cpu_config(tensor_model_parallel_size=tp, ...)
    batch               (rows, length)
    vocab_size          labels are below it: its parallel cross entropy masks what is outside, so the program itself does not say so
    gated               the MLP is gated (SwiGLU): linear_fc1 is packed
    finalize_gradients  reduce gradients of norms and the like as Megatron's finalize_model_grads does
    inputs, step        other inputs than (input_ids, position_ids, labels), and the step that takes them
    and the options of shardproof.torch.verify.
    """
    return capture(provider, tp=tp, **options).check(**dict(check or {}))
