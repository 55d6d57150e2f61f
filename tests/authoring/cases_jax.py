# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Golden cases in StableHLO and HLO: functions under shard_map against plain ones, run on host devices to check the verdicts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from golden import GOLDEN

JAX_CASES: dict[str, dict[str, Any]] = {}


def case(name: str, **fields: Any) -> dict[str, Any]:
    JAX_CASES[name] = {"name": name, "forms": ("mlir",), "accept": [], "kind": None, "ints": 8, **fields}
    return JAX_CASES[name]


def variant(base: dict[str, Any], suffix: str, **changes: Any) -> None:
    case(
        f"{base['name']}__{suffix}",
        **{**{k: v for k, v in base.items() if k != "name"}, "verdict": "REFUTED", **changes},
    )


def words(spec: P, mesh: dict[str, int]) -> dict[str, str]:
    out = dict.fromkeys(mesh, "Replicate")
    for dim, axes in enumerate(spec):
        for axis in (axes,) if isinstance(axes, str) else axes or ():
            out[axis] = f"Shard({dim})"
    return out


def write(spec: dict[str, Any]) -> None:
    mesh = Mesh(
        np.array(jax.devices()[: int(np.prod(list(spec["mesh"].values())))]).reshape(tuple(spec["mesh"].values())),
        tuple(spec["mesh"]),
        axis_types=(AxisType.Auto,) * len(spec["mesh"]),
    )
    dist = jax.shard_map(spec["dist"], mesh=mesh, in_specs=spec["specs"], out_specs=spec["out"], check_vma=False)
    args = [jax.ShapeDtypeStruct(s, d) for s, d in spec["args"]]
    in_shardings = tuple(NamedSharding(mesh, s) for s in spec["specs"])
    out_shardings = NamedSharding(mesh, spec["out"])
    seq_lowered = jax.jit(spec["seq"], keep_unused=True).lower(*args)
    lowered = jax.jit(dist, in_shardings=in_shardings, out_shardings=out_shardings, keep_unused=True).lower(*args)
    differs = not agree(spec, dist, mesh)
    assert differs == (spec["verdict"] == "REFUTED"), f"{spec['name']}: differs {differs}, expected {spec['verdict']}"
    for form in spec["forms"]:
        folder = GOLDEN / (spec["name"] + ("" if form == spec["forms"][0] else "@" + form))
        folder.mkdir(parents=True, exist_ok=True)
        if form == "mlir":
            texts = seq_lowered.as_text(), lowered.as_text()
            names = [f"%arg{i}" for i in range(len(args))]
        else:
            texts = seq_lowered.as_text("hlo"), lowered.as_text("hlo")
            names = [str(i) for i in range(len(args))]
        ending = "mlir" if form == "mlir" else "hlo.txt"
        for text, name in zip(texts, ("seq", "dist"), strict=True):
            (folder / f"{name}.{ending}").write_text(text if text.endswith("\n") else text + "\n")
        manifest = {
            "sequential": f"seq.{ending}",
            "distributed": f"dist.{ending}",
            "mesh": spec["mesh"],
            "inputs": {n: words(s, spec["mesh"]) for n, s in zip(names, spec["specs"], strict=True)},
            "outputs": {"0": {"dist": "0", "expect": words(spec["out"], spec["mesh"])}},
        }
        if facts := spec.get("facts"):
            manifest["facts"] = [f.format(*names) for f in facts]
        (folder / "case.json").write_text(json.dumps(manifest, indent=1) + "\n")
        expected = {"verdict": spec["verdict"], "why": spec["why"], "outputs": {"0": spec["verdict"]}}
        if spec["accept"]:
            expected["accept"] = spec["accept"]
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def agree(spec: dict[str, Any], dist: Callable[..., Any], mesh: Mesh) -> bool:
    """Does every device hold its part of the sequential value?"""
    random = np.random.default_rng(5)
    for _ in range(3):
        values = [
            random.integers(0, spec["ints"], s).astype(d)
            if np.issubdtype(d, np.integer)
            else random.standard_normal(s).astype(d)
            for s, d in spec["args"]
        ]
        want = np.asarray(jax.jit(spec["seq"])(*values))
        placed = [jax.device_put(v, NamedSharding(mesh, s)) for v, s in zip(values, spec["specs"], strict=True)]
        got = jax.jit(dist, out_shardings=NamedSharding(mesh, spec["out"]))(*placed)
        for shard in got.addressable_shards:
            if not np.allclose(np.asarray(shard.data), want[shard.index], rtol=1e-4, atol=1e-4, equal_nan=True):
                return False
    return True


