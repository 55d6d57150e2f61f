#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""What a scan over layers costs by the number of layers: each loop once, by induction, and unrolled.

The programs are made here: HLO of residual layers x + relu(x w1[i]) w2[i] as a while loop, on one device and with the hidden dimension cut over
two ranks; forward, and forward and backward (a second loop, which reads backwards what the first one kept, and fills the stacks of gradients).
With --jax, JAX captures a transformer block under lax.scan and shard_map, too. Each run is a process of its own. `problems` counts normal forms
that were asked for: work that does not depend on the machine.

usage: scan.py [--binary PATH] [--layers 4,16,126] [--unroll N] [--runs N] [--jax] [--update PAGE.md]
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench/scan.py begin -->", "<!-- bench/scan.py end -->"
ROWS, FEATURES, HIDDEN, RANKS = 3, 8, 16, 2

REGION = "sum {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n"


def while_loop(name: str, layers: int, carried: dict[str, str], body: str) -> str:
    """The computations of a loop; it carries a counter `i` and `carried`, and its body gives `n_<name>` for each."""
    state = "(" + ", ".join(["s32[]", *carried.values()]) + ")"
    reads = "".join(
        f"  {n} = {t} get-tuple-element(p), index={k}\n" for k, (n, t) in enumerate({"i": "s32[]", **carried}.items())
    )
    lines = "".join("  " + line.strip() + "\n" for line in body.strip().splitlines())
    return (
        f"{name}_cond {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant({layers})\n"
        f"  ROOT go = pred[] compare(i, n), direction=LT\n}}\n{name}_body {{\n  p = {state} parameter(0)\n{reads}"
        f"  one = s32[] constant(1)\n  nought = s32[] constant(0)\n  zero = f32[] constant(0)\n  n_i = s32[] add(i, one)\n{lines}"
        f"  ROOT out = {state} tuple(n_i, {', '.join('n_' + n for n in carried)})\n}}\n"
    )


def program(layers: int, width: int, ranks: int, backward: bool) -> str:
    x, h = f"f32[{ROWS},{FEATURES}]", f"f32[{ROWS},{width}]"
    w1, w2, xs = (
        f"f32[{layers},{FEATURES},{width}]",
        f"f32[{layers},{width},{FEATURES}]",
        f"f32[{layers},{ROWS},{FEATURES}]",
    )

    def whole(out: str, of: str) -> str:
        if ranks == 1:
            return f"{out} = {x} copy({of})"
        group = ",".join(str(r) for r in range(ranks))
        return f"{out} = {x} all-reduce({of}), channel_id=1, replica_groups={{{{{group}}}}}, use_global_device_ids=true, to_apply=sum"

    def weights(at: str) -> str:
        return f"""a3 = f32[1,{FEATURES},{width}] dynamic-slice(w1, {at}, nought, nought), dynamic_slice_sizes={{1,{FEATURES},{width}}}
        a = f32[{FEATURES},{width}] reshape(a3)
        b3 = f32[1,{width},{FEATURES}] dynamic-slice(w2, {at}, nought, nought), dynamic_slice_sizes={{1,{width},{FEATURES}}}
        b = f32[{width},{FEATURES}] reshape(b3)
        zeros = {h} broadcast(zero), dimensions={{}}
        n_w1 = {w1} copy(w1)
        n_w2 = {w2} copy(w2)
        """

    forward = f"""{weights("i")}
        z = {h} dot(x, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
        r = {h} maximum(z, zeros)
        part = {x} dot(r, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
        {whole("y", "part")}
        n_x = {x} add(x, y)
        row = f32[1,{ROWS},{FEATURES}] reshape(x)
        n_xs = {xs} dynamic-update-slice(xs, row, i, nought, nought)
    """
    back = f"""last = s32[] constant({layers - 1})
        j = s32[] subtract(last, i)
        {weights("j")}
        x3 = f32[1,{ROWS},{FEATURES}] dynamic-slice(xs, j, nought, nought), dynamic_slice_sizes={{1,{ROWS},{FEATURES}}}
        x = {x} reshape(x3)
        z = {h} dot(x, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
        r = {h} maximum(z, zeros)
        on = pred[{ROWS},{width}] compare(z, zeros), direction=GT
        dr = {h} dot(g, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
        dz = {h} select(on, dr, zeros)
        db = f32[{width},{FEATURES}] dot(r, g), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
        da = f32[{FEATURES},{width}] dot(x, dz), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
        da3 = f32[1,{FEATURES},{width}] reshape(da)
        db3 = f32[1,{width},{FEATURES}] reshape(db)
        n_g1 = {w1} dynamic-update-slice(g1, da3, j, nought, nought)
        n_g2 = {w2} dynamic-update-slice(g2, db3, j, nought, nought)
        part = {x} dot(dz, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
        {whole("dx", "part")}
        n_g = {x} add(g, dx)
        n_xs = {xs} copy(xs)
    """
    first = {"x": x, "w1": w1, "w2": w2, "xs": xs}
    second = {"g": x, "w1": w1, "w2": w2, "xs": xs, "g1": w1, "g2": w2}
    spmd = f", num_partitions={ranks}" if ranks > 1 else ""
    text = f"HloModule scan{spmd}\n\n{REGION}" + while_loop("forward", layers, first, forward)
    if backward:
        text += while_loop("backward", layers, second, back)
    state = "(" + ", ".join(["s32[]", *first.values()]) + ")"
    text += f"""ENTRY main {{
  x = {x} parameter(0)
  w1 = {w1} parameter(1)
  w2 = {w2} parameter(2)
  zero = f32[] constant(0)
  start = s32[] constant(0)
  xs = {xs} broadcast(zero), dimensions={{}}
  f_in = {state} tuple(start, x, w1, w2, xs)
  f = {state} while(f_in), condition=forward_cond, body=forward_body
  y = {x} get-tuple-element(f), index=1
"""
    if not backward:
        return text + f"  ROOT out = ({x}) tuple(y)\n}}\n"
    state = "(" + ", ".join(["s32[]", *second.values()]) + ")"
    return (
        text
        + f"""  kept = {xs} get-tuple-element(f), index=4
  s1 = {w1} broadcast(zero), dimensions={{}}
  s2 = {w2} broadcast(zero), dimensions={{}}
  b_in = {state} tuple(start, y, w1, w2, kept, s1, s2)
  b = {state} while(b_in), condition=backward_cond, body=backward_body
  g = {x} get-tuple-element(b), index=1
  g1 = {w1} get-tuple-element(b), index=5
  g2 = {w2} get-tuple-element(b), index=6
  ROOT out = ({x}, {x}, {w1}, {w2}) tuple(y, g, g1, g2)
}}
"""
    )


