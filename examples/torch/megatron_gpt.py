# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Megatron-core's GPT, dense or with a mixture of experts, under tensor and sequence parallelism; gradients are finalised as in training.

python examples/torch/megatron_gpt.py [gpt|moe] [tp]

The experts are in drop-and-pad form (a capacity, padded): dropless dispatch counts tokens on the host and cannot be captured.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

import shardproof.torch.megatron as mcore


def provider(tp: int, moe: bool) -> torch.nn.Module:
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec

    experts: dict[str, Any] = {}
    if moe:
        experts = {
            "num_moe_experts": 4,
            "moe_router_topk": 2,
            "moe_router_load_balancing_type": "none",
            # experts / top-k: as many places as tokens, so none is dropped. With fewer, each rank drops among its own tokens, which is
            # another function than one device computes, and is refuted.
            "moe_expert_capacity_factor": 2.0,
            "moe_pad_expert_input_to_capacity": True,
            "add_bias_linear": False,
            "moe_token_dispatcher_type": "alltoall",
        }
    config = mcore.cpu_config(
        num_layers=1,
        hidden_size=32,
        num_attention_heads=4,
        tensor_model_parallel_size=tp,
        sequence_parallel=tp > 1,
        **experts,
    )
    spec = get_gpt_layer_local_spec(num_experts=4 if moe else None, moe_grouped_gemm=False)
    return GPTModel(config, spec, vocab_size=64, max_sequence_length=32)


def main() -> None:
    kind, tp = [*sys.argv[1:], *["gpt", "2"][len(sys.argv) - 1 :]]
    report = mcore.verify(lambda size: provider(size, kind == "moe"), tp=int(tp), vocab_size=64)
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
