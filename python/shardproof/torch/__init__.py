# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Capture PyTorch programs on one machine, without a GPU and without weights, and check them.

    import shardproof.torch as sp

    report = sp.verify(build_model, parallelize, mesh={"dp": 2, "tp": 2}, example_inputs=(tokens, labels))

`sp.transformers`, `sp.torchtitan`, `sp.megatron` and `sp.pipelining` know how those frameworks build and place their models.
"""

from shardproof.torch._bundle import Capture
from shardproof.torch._errors import CaptureError
from shardproof.torch._program import Program
from shardproof.torch._verify import BATCH_AXES, capture, capture_pair, capture_ranks, verify

__all__ = ["BATCH_AXES", "Capture", "CaptureError", "Program", "capture", "capture_pair", "capture_ranks", "verify"]
