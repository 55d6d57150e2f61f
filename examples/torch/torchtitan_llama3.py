# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""torchtitan's Llama 3 (debug flavour, two layers) under its own parallelize_llama: FSDP 2 x TP 2 with sequence parallelism.

python examples/torch/torchtitan_llama3.py [llama3|deepseek_v3] [fsdp] [tp]
"""

from __future__ import annotations

import importlib
import sys

import shardproof.torch.torchtitan as titan


def main() -> None:
    name, fsdp, tp = [*sys.argv[1:], *["llama3", "2", "2"][len(sys.argv) - 1 :]]
    registry = importlib.import_module(f"torchtitan.models.{name}").model_registry
    # DeepSeek's first layer is dense; the others route tokens by counts that the host reads, and cannot be captured.
    layers = 1 if name == "deepseek_v3" else 2
    report = titan.verify(registry("debugmodel", attn_backend="flex"), fsdp=int(fsdp), tp=int(tp), layers=layers)
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
