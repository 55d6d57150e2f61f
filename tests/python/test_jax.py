# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Lowering sharded JAX functions and relating them to one-device ones."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import shardproof.jax as sj  # noqa: E402

pytestmark = pytest.mark.usefixtures("devices")
S = jax.ShapeDtypeStruct
PARAMS = {"down": S((8, 6), np.float32), "up": S((6, 8), np.float32)}
X = S((4, 6), np.float32)
SPECS = {"down": P("tp"), "up": P(None, "tp")}


@pytest.fixture(scope="module")
def devices() -> None:
    if len(jax.devices()) < 4:
        pytest.skip("needs 4 host devices: XLA_FLAGS=--xla_force_host_platform_device_count=4")


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("dp", "tp"), axis_types=(AxisType.Auto,) * 2)


def plain(params: dict, x: jax.Array) -> jax.Array:
    return jnp.mean(jnp.square(jax.nn.relu(x @ params["up"]) @ params["down"]))


def sharded(average: bool = True):
    def local(params: dict, x: jax.Array) -> jax.Array:
        y = lax.psum(jax.nn.relu(x @ params["up"]) @ params["down"], "tp")
        loss = jnp.mean(jnp.square(y))
        return lax.pmean(loss, "dp") if average else lax.psum(loss, "dp")

    return jax.shard_map(local, mesh=mesh(), in_specs=(SPECS, P("dp")), out_specs=P(), check_vma=False)


def test_manifest_of_a_shard_map() -> None:
    capture = sj.capture(
        sharded(),
        PARAMS,
        X,
        mesh=mesh(),
        in_shardings=(SPECS, P("dp")),
        out_shardings=P(),
        reference=plain,
        facts=["x >= 0", "params['up'] > 0"],
    )
    assert capture.manifest.to_dict() == {
        "sequential": "seq.mlir",
        "distributed": "dist.mlir",
        "mesh": [["dp", 2], ["tp", 2]],
        "inputs": {"%arg0": "Shard(0)@tp", "%arg1": "Shard(1)@tp", "%arg2": "Shard(0)@dp"},
        "outputs": {"0": {"dist": "0", "label": "result", "expect": "Replicate"}},
        "facts": ["%arg2 >= 0", "%arg1 > 0"],
    }
    assert "sdy.manual_computation" in capture.distributed
    assert "sdy.sharding" not in capture.sequential
    assert 'loc("params[' in capture.distributed


def test_shardings_of_the_arguments_are_taken() -> None:
    params = {k: S(v.shape, v.dtype, sharding=NamedSharding(mesh(), SPECS[k])) for k, v in PARAMS.items()}
    capture = sj.capture(
        sharded(),
        params,
        S(X.shape, X.dtype, sharding=NamedSharding(mesh(), P("dp"))),
        out_shardings=P(),
        reference=plain,
    )
    assert capture.manifest.to_dict()["inputs"]["%arg1"] == "Shard(1)@tp"


def test_the_partitioner_is_the_program() -> None:
    capture = sj.capture(
        jax.value_and_grad(plain), PARAMS, X, mesh=mesh(), in_shardings=(SPECS, P("dp")), out_shardings=(P(), SPECS)
    )
    assert "num_partitions=4" in capture.distributed.splitlines()[0]
    assert "all-reduce" in capture.distributed
    assert "all-reduce" not in capture.sequential
    outputs = capture.manifest.to_dict()["outputs"]
    assert [o["label"] for o in outputs.values()] == ["result[0]", "result[1]['down']", "result[1]['up']"]
    assert outputs["2"]["expect"] == "Shard(1)@tp"


def test_products_of_axes() -> None:
    capture = sj.capture(
        lambda x: x * 2,
        S((8, 8), np.float32),
        mesh=mesh(),
        in_shardings=P(("dp", "tp")),
        out_shardings=P(None, "tp"),
        reference=lambda x: x + x,
        stage="hlo",
    )
    assert capture.manifest.to_dict()["inputs"] == {"0": "Shard(0)@(dp, tp)"}


def test_mistakes_are_explained() -> None:
    with pytest.raises(sj.JaxCaptureError, match="give the mesh"):
        sj.capture(plain, PARAMS, X)
    with pytest.raises(sj.JaxCaptureError, match="differ in shape"):
        sj.capture(sharded(), PARAMS, X, mesh=mesh(), in_shardings=(SPECS, P("dp")), reference=lambda p, x: x)
    with pytest.raises(sj.JaxCaptureError, match="names no argument"):
        sj.capture(sharded(), PARAMS, X, mesh=mesh(), in_shardings=(SPECS, P("dp")), reference=plain, facts=["y > 0"])
    with pytest.raises(sj.JaxCaptureError, match="the stages are"):
        sj.capture(sharded(), PARAMS, X, mesh=mesh(), reference=plain, stage="jaxpr")


@pytest.mark.parametrize("stage", ["stablehlo", "hlo", "spmd"])
def test_verify(binary: pathlib.Path, stage: str) -> None:
    arguments = {
        "mesh": mesh(),
        "in_shardings": (SPECS, P("dp")),
        "out_shardings": P(),
        "reference": plain,
        "stage": stage,
    }
    assert sj.verify(sharded(), PARAMS, X, **arguments).raise_unless_proved().output("result").relation == "Replicate"
    wrong = sj.verify(sharded(average=False), PARAMS, X, **arguments)
    assert wrong.verdict == "REFUTED"
