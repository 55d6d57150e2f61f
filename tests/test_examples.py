# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs the examples where their frameworks are installed, and holds them to what docs/status.md says."""

import os
import pathlib
import subprocess
import sys

import pytest

from installed import needs

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = [
    ("torch/llama.py", "torch", [], "PROVED", "gradient of layers.1.w3.weight"),
    (
        "torch/llama.py --broken",
        "torch",
        [],
        "REFUTED",
        "layers_0_attention_wo_mm (aten.mm.default) at examples/torch/llama.py:66|parameters: layers.0.attention.wo.weight",
    ),
    (
        "torch/pipeline.py ScheduleGPipe",
        "torch",
        [],
        "PROVED",
        "gradient of layers.3.weight (grad_layers_3_weight): On(1)@pp",
    ),
    ("torch/pipeline.py --broken", "torch", [], "REFUTED", "PROVED    loss|aten.mse_loss_backward.default"),
    ("torch/simple_fsdp.py", "torch", [], "PROVED", "gradient of up.bias (grad_up_bias): Shard(0)@dp"),
    (
        "torch/simple_fsdp.py --broken",
        "torch",
        [],
        "REFUTED",
        "PROVED    gradient of up.bias|REFUTED   gradient of down.weight",
    ),
    ("torch/moe.py", "torch", [], "PROVED", "gradient of experts.up (grad_experts_up): Shard(0)@ep"),
    ("torch/moe.py --broken", "torch", [], "REFUTED", "examples/torch/moe.py:56"),
    (
        "torch/torchtitan_llama3.py llama3 2 2",
        "torchtitan",
        ["triton"],
        "PROVED",
        "gradient of layers.1.attention",
    ),
    (
        "torch/torchtitan_llama3.py deepseek_v3 2 1",
        "torchtitan",
        ["triton"],
        "PROVED",
        "attention.wkv_b.weight",
    ),
    ("torch/megatron_gpt.py gpt", "megatron", ["triton"], "PROVED", "self_attention.linear_qkv.weight"),
    ("jax/flax_transformer.py", "flax", ["optax"], "PROVED", "result[1][0].mu['params']['layer1']['down']['kernel']"),
    (
        "jax/flax_transformer.py --broken",
        "flax",
        ["optax"],
        "REFUTED",
        "missing-all-reduce: 224 is a partial sum over tp|flax_transformer.py:65",
    ),
    ("torch/megatron_gpt.py moe", "megatron", ["triton"], "PROVED|UNKNOWN", "local_experts.3.linear_fc2.weight"),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e[0])
def test_example(example: tuple[str, str, list[str], str, str], binary: pathlib.Path) -> None:
    command, framework, others, verdicts, shown = example
    needs(framework, *others)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *f"examples/{command}".split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        timeout=300,
    )
    first = done.stdout.split(" ", 1)[0].strip(":")
    assert first in verdicts.split("|"), done.stdout + done.stderr
    for words in shown.split("|"):
        assert words in done.stdout
    assert done.returncode == {"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[first]
