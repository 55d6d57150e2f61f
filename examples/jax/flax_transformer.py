# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""A training step of a small Flax transformer: on one device, and written by hand for a mesh dp 2 x tp 2 with shard_map.

Each rank has half of the heads and half of the hidden features; `enter` and `leave` are the two ends of a tensor-parallel region. The step
computes the loss and its gradients, averages them over dp, and applies AdamW.

python examples/jax/flax_transformer.py            # proved: loss, parameters and both moments
python examples/jax/flax_transformer.py --broken   # the sum after the second matrix of the MLP is forgotten
"""

from __future__ import annotations

import sys
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof.jax as sj

HEADS, WIDTH, HIDDEN, WORDS = 4, 16, 32, 24


@jax.custom_vjp
def enter(x: jax.Array) -> jax.Array:
    """Into the tensor-parallel region: each rank uses x for its part, so the gradients of all parts are summed."""
    return x


enter.defvjp(lambda x: (x, None), lambda _, g: (lax.psum(g, "tp"),))


@jax.custom_vjp
def leave(x: jax.Array) -> jax.Array:
    """Out of it: the ranks' parts are summed, and each part gets the whole gradient."""
    return lax.psum(x, "tp")


leave.defvjp(lambda x: (lax.psum(x, "tp"), None), lambda _, g: (g,))


class Block(nn.Module):
    parts: int  # tensor-parallel ranks
    broken: bool = False

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        into, out = (enter, leave) if self.parts > 1 else (lambda x: x, lambda x: x)
        heads, size = HEADS // self.parts, WIDTH // HEADS
        h = into(nn.RMSNorm(name="norm1")(x))
        q, k, v = (nn.DenseGeneral((heads, size), use_bias=False, name=n)(h) for n in ("query", "key", "value"))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / size**0.5
        causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
        h = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
        x = x + out(nn.DenseGeneral(WIDTH, axis=(-2, -1), use_bias=False, name="output")(h))
        h = into(nn.RMSNorm(name="norm2")(x))
        h = nn.gelu(nn.Dense(HIDDEN // self.parts, name="up")(h))
        h = nn.Dense(WIDTH, use_bias=False, name="down")(h)
        return x + (h if self.broken else out(h))


class Model(nn.Module):
    parts: int = 1
    broken: bool = False

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = nn.Embed(WORDS, WIDTH, name="embed")(tokens)
        for i in range(2):
            x = Block(self.parts, self.broken and i == 1, name=f"layer{i}")(x)
        return nn.Dense(WORDS, use_bias=False, name="head")(nn.RMSNorm(name="norm")(x))


OPTIMIZER = optax.adamw(1e-3)


def loss_of(model: Model, params: Any, tokens: jax.Array) -> jax.Array:
    logits = model.apply(params, tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def train(model: Model, average: Any) -> Any:
    def step(params: Any, state: Any, tokens: jax.Array) -> tuple[Any, Any, jax.Array]:
        loss, gradients = average(jax.value_and_grad(lambda p: loss_of(model, p, tokens))(params))
        updates, state = OPTIMIZER.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    return step


def placed(tree: Any) -> Any:
    """Columns of the matrices that enter a tensor-parallel region, rows of those that leave it; the rest is on every rank."""
    dims = {"query": 1, "key": 1, "value": 1, "output": 0, "up": -1, "down": 0}

    def spec(path: Any, leaf: Any) -> P:
        dim = next((dims[k.key] for k in path if getattr(k, "key", None) in dims), None)
        return P() if dim is None else P(*[None] * (dim % leaf.ndim), "tp")

    return jax.tree_util.tree_map_with_path(spec, tree)


def main() -> None:
    sj.host_devices(4)  # before JAX makes its first array
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("dp", "tp"))
    tokens = jax.ShapeDtypeStruct((4, 9), np.int32)
    params = jax.eval_shape(Model().init, jax.random.key(0), jax.ShapeDtypeStruct((1, 8), np.int32))
    state = jax.eval_shape(OPTIMIZER.init, params)
    shardings = (placed(params), placed(state), P("dp"))
    results = (placed(params), placed(state), P())
    sharded = jax.shard_map(
        train(Model(parts=2, broken="--broken" in sys.argv), lambda x: lax.pmean(x, "dp")),
        mesh=mesh,
        in_specs=shardings,
        out_specs=results,
        check_vma=False,
    )
    report = sj.verify(
        sharded,
        params,
        state,
        tokens,
        mesh=mesh,
        in_shardings=shardings,
        out_shardings=results,
        reference=train(Model(), lambda x: x),
        facts=[f"tokens in [0, {WORDS})"],
    )
    print(report)
    sys.exit({"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[report.verdict])


if __name__ == "__main__":
    main()