F32, I32 = np.float32, np.int32
BOTH = ("mlir", "hlo")

mlp = case(
    "jax_mlp",
    mesh={"dp": 2, "tp": 2},
    args=[((4, 6), F32), ((6, 8), F32), ((8, 6), F32)],
    specs=(P("dp"), P(None, "tp"), P("tp")),
    out=P("dp"),
    forms=BOTH,
    seq=lambda x, w, u: jnp.maximum(x @ w, 0) @ u,
    dist=lambda x, w, u: lax.psum(jnp.maximum(x @ w, 0) @ u, "tp"),
    verdict="PROVED",
    why="The sum over the cut hidden dimension is a sum over tp.",
)
variant(
    mlp, "psum_dp", dist=lambda x, w, u: lax.psum(jnp.maximum(x @ w, 0) @ u, "dp"), why="Summed over the batch axis."
)
variant(
    mlp,
    "no_psum",
    dist=lambda x, w, u: jnp.maximum(x @ w, 0) @ u,
    why="The result is claimed to be the same along tp and is a partial sum.",
)

scatter = case(
    "jax_gather_scatter",
    mesh={"tp": 4},
    args=[((8, 4), F32), ((4, 8), F32)],
    specs=(P("tp"), P(None, "tp")),
    out=P(None, "tp"),
    forms=BOTH,
    seq=lambda x, w: jnp.tanh(x) @ w,
    dist=lambda x, w: lax.all_gather(jnp.tanh(x), "tp", axis=0, tiled=True) @ w,
    verdict="PROVED",
    why="All rows are gathered, each rank computes its columns.",
)
variant(
    scatter,
    "stacked",
    dist=lambda x, w: lax.all_gather(jnp.tanh(x), "tp", axis=1).reshape(8, 4) @ w,
    why="Stacked on a new middle dimension and flattened: the rows are interleaved.",
)

ring = case(
    "jax_ring_shift",
    mesh={"cp": 4},
    args=[((8, 3), F32)],
    specs=(P("cp"),),
    out=P("cp"),
    forms=BOTH,
    seq=lambda x: jnp.roll(x, 2, 0) * 3,
    dist=lambda x: lax.ppermute(x, "cp", [(i, (i + 1) % 4) for i in range(4)]) * 3,
    verdict="PROVED",
    why="Blocks move to the right neighbour.",
)
variant(
    ring,
    "open_ring",
    dist=lambda x: lax.ppermute(x, "cp", [(i, i + 1) for i in range(3)]) * 3,
    why="Rank 0 receives nothing, which is zeros.",
)
variant(
    ring,
    "other_way",
    dist=lambda x: lax.ppermute(x, "cp", [((i + 1) % 4, i) for i in range(4)]) * 3,
    why="Blocks move to the left neighbour.",
)

index = case(
    "jax_axis_index_slice",
    mesh={"tp": 2},
    args=[((8, 3), F32), ((4, 3), F32)],
    specs=(P(), P("tp")),
    out=P("tp"),
    forms=BOTH,
    seq=lambda x, y: x[::2][:4] * 0 + x[:4] + y,
    dist=lambda x, y: lax.dynamic_slice_in_dim(x[:4], lax.axis_index("tp") * 2, 2) + y,
    verdict="PROVED",
    why="Each rank slices the rows that its part of y has.",
)
variant(
    index,
    "local_offset",
    dist=lambda x, y: lax.dynamic_slice_in_dim(x[:4], lax.axis_index("tp"), 2) + y,
    why="The offset counts ranks, not rows.",
)

clamp = case(
    "jax_dynamic_slice_clamps",
    mesh={"dp": 2},
    args=[((6, 4), F32), ((), I32)],
    specs=(P(None, "dp"), P()),
    out=P(None, "dp"),
    ints=12,
    seq=lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, 0),
    dist=lambda x, i: lax.dynamic_slice_in_dim(x, jnp.minimum(i, 4), 2, 0),
    facts=["{1} in [0, 12)"],
    verdict="PROVED",
    accept=["UNKNOWN"],
    why="A start index beyond 4 is clamped to 4 anyway.",
)
variant(
    clamp,
    "too_early",
    dist=lambda x, i: lax.dynamic_slice_in_dim(x, jnp.minimum(i, 3), 2, 0),
    why="At 4 and beyond the slice starts one row too early.",
)

