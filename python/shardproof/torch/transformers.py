# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Models of Hugging Face Transformers, distributed as from_pretrained(tp_plan="auto") would, from their configuration alone.

    import shardproof.torch.transformers as hf

    report = hf.verify("path/or/config", tp=4, layers=2)

No weights are made or loaded. `tp`, `fsdp` and `ep` are the sizes of DistributedConfig. GPT-2 has no plan upstream; one of our own is used.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch

from shardproof._report import Report
from shardproof.torch import _gpt2
from shardproof.torch._bundle import Capture
from shardproof.torch._errors import CaptureError
from shardproof.torch._verify import capture_pair

# What a configuration calls its number of layers.
_LAYER_KEYS = ("num_hidden_layers", "n_layer", "num_layers")


def step(model: torch.nn.Module, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The loss of a causal language model, as the Trainer computes it."""
    return model(input_ids, labels=labels, use_cache=False).loss  # type: ignore[no-any-return]


def config_of(model: Any, *, layers: int | None = None, **changes: Any) -> Any:
    """The configuration: given itself, or by the name or path of a pretrained model; fewer layers if asked, and eager attention."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(model) if isinstance(model, str) else copy.deepcopy(model)
    if layers is not None:
        key = next((k for k in _LAYER_KEYS if hasattr(config, k)), None)
        if key is None:
            raise CaptureError(f"layers={layers}: {type(config).__name__} has none of {', '.join(_LAYER_KEYS)}")
        setattr(config, key, layers)
    for key, value in changes.items():
        setattr(config, key, value)
    for key, value in vars(config).items():
        if key.endswith(("dropout", "pdrop")) and isinstance(value, float) and value:
            setattr(config, key, 0.0)
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"  # the grouped kernels have no definition in plain operators
    config.use_cache = False
    return config


def _builder(config: Any, auto_class: Any) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        import transformers

        factory = auto_class or transformers.AutoModelForCausalLM
        if hasattr(factory, "from_config"):
            return factory.from_config(copy.deepcopy(config)).train()  # type: ignore[no-any-return]
        return factory(copy.deepcopy(config)).train()  # type: ignore[no-any-return]

    return build


def _distribute(options: Mapping[str, Any]) -> Callable[..., torch.nn.Module]:
    def parallelize(model: Any, mesh: Any) -> torch.nn.Module:
        from transformers.distributed import DistributedConfig

        if type(model).__name__.startswith("GPT2") and options.get("tp_size", 1) > 1:
            return _gpt2.tensor_parallel(model, mesh["tp"])
        untie = _tied_head(model)
        prepared, _, manager = type(model).prepare_distribute_model(DistributedConfig(**options), None)
        model = type(model).maybe_distribute_model(model, prepared, manager)
        if untie:
            model.config.tie_word_embeddings = True
            model.tie_weights()
        return model  # type: ignore[no-any-return]

    return parallelize


def _tied_head(model: Any) -> bool:
    """Unties the output embedding while the plan is applied: named_parameters() lists a shared parameter once, and the plan wants both."""
    if not getattr(model.config, "tie_word_embeddings", False):
        return False
    head = model.get_output_embeddings()
    if head is None:
        return False
    head.weight = torch.nn.Parameter(torch.empty_like(head.weight), requires_grad=head.weight.requires_grad)
    return True


def capture(
    model: Any,
    *,
    tp: int = 1,
    fsdp: int = 1,
    ep: int = 1,
    batch: tuple[int, int] = (2, 16),
    layers: int | None = None,
    auto_class: Any = None,
    distributed: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Capture:
    """Captures the model and its distributed form; see `verify`."""
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise CaptureError("Transformers is not installed: pip install transformers") from error
    made = config_of(model, layers=layers, **(config or {}))
    sizes: dict[str, Any] = {"tp_size": tp, **dict(distributed or {})}
    if fsdp > 1:
        sizes["fsdp_size"] = fsdp
    if ep > 1:
        sizes |= {"ep_size": ep, "ep_implementation": sizes.get("ep_implementation", "all_reduce")}
    rows, length = batch
    ids = torch.zeros(rows * fsdp, length, dtype=torch.int64)
    mesh = [(a, n) for a, n in (("fsdp", fsdp), ("tp", tp)) if n > 1] or [("tp", tp)]
    placements = dict(options.pop("placements", None) or {})
    if made.model_type == "gpt2" and tp > 1:
        placements = {**_gpt2.placements(), **placements}
    return capture_pair(
        _builder(made, auto_class),
        _distribute(sizes),
        mesh,
        (ids, ids.clone()),
        step=options.pop("step", step),
        placements=placements,
        **options,
    )


def verify(
    model: Any, *, tp: int = 1, fsdp: int = 1, ep: int = 1, check: Mapping[str, Any] | None = None, **options: Any
) -> Report:
    """Proves that the model under its parallel plan computes the loss and the gradients of the model on one device.

    model        a configuration, or the name or path of one
    tp, fsdp, ep sizes of the mesh; `ep` shares the tp axis
    batch        (rows of one data-parallel rank, length)
    layers       use that many layers: all are alike, and fewer are captured faster
    config       changes of the configuration, e.g. {"vocab_size": 512}
    distributed  further options of DistributedConfig, e.g. {"tp_plan": {...}}
    and the options of shardproof.torch.verify.
    """
    return capture(model, tp=tp, fsdp=fsdp, ep=ep, **options).check(**dict(check or {}))