def layers_case(folder: pathlib.Path, layers: int, backward: bool) -> None:
    (folder / "seq.hlo.txt").write_text(program(layers, HIDDEN, 1, backward), encoding="utf-8")
    (folder / "dist.hlo.txt").write_text(program(layers, HIDDEN // RANKS, RANKS, backward), encoding="utf-8")
    weights = {"1": "Shard(2)@tp", "2": "Shard(1)@tp"}
    outputs = {"0": "Replicate"}
    if backward:
        outputs = {"0": "Replicate", "1": "Replicate", "2": "Shard(2)@tp", "3": "Shard(1)@tp"}
    write_case(folder, "seq.hlo.txt", "dist.hlo.txt", {"0": "Replicate", **weights}, outputs)


def write_case(folder: pathlib.Path, seq: str, dist: str, inputs: dict[str, str], outputs: dict[str, str]) -> None:
    case = {
        "sequential": seq,
        "distributed": dist,
        "mesh": {"tp": RANKS},
        "inputs": inputs,
        "outputs": {k: {"dist": k, "expect": v} for k, v in outputs.items()},
    }
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")


def block_case(folder: pathlib.Path, layers: int, backward: bool, recomputed: bool = False) -> None:
    """A transformer block under lax.scan; heads and hidden features are cut by shard_map. `recomputed`: the backward pass computes the block again."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import Mesh, PartitionSpec

    d, f, head, none = 16, 32, 4, PartitionSpec()
    columns, rows = PartitionSpec(None, None, "tp"), PartitionSpec(None, "tp", None)
    sizes = {
        "n1": (d,),
        "n2": (d,),
        "wq": (d, d),
        "wk": (d, d),
        "wv": (d, d),
        "wo": (d, d),
        "wg": (d, f),
        "wu": (d, f),
        "wd": (f, d),
    }
    specs = {k: none if k[0] == "n" else rows if k in ("wo", "wd") else columns for k in sizes}

    # Into and out of what is cut: a reduction of the gradient, and one of the value.
    leave = jax.custom_vjp(lambda x: lax.psum(x, "tp"))
    leave.defvjp(lambda x: (lax.psum(x, "tp"), None), lambda _, g: (g,))
    enter = jax.custom_vjp(lambda x: x)
    enter.defvjp(lambda x: (x, None), lambda _, g: (lax.psum(g, "tp"),))

    def block(x: Any, p: Any, enter: Any, leave: Any) -> Any:
        def norm(y: Any, w: Any) -> Any:
            return enter(y * lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-5) * w)

        def heads(y: Any) -> Any:
            return y.reshape(*y.shape[:2], -1, head)

        h = norm(x, p["n1"])
        scores = jnp.einsum("bqhd,bkhd->bhqk", heads(h @ p["wq"]), heads(h @ p["wk"])) / 2.0
        scores = jnp.where(jnp.tril(jnp.ones((6, 6), bool)), scores, -1e9)
        o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), heads(h @ p["wv"]))
        x = x + leave(o.reshape(*o.shape[:2], -1) @ p["wo"])
        h = norm(x, p["n2"])
        return x + leave((jax.nn.silu(h @ p["wg"]) * (h @ p["wu"])) @ p["wd"])

    def program(enter: Any, leave: Any) -> Any:
        def forward(p: Any, x: Any) -> Any:
            def step(c: Any, w: Any) -> Any:
                return block(c, w, enter, leave), None

            return lax.scan(jax.checkpoint(step) if recomputed else step, x, p)[0]

        if not backward:
            return forward
        return jax.grad(lambda p, x: jnp.mean(forward(p, x) ** 2), argnums=(0, 1))

    mesh = Mesh(jax.devices()[:RANKS], ("tp",))
    out = (specs, none) if backward else none
    cut = jax.shard_map(program(enter, leave), mesh=mesh, in_specs=(specs, none), out_specs=out, check_vma=False)
    one = program(lambda x: x, lambda x: x)
    args = (
        {k: jax.ShapeDtypeStruct((layers, *s), jnp.float32) for k, s in sizes.items()},
        jax.ShapeDtypeStruct((4, 6, d), jnp.float32),
    )
    for name, function in (("seq.mlir", one), ("dist.mlir", cut)):
        (folder / name).write_text(jax.jit(function, keep_unused=True).lower(*args).as_text(), encoding="utf-8")
    flat = [*(specs[k] for k in sorted(specs)), none]
    words = ["Shard(1)@tp" if s == rows else "Shard(2)@tp" if s == columns else "Replicate" for s in flat]
    outputs = {str(k): w for k, w in enumerate(words)} if backward else {"0": "Replicate"}
    write_case(folder, "seq.mlir", "dist.mlir", {f"%arg{k}": w for k, w in enumerate(words)}, outputs)


def measure(binary: pathlib.Path, folder: pathlib.Path, runs: int, unroll: bool) -> dict[str, Any]:
    command = [str(binary), "check", str(folder), "--json", *(["--unroll"] if unroll else [])]
    wall, cpu = [], []
    answer: dict[str, Any] = {}
    for _ in range(runs):
        before = os.times()
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall.append(time.perf_counter() - start)
        after = os.times()
        cpu.append(after.children_user + after.children_system - before.children_user - before.children_system)
        answer = json.loads(done.stdout)
    if "verdict" not in answer:
        sys.exit(f"{folder}: {answer}")
    stats = answer["stats"]
    return {
        "verdict": answer["verdict"],
        "loops": len(answer.get("loops", [])),
        "ms": 1000 * statistics.median(wall),
        "cpu": 1000 * statistics.median(cpu),
        "problems": stats["local_problems"],
        "distinct": stats["distinct_local_problems"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/shardproof")
    parser.add_argument("--layers", default="4,16,126")
    parser.add_argument("--unroll", type=int, default=16, help="the most layers that are also unrolled")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jax", action="store_true")
    parser.add_argument("--update", type=pathlib.Path, metavar="PAGE.md")
    args = parser.parse_args()
    if args.jax:
        os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={RANKS}")
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    cases: list[tuple[str, Any, bool]] = [
        ("layers, forward", layers_case, False),
        ("layers, forward and backward", layers_case, True),
    ]
    if args.jax:
        cases += [("JAX block, forward", block_case, False), ("JAX block, forward and backward", block_case, True)]
        cases += [("JAX block, backward recomputed", functools.partial(block_case, recomputed=True), True)]
    lines = [
        f"Measured with {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, median of {args.runs} runs.",
        "",
        "| program | layers | loops | verdict | problems | distinct | CPU ms | wall ms | unrolled: problems | distinct | CPU ms | wall ms |",
        "| ------- | -----: | ----: | ------: | -------: | -------: | -----: | ------: | -----------------: | -------: | -----: | ------: |",
    ]
    for name, make, backward in cases:
        for layers in (int(n) for n in args.layers.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                make(pathlib.Path(folder), layers, backward)
                once = measure(args.binary, pathlib.Path(folder), args.runs, False)
                cells = [name, layers, once["loops"] or "unrolled", once["verdict"], once["problems"], once["distinct"]]
                cells += [f"{once['cpu']:.0f}", f"{once['ms']:.0f}"]
                if layers <= args.unroll:
                    other = measure(args.binary, pathlib.Path(folder), args.runs, True)
                    cells += [other["problems"], other["distinct"], f"{other['cpu']:.0f}", f"{other['ms']:.0f}"]
                else:
                    cells += ["", "", "", ""]
                lines.append("| " + " | ".join(str(c) for c in cells) + " |")
                print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines)
    print(text)
    if args.update:
        page = args.update.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        args.update.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