loop = case(
    "jax_loop",
    mesh={"tp": 2},
    args=[((3, 4), F32), ((5, 4, 4), F32)],
    specs=(P(), P(None, None, "tp")),
    out=P(),
    seq=lambda x, w: lax.fori_loop(0, 5, lambda i, h: jnp.tanh(h @ w[i]), x),
    dist=lambda x, w: lax.fori_loop(0, 5, lambda i, h: jnp.tanh(lax.all_gather(h @ w[i], "tp", axis=1, tiled=True)), x),
    verdict="PROVED",
    why="The same five layers; each gathers its columns.",
)
variant(
    loop,
    "one_short",
    dist=lambda x, w: lax.fori_loop(0, 4, lambda i, h: jnp.tanh(lax.all_gather(h @ w[i], "tp", axis=1, tiled=True)), x),
    why="Four layers instead of five.",
)

scan = case(
    "jax_scan",
    mesh={"tp": 2},
    args=[((3, 4), F32), ((5, 4, 4), F32), ((5, 4, 4), F32)],
    specs=(P(), P(None, None, "tp"), P(None, "tp")),
    out=P(),
    seq=lambda x, w, u: lax.scan(lambda h, p: (h + jnp.maximum(h @ p[0], 0) @ p[1], None), x, (w, u))[0],
    dist=lambda x, w, u: lax.scan(lambda h, p: (h + lax.psum(jnp.maximum(h @ p[0], 0) @ p[1], "tp"), None), x, (w, u))[
        0
    ],
    verdict="PROVED",
    why="Every layer reduces its own partial sum.",
)
variant(
    scan,
    "residual_inside",
    dist=lambda x, w, u: lax.scan(lambda h, p: (lax.psum(h + jnp.maximum(h @ p[0], 0) @ p[1], "tp"), None), x, (w, u))[
        0
    ],
    why="The residual is summed over the ranks as well: doubled in every layer.",
)

a2a = case(
    "jax_all_to_all",
    mesh={"cp": 2},
    args=[((8, 6), F32)],
    specs=(P("cp"),),
    out=P(None, "cp"),
    forms=BOTH,
    seq=lambda x: jnp.cumsum(x, 0),
    dist=lambda x: jnp.cumsum(lax.all_to_all(x, "cp", 1, 0, tiled=True), 0),
    verdict="PROVED",
    why="Columns are cut, rows joined in order.",
)
variant(
    a2a,
    "without",
    dist=lambda x: jnp.cumsum(jnp.concatenate([x[:, :3], x[:, 3:]], 0), 0),
    why="Each rank rearranges its own rows.",
)

mean = case(
    "jax_mean_loss",
    mesh={"dp": 4},
    args=[((8, 3), F32), ((3,), F32)],
    specs=(P("dp"), P()),
    out=P(),
    forms=BOTH,
    seq=lambda x, w: jnp.mean(jnp.square(x @ w)),
    dist=lambda x, w: lax.pmean(jnp.mean(jnp.square(x @ w)), "dp"),
    verdict="PROVED",
    why="The mean of equal parts' means.",
)
variant(mean, "psum", dist=lambda x, w: lax.psum(jnp.mean(jnp.square(x @ w)), "dp"), why="Four times the mean.")

grad = case(
    "jax_gradient",
    mesh={"dp": 2},
    args=[((8, 3), F32), ((3, 2), F32)],
    specs=(P("dp"), P()),
    out=P(),
    seq=lambda x, w: jax.grad(lambda w: jnp.mean(jnp.log1p(jnp.exp(x @ w))))(w),
    dist=lambda x, w: lax.pmean(jax.grad(lambda w: jnp.mean(jnp.log1p(jnp.exp(x @ w))))(w), "dp"),
    verdict="PROVED",
    why="Gradients of means of equal parts, averaged.",
)
variant(
    grad,
    "local",
    dist=lambda x, w: jax.grad(lambda w: jnp.mean(jnp.log1p(jnp.exp(x @ w))))(w),
    why="Each rank keeps the gradient of its rows.",
)

