# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Lowering sharded JAX functions and relating them to one-device ones."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

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


def test_shardings_of_a_jitted_function(binary: pathlib.Path) -> None:
    """jit's own shardings and static arguments are taken; what it leaves open the partitioner chooses."""

    def named(*spec: str | None) -> NamedSharding:
        return NamedSharding(mesh(), P(*spec))

    stated = jax.jit(
        lambda w, x: x @ w["a"],
        in_shardings=({"a": named(None, "tp")}, named("dp")),
        out_shardings=named("dp", "tp"),
    )
    arguments = ({"a": S((6, 8), np.float32)}, X)
    assert sj.capture(stated, *arguments).manifest.to_dict()["inputs"] == {"0": "Shard(1)@tp", "1": "Shard(0)@dp"}
    assert sj.verify(stated, *arguments, reference=lambda w, x: x @ w["a"]).proved
    scaled = jax.jit(lambda x, n: x * n, static_argnums=1, out_shardings=named("dp", "tp"))
    capture = sj.capture(scaled, X, 3)
    assert capture.manifest.to_dict()["inputs"] == {"0": "Shard(0)@dp, Shard(1)@tp"}
    assert any("as the partitioner chose" in n for n in capture.notes)
    assert capture.check().proved


def test_keys_and_what_is_no_array(binary: pathlib.Path) -> None:
    def drop(key: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)

    arguments = {"mesh": mesh(), "in_shardings": (P(), P("dp")), "out_shardings": P("dp")}
    assert sj.verify(drop, jax.random.key(0), X, **arguments).proved
    with pytest.raises(
        sj.JaxCaptureError, match="argument 0 is a str, which is no array: name its position in static_argnums"
    ):
        sj.capture(lambda mode, x: x, "train", X, mesh=mesh())
    with pytest.raises(sj.JaxCaptureError, match=r"jax\.shard_map"):
        sj.capture(jax.pmap(lambda x: x), X, mesh=mesh(), reference=lambda x: x)


def test_a_mesh_without_devices() -> None:
    abstract = jax.sharding.AbstractMesh((2, 2), ("dp", "tp"))
    capture = sj.capture(
        lambda x: x * 2, X, mesh=abstract, in_shardings=P("dp"), out_shardings=P("dp"), reference=lambda x: x + x
    )
    assert capture.manifest.to_dict()["mesh"] == [["dp", 2], ["tp", 2]]


def test_bytecode_is_printed_as_text(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    import io
    import json

    from jaxlib.mlir.dialects import stablehlo

    import shardproof

    module = jax.jit(lambda x: x + 1).lower(X).compiler_ir("stablehlo")
    plain = io.BytesIO()
    module.operation.write_bytecode(plain)
    (tmp_path / "plain.mlirbc").write_bytes(plain.getvalue())
    artifact = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
    (tmp_path / "artifact.mlirbc").write_bytes(artifact)
    keys = {"sequential": "plain.mlirbc", "distributed": ["artifact.mlirbc"], "mesh": {}, "inputs": {"*": "Replicate"}}
    (tmp_path / "case.json").write_text(json.dumps(keys))
    assert shardproof.check(tmp_path).proved
    assert shardproof.check(shardproof.Manifest.load(tmp_path)).proved
    assert "stablehlo.add" in sj.mlir_text(artifact)
    (tmp_path / "artifact.mlirbc").write_bytes(artifact[:40])
    with pytest.raises(shardproof.InputError, match="bytecode that the installed JAX cannot read"):
        shardproof.check(tmp_path)
    # The command itself answers with the line that converts it.
    done = subprocess.run([binary, "check", tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "deserialize_portable_artifact" in done.stdout + done.stderr


def test_a_label_without_a_range_is_named(binary: pathlib.Path) -> None:
    def loss(logits: Any, labels: Any) -> Any:
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])

    def local(logits: Any, labels: Any) -> Any:
        size = logits.shape[-1]
        top = lax.pmax(logits.max(-1), "tp")
        sums = lax.psum(jnp.exp(logits - top[:, None]).sum(-1), "tp")
        place = labels - lax.axis_index("tp") * size
        own = jnp.take_along_axis(logits, jnp.clip(place, 0, size - 1)[:, None], 1)[:, 0]
        chosen = lax.psum(jnp.where((place >= 0) & (place < size), own, 0.0), "tp")
        return jnp.mean(jnp.log(sums) + top - chosen)

    specs = (P(None, "tp"), P())
    fn = jax.shard_map(local, mesh=mesh(), in_specs=specs, out_specs=P(), check_vma=False)
    args = (jax.ShapeDtypeStruct((4, 8), np.float32), jax.ShapeDtypeStruct((4,), np.int32))
    options: dict[str, Any] = {"mesh": mesh(), "in_shardings": specs, "out_shardings": P(), "reference": loss}
    report = sj.verify(fn, *args, **options)
    assert not report.proved
    assert any('state it ("labels in [0, 8)"' in w for w in report.warnings), report.warnings
    report = sj.verify(fn, *args, facts=["labels in [0, 8)"], **options)
    assert report.proved
    assert not report.warnings


def test_another_version_of_jax_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "mesh": mesh(),
        "in_shardings": (SPECS, P("dp")),
        "out_shardings": P(),
        "reference": plain,
    }
    assert not any("JAX" in note for note in sj.capture(sharded(), PARAMS, X, **options).notes)
    monkeypatch.setattr(jax, "__version__", "0.11.3")
    assert any("JAX 0.11.3" in note for note in sj.capture(sharded(), PARAMS, X, **options).notes)
    monkeypatch.setattr(jax, "__version__", "0.6.2")
    with pytest.raises(sj.JaxCaptureError, match=r"use JAX 0\.10\.2"):
        sj.capture(sharded(), PARAMS, X, **options)
