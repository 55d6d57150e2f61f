# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A short hunt for wrong proofs: mutants of golden programs, judged by the command, by its evaluation, and by NumPy."""

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
BASES = [
    "attention_heads_tp2",
    "dp2_tp2_linear",
    "expert_all_to_all",
    "fsdp_sgd",
    "gradient_accumulation",
    "jax_all_to_all",
    "jax_convolution_halo",
    "jax_gather_scatter@hlo",
    "jax_gradient",
    "jax_ring_shift",
    "jax_scan",
    "kv_heads_shared_tp4",
    "pipeline_two_stages",
    "sequence_parallel_block",
    "softmax_over_cut_keys",
    "uneven_tp3",
    "vocab_parallel_cross_entropy",
    "vocab_parallel_embedding",
    "zigzag_positions",
]


def hunt(binary: pathlib.Path, name: str, n: int, *options: object) -> dict[str, Any]:
    command = [binary, "mutate", GOLDEN / name, "--n", n, "--seed", 11, "--json", *options]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return dict(json.loads(done.stdout))


FOUND = sorted(p.parent.name for p in (HERE / "found").glob("*/case.json"))


@pytest.mark.parametrize("name", FOUND)
def test_wrong_proofs_that_were_found(name: str, binary: pathlib.Path) -> None:
    """Minimised mutants that the prover once proved: never again, and the falsifier knows better."""
    alone, both = (
        subprocess.run(
            [str(binary), "check", str(HERE / "found" / name), "--json", *options],
            capture_output=True,
            text=True,
            timeout=60,
        )
        for options in (["--no-falsify"], [])
    )
    assert json.loads(alone.stdout)["verdict"] == "UNKNOWN"
    assert json.loads(both.stdout)["verdict"] == "REFUTED"


@pytest.fixture(scope="module")
def answers(binary: pathlib.Path) -> dict[str, dict[str, Any]]:
    return {name: hunt(binary, name, 120) for name in BASES}


def test_nothing_wrong_is_proved(answers: dict[str, dict[str, Any]]) -> None:
    for name, a in answers.items():
        assert a["wrong_proved"] == 0, name
        assert not [f for f in a["findings"] if f["trouble"] in ("wrong proof", "internal error")], name
        assert a["n"] == a["different"] + a["same"] + a["undecided"] > 60, name


def test_most_is_decided(answers: dict[str, dict[str, Any]]) -> None:
    def total(field: str) -> int:
        return sum(a[field] for a in answers.values())

    assert total("different") > 1000
    assert total("refuted") >= 0.95 * total("different")
    assert total("proved_same") >= 0.85 * total("same")
    assert total("undecided") <= 0.02 * total("n")
    kinds = {kind for a in answers.values() for kind, c in a["kinds"].items() if c["refuted"]}
    assert {
        "drop-collective",
        "wrong-scale",
        "shifted-slice",
        "off-by-one-mask",
        "swapped-ranks",
        "stale-value",
    } <= kinds


def test_another_evaluator_agrees(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("numpy")
    dump = tmp_path / "mutants.jsonl"
    for name in BASES:
        hunt(binary, name, 20, "--dump", dump)
    command = [sys.executable, str(HERE / "numpy_eval.py"), str(dump)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert " 0 wrong proofs" in done.stdout
    decided = int(done.stdout.strip().splitlines()[-1].split()[0])
    assert decided > 300, done.stdout