cond = case(
    "jax_select_by_rank",
    mesh={"pp": 2},
    args=[((4, 3), F32), ((2, 3, 3), F32)],
    specs=(P(), P("pp")),
    out=P(),
    seq=lambda x, w: jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]),
    dist=lambda x, w: (
        lambda h: lax.psum(
            jnp.where(lax.axis_index("pp") == 1, jnp.tanh(lax.ppermute(h, "pp", [(0, 1)]) @ w[0]), 0.0), "pp"
        )
    )(jnp.tanh(x @ w[0])),
    verdict="PROVED",
    why="Stage 1 computes on what stage 0 sent; stage 0's own result is masked out of the sum.",
)
variant(
    cond,
    "no_mask",
    dist=lambda x, w: (lambda h: lax.psum(jnp.tanh(lax.ppermute(h, "pp", [(0, 1)]) @ w[0]) + 0.5, "pp"))(
        jnp.tanh(x @ w[0])
    ),
    why="Stage 0 adds a half of its own, and so does stage 1.",
)
conv = case(
    "jax_convolution_halo",
    mesh={"sp": 2},
    args=[((1, 8, 3), F32), ((3, 3, 2), F32)],
    specs=(P(None, "sp"), P()),
    out=P(None, "sp"),
    seq=lambda x, w: lax.conv_general_dilated(x, w, (1,), [(1, 1)], dimension_numbers=("NWC", "WIO", "NWC")),
    dist=lambda x, w: lax.conv_general_dilated(
        jnp.concatenate([lax.ppermute(x[:, -1:], "sp", [(0, 1)]), x, lax.ppermute(x[:, :1], "sp", [(1, 0)])], 1),
        w,
        (1,),
        [(0, 0)],
        dimension_numbers=("NWC", "WIO", "NWC"),
    ),
    verdict="PROVED",
    why="Each rank gets one row from each neighbour; at the ends nothing is received, which is the zero padding.",
)
variant(
    conv,
    "wrapped",
    dist=lambda x, w: lax.conv_general_dilated(
        jnp.concatenate(
            [lax.ppermute(x[:, -1:], "sp", [(0, 1), (1, 0)]), x, lax.ppermute(x[:, :1], "sp", [(1, 0), (0, 1)])], 1
        ),
        w,
        (1,),
        [(0, 0)],
        dimension_numbers=("NWC", "WIO", "NWC"),
    ),
    why="The halo goes around the ends.",
)


def stencil(x: Any) -> Any:
    """The mean of the four neighbours, zero outside."""
    p = jnp.pad(x, 1)
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def stencil_of_rows(x: Any, up: list[tuple[int, int]], down: list[tuple[int, int]]) -> Any:
    """The same on the rows of one rank, with a row of each neighbour."""
    rows = jnp.concatenate([lax.ppermute(x[-1:], "sp", down), x, lax.ppermute(x[:1], "sp", up)])
    p = jnp.pad(rows, ((0, 0), (1, 1)))
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def twice(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: step(step(x))


jacobi = case(
    "jax_stencil_halo",
    mesh={"sp": 3},
    args=[((6, 5), F32)],
    specs=(P("sp"),),
    out=P("sp"),
    seq=twice(stencil),
    dist=twice(lambda x: stencil_of_rows(x, [(1, 0), (2, 1)], [(0, 1), (1, 2)])),
    verdict="PROVED",
    why="Two steps of a stencil: the same nine products of neighbours, grouped by rank in other sums.",
)
variant(
    jacobi,
    "one_neighbour",
    dist=twice(lambda x: stencil_of_rows(x, [(1, 0)], [(0, 1), (1, 2)])),
    why="The second rank does not get the first row of the third.",
)


def conv2d(x: Any, w: Any, rows: tuple[int, int] = (1, 1)) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), [rows, (1, 1)], dimension_numbers=("NHWC", "HWIO", "NHWC"))


def with_neighbours(x: Any) -> Any:
    above, below = lax.ppermute(x[:, -1:], "sp", [(0, 1), (1, 2)]), lax.ppermute(x[:, :1], "sp", [(1, 0), (2, 1)])
    return jnp.concatenate([above, x, below], 1)


conv_grad = case(
    "jax_convolution_halo_gradient",
    mesh={"sp": 3},
    args=[((1, 6, 4, 2), F32), ((3, 3, 2, 2), F32), ((1, 6, 4, 2), F32)],
    specs=(P(None, "sp"), P(), P(None, "sp")),
    out=P(),
    seq=lambda x, w, y: jax.grad(lambda w: jnp.sum((conv2d(x, w) - y) ** 2))(w),
    dist=lambda x, w, y: lax.psum(
        jax.grad(lambda w: jnp.sum((conv2d(with_neighbours(x), w, (0, 0)) - y) ** 2))(w), "sp"
    ),
    verdict="PROVED",
    why="Inner rows read a neighbour's row where the rank at the border reads padding: three sums against one.",
)
variant(
    conv_grad,
    "padded_everywhere",
    dist=lambda x, w, y: lax.psum(jax.grad(lambda w: jnp.sum((conv2d(x, w) - y) ** 2))(w), "sp"),
    why="Every rank pads its own rows.",
)


def top_gate(x: Any, r: Any) -> Any:
    """The softmax of the router where it is largest, else 0; normalised."""
    p = jax.nn.softmax(x @ r, axis=-1)
    g = jnp.where(p >= jnp.max(p, axis=-1, keepdims=True), p, 0.0)
    return g / jnp.sum(g, axis=-1, keepdims=True)


def masked_experts(chosen: Callable[[Any], Any]) -> Callable[..., Any]:
    def layer(x: Any, r: Any, w: Any) -> Any:
        g = lax.dynamic_slice_in_dim(top_gate(x, r), 2 * lax.axis_index("ep"), 2, axis=1)
        y = jnp.tanh(jnp.einsum("te,tm,emn->etn", chosen(g), x, w))
        return lax.psum(jnp.einsum("te,etn->tn", g, y), "ep")

    return layer


gated = case(
    "jax_experts_masked_by_gate",
    mesh={"ep": 2},
    args=[((6, 5), F32), ((5, 4), F32), ((4, 5, 3), F32)],
    specs=(P(), P(), P("ep")),
    out=P(),
    seq=lambda x, r, w: jnp.einsum("te,etn->tn", top_gate(x, r), jnp.tanh(jnp.einsum("tm,emn->etn", x, w))),
    dist=masked_experts(lambda g: (g > 0).astype(jnp.float32)),
    verdict="PROVED",
    why="A token is given to an expert only where its gate is not 0, and the expert's answer counts only there.",
)
variant(
    gated,
    "other_mask",
    dist=masked_experts(lambda g: (jnp.roll(g, 1, axis=1) > 0).astype(jnp.float32)),
    why="The mask is the next expert's.",
)


def product_if(otherwise: Callable[[Any], Any]) -> Callable[..., Any]:
    def layer(n: Any, x: Any, w: Any) -> Any:
        return lax.cond(n > 6, lambda: lax.psum(x @ w, "tp"), lambda: otherwise(x @ w))

    return layer


by_data = case(
    "jax_branch_on_data",
    mesh={"tp": 2},
    args=[((), I32), ((4, 6), F32), ((6, 5), F32)],
    specs=(P(), P(None, "tp"), P("tp")),
    out=P(),
    forms=BOTH,
    seq=lambda n, x, w: jnp.where(n > 6, x @ w, 2 * (x @ w)),
    dist=product_if(lambda y: 2 * lax.psum(y, "tp")),
    verdict="PROVED",
    why="All ranks have the same condition, so they take the same branch, and meet in it.",
)
variant(by_data, "no_psum", dist=product_if(lambda y: 2 * y), why="One branch leaves partial sums.")


def product_on(factor: Callable[[Any], Any]) -> Callable[..., Any]:
    def layer(x: Any, w: Any) -> Any:
        first = lax.axis_index("dp") == 0
        return lax.cond(first, lambda: lax.psum(x @ w, "tp"), lambda: factor(jnp.tanh(x @ w)))

    return layer


by_rank = case(
    "jax_branch_on_rank",
    mesh={"dp": 2, "tp": 2},
    args=[((4, 6), F32), ((6, 5), F32)],
    specs=(P("dp", "tp"), P("tp")),
    out=P("dp"),
    forms=BOTH,
    seq=lambda x, w: jnp.concatenate([x[:2] @ w, jnp.tanh(x[2:, :3] @ w[:3]) + jnp.tanh(x[2:, 3:] @ w[3:])]),
    dist=product_on(lambda y: lax.psum(y, "tp")),
    verdict="PROVED",
    why="The ranks of one half of dp sum, those of the other half do something else: each sum has all of its ranks.",
)
variant(
    by_rank,
    "average",
    dist=product_on(lambda y: lax.pmean(y, "tp")),
    why="The second half averages.",
)
