# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes the cases of tests/golden and tests/soundness that are about loops: HLO text of while loops, right and wrong.

What the right ones need is a relation between what the loops carry (L-73); the wrong ones are what a careless induction would prove.
"""

import dataclasses
import json
import pathlib
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGION = """add_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
"""


@dataclasses.dataclass
class Loop:
    """A while loop of `rounds` rounds whose first carried value counts. Lines of the body see the carried values by name, and give `n_<name>`."""

    name: str
    carried: dict[str, tuple[str, str]]  # name -> type, initial value
    body: str
    rounds: int = 6
    start: int = 0

    def types(self) -> str:
        return "(" + ", ".join(["s32[]", *(t for t, _ in self.carried.values())]) + ")"

    def computations(self) -> str:
        elements = ["i", *self.carried]
        kinds = ["s32[]", *(t for t, _ in self.carried.values())]
        reads = "\n".join(
            f"  {e} = {t} get-tuple-element(p), index={k}" for k, (e, t) in enumerate(zip(elements, kinds, strict=True))
        )
        body = "\n".join("  " + line.strip() for line in self.body.strip().splitlines())
        results = ", ".join(["n_i", *(f"n_{c}" for c in self.carried)])
        return f"""{self.name}_cond {{
  p = {self.types()} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({self.start + self.rounds})
  ROOT go = pred[] compare(i, n), direction=LT
}}
{self.name}_body {{
  p = {self.types()} parameter(0)
{reads}
  one = s32[] constant(1)
  nought = s32[] constant(0)
  n_i = s32[] add(i, one)
{body}
  ROOT out = {self.types()} tuple({results})
}}
"""

    def call(self) -> str:
        """Lines of ENTRY: the loop, and `<name>_<carried>` for what it leaves."""
        initial = ", ".join([f"{self.name}_start", *(v for _, v in self.carried.values())])
        lines = [
            f"{self.name}_start = s32[] constant({self.start})",
            f"{self.name}_in = {self.types()} tuple({initial})",
            f"{self.name} = {self.types()} while({self.name}_in), condition={self.name}_cond, body={self.name}_body",
        ]
        for k, (e, t) in enumerate({"i": ("s32[]", ""), **self.carried}.items()):
            lines.append(f"{self.name}_{e} = {t[0]} get-tuple-element({self.name}), index={k}")
        return "\n".join("  " + line for line in lines)


def module(
    parameters: dict[str, str], loops: list[Loop], before: str, between: dict[str, str], result: str, ranks: int = 1
) -> str:
    """HLO text. `before`: lines before the loops; `between`: lines behind the loop of that name; `result`: lines that end with ROOT."""

    def block(text: str) -> str:
        return "".join("  " + line.strip() + "\n" for line in text.strip().splitlines())

    spmd = f", num_partitions={ranks}" if ranks > 1 else ""
    text = f"HloModule program{spmd}\n\n" + REGION
    for loop in loops:
        text += loop.computations()
    text += "ENTRY main {\n"
    for k, (name, kind) in enumerate(parameters.items()):
        text += f"  {name} = {kind} parameter({k})\n"
    text += block(before)
    for loop in loops:
        if f"{loop.name}(" not in "".join(between.values()):
            text += loop.call() + "\n" + block(between.get(loop.name, ""))
    return text + block(result) + "}\n"


def reduced(out: str, of: str, kind: str, groups: str = "{{0,1}}") -> str:
    return f"{out} = {kind} all-reduce({of}), channel_id=1, replica_groups={groups}, use_global_device_ids=true, to_apply=add_f32\n"


def write(
    name: str,
    verdict: str,
    why: str,
    sequential: str,
    distributed: str | list[str],
    inputs: dict[str, str],
    outputs: dict[str, str],
    by: str = "",
) -> None:
    """`by`: "induction" where that must prove it, "unrolling" where it must not."""
    folder = ROOT / ("soundness" if verdict == "UNKNOWN" else "golden") / name
    folder.mkdir(parents=True, exist_ok=True)
    texts = [distributed] if isinstance(distributed, str) else distributed
    names = ["dist.hlo.txt"] if isinstance(distributed, str) else [f"rank{k}.hlo.txt" for k in range(len(texts))]
    (folder / "seq.hlo.txt").write_text(sequential, encoding="utf-8")
    for file, text in zip(names, texts, strict=True):
        (folder / file).write_text(text, encoding="utf-8")
    ranks = 3 if len(texts) == 3 else 2
    case: dict[str, Any] = {
        "sequential": "seq.hlo.txt",
        "distributed": names[0] if isinstance(distributed, str) else names,
        "mesh": {"tp": ranks},
        "inputs": inputs,
        "outputs": {k: {"dist": k, "expect": v} for k, v in outputs.items()},
    }
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n", encoding="utf-8")
    if verdict == "UNKNOWN":
        (folder / "why.txt").write_text(why + "\n", encoding="utf-8")
        return
    expected: dict[str, Any] = {"verdict": verdict, "why": why}
    if by:
        expected["by"] = by
    if verdict == "PROVED":
        expected["outputs"] = dict.fromkeys(outputs, "PROVED")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


# --- layers: x + relu(x w1[i]) w2[i], the hidden dimension cut
N = 6


def layer(
    width: int, index: str = "i", psum: bool = True, rounds: int = N, then: str = "n_x = f32[3,4] add(x, y)"
) -> str:
    return f"""
      a3 = f32[1,4,{width}] dynamic-slice(w1, {index}, nought, nought), dynamic_slice_sizes={{1,4,{width}}}
      a = f32[4,{width}] reshape(a3)
      b3 = f32[1,{width},4] dynamic-slice(w2, {index}, nought, nought), dynamic_slice_sizes={{1,{width},4}}
      b = f32[{width},4] reshape(b3)
      h = f32[3,{width}] dot(x, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
      z = f32[] constant(0)
      zs = f32[3,{width}] broadcast(z), dimensions={{}}
      r = f32[3,{width}] maximum(h, zs)
      part = f32[3,4] dot(r, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
      {reduced("y", "part", "f32[3,4]") if psum else "y = f32[3,4] copy(part)"}
      n_w1 = f32[{rounds},4,{width}] copy(w1)
      n_w2 = f32[{rounds},{width},4] copy(w2)
      {then}
    """


def layers(
    width: int, ranks: int, body: str, rounds: int = N, start: int = 0, result: str = "ROOT out = (f32[3,4]) tuple(l_x)"
) -> str:
    w1, w2 = f"f32[{N},4,{width}]", f"f32[{N},{width},4]"
    loop = Loop("l", {"x": ("f32[3,4]", "x"), "w1": (w1, "w1"), "w2": (w2, "w2")}, body, rounds, start)
    return module({"x": "f32[3,4]", "w1": w1, "w2": w2}, [loop], "", {}, result, ranks)


LAYERS_IN = {"0": "Replicate", "1": "Shard(2)@tp", "2": "Shard(1)@tp"}
REPLICATE = {"0": "Replicate"}
SEQ = layers(8, 1, layer(8, psum=False))
GOOD = layers(4, 2, layer(4))


def layer_cases() -> None:
    write(
        "loop_layers",
        "PROVED",
        "Every layer reduces its own partial sum.",
        SEQ,
        GOOD,
        LAYERS_IN,
        REPLICATE,
        "induction",
    )
    wrong: dict[str, tuple[str, Any]] = {
        "no_psum": ("A layer keeps its partial sum.", layers(4, 2, layer(4, psum=False))),
        "one_round_less": ("The last layer is left out.", layers(4, 2, layer(4), rounds=N - 1)),
        "backwards": (
            "The ranks walk the layers from the last to the first.",
            layers(4, 2, f"last = s32[] constant({N - 1})\nback = s32[] subtract(last, i)\n" + layer(4, "back")),
        ),
        "broken_once": (
            "Round 3 adds twice.",
            layers(
                4,
                2,
                layer(
                    4,
                    then="""three = s32[] constant(3)
                    here = pred[] compare(i, three), direction=EQ
                    heres = pred[3,4] broadcast(here), dimensions={}
                    once = f32[3,4] add(x, y)
                    twice = f32[3,4] add(once, y)
                    n_x = f32[3,4] select(heres, twice, once)""",
                ),
            ),
        ),
        "one_rank_backwards": (
            "Rank 1 walks the layers from the last to the first.",
            [
                GOOD,
                layers(4, 2, f"last = s32[] constant({N - 1})\nback = s32[] subtract(last, i)\n" + layer(4, "back")),
            ],
        ),
        "one_rank_from_one": (
            "Rank 1 starts to count at 1, and reads the last layer twice.",
            [GOOD, layers(4, 2, layer(4), start=1)],
        ),
        "count_behind": (
            "What is left of the counter is one more than the ranks take it for.",
            layers(
                4,
                2,
                layer(4),
                result=f"c = f32[] constant({N - 1})\ncs = f32[3,4] broadcast(c), dimensions={{}}\ny = f32[3,4] multiply(l_x, cs)\nROOT out = (f32[3,4]) tuple(y)",
            ),
        ),
        "one_rank_alone": (
            "Rank 1 has its reduction behind the loop, where nobody meets it.",
            [
                GOOD,
                layers(
                    4,
                    2,
                    layer(4, psum=False),
                    result=reduced("y", "l_x", "f32[3,4]") + "ROOT out = (f32[3,4]) tuple(y)",
                ),
            ],
        ),
    }
    for name, (why, program) in wrong.items():
        sequential = SEQ
        if name == "count_behind":
            sequential = layers(
                8,
                1,
                layer(8, psum=False),
                result="c = f32[] convert(l_i)\ncs = f32[3,4] broadcast(c), dimensions={}\ny = f32[3,4] multiply(l_x, cs)\nROOT out = (f32[3,4]) tuple(y)",
            )
            right = program.replace(f"constant({N - 1})", f"constant({N})")
            write(
                "loop_counter_behind",
                "PROVED",
                "What a counter leaves is used.",
                sequential,
                right,
                LAYERS_IN,
                REPLICATE,
                "induction",
            )
        write(f"loop_layers__{name}", "REFUTED", why, sequential, program, LAYERS_IN, REPLICATE)


# --- other carried values
def square(
    carried: dict[str, tuple[str, str]],
    body: str,
    result: str,
    parameters: dict[str, str],
    ranks: int = 1,
    rounds: int = N,
) -> str:
    return module(parameters, [Loop("l", carried, body, rounds)], "zero = f32[] constant(0)", {}, result, ranks)


def swapped(rounds: int, cut: bool, swap: bool, sequential_swap: bool = False) -> str:
    """Two values that change places; on the ranks each has one half of each, or they exchange halves."""
    n = 2 if cut else 4
    body = f"""two = f32[] constant(2)
      twos = f32[{n}] broadcast(two), dimensions={{}}
      bigger = f32[{n}] multiply(a, twos)
    """
    if cut and swap:
        body += "n_a = f32[2] collective-permute(bigger), channel_id=1, source_target_pairs={{0,1},{1,0}}\nn_b = f32[2] copy(b)"
    elif sequential_swap or swap:
        body += f"n_a = f32[{n}] copy(b)\nn_b = f32[{n}] copy(bigger)"
    else:
        body += f"n_a = f32[{n}] copy(bigger)\nn_b = f32[{n}] copy(b)"
    kind = f"f32[{n}]"
    return square(
        {"a": (kind, "a"), "b": (kind, "b")},
        body,
        f"ROOT out = ({kind}, {kind}) tuple(l_a, l_b)",
        {"a": kind, "b": kind},
        2 if cut else 1,
        rounds,
    )


def summed(ranks: int, reset: bool = False, behind: bool = True) -> str:
    """Gradients of microbatches added up, reduced behind the loop; rows are cut."""
    rows = 4 // ranks
    kind = f"f32[{N},{rows},3]"
    body = f"""m3 = f32[1,{rows},3] dynamic-slice(m, i, nought, nought), dynamic_slice_sizes={{1,{rows},3}}
      m2 = f32[{rows},3] reshape(m3)
      h = f32[{rows},3] multiply(m2, m2)
      ones = f32[] constant(1)
      row = f32[{rows}] broadcast(ones), dimensions={{}}
      g = f32[3] dot(row, h), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
      n_m = {kind} copy(m)
      {"n_sum = f32[3] copy(g)" if reset else "n_sum = f32[3] add(sum, g)"}
    """
    result = "ROOT out = (f32[3]) tuple(l_sum)"
    if ranks > 1 and behind:
        result = reduced("whole", "l_sum", "f32[3]") + "ROOT out = (f32[3]) tuple(whole)"
    return module(
        {"m": kind},
        [Loop("l", {"sum": ("f32[3]", "zeros"), "m": (kind, "m")}, body)],
        "zero = f32[] constant(0)\nzeros = f32[3] broadcast(zero), dimensions={}",
        {},
        result,
        ranks,
    )


def stacked(width: int, ranks: int, back: str = "back", write_at: str = "i", gathered: bool = True) -> str:
    """A loop that keeps what it saw in a stack, and one that reads the stack from its end."""
    kind, stack = f"f32[{width}]", f"f32[{N},{width}]"
    first = f"""row = f32[1,{width}] reshape(x)
      n_s = {stack} dynamic-update-slice(s, row, {write_at}, nought)
      n_x = {kind} tanh(x)
    """
    second = f"""last = s32[] constant({N - 1})
      back = s32[] subtract(last, i)
      row = f32[1,{width}] dynamic-slice(s, {back}, nought), dynamic_slice_sizes={{1,{width}}}
      r = {kind} reshape(row)
      t = {kind} multiply(r, g)
      n_g = {kind} add(t, r)
      n_s = {stack} copy(s)
    """
    loops = [
        Loop("f", {"s": (stack, "zeros"), "x": (kind, "x")}, first),
        Loop("b", {"s": (stack, "f_s"), "g": (kind, "f_x")}, second),
    ]
    return module(
        {"x": kind},
        loops,
        f"zero = f32[] constant(0)\nzeros = {stack} broadcast(zero), dimensions={{}}",
        {},
        f"ROOT out = ({kind}, {stack}) tuple(b_g, f_s)",
        ranks,
    )


def nested(rows: int, ranks: int, times: int = 5) -> str:
    kind = f"f32[{rows},3]"
    inner = Loop("inner", {"y": (kind, "x")}, f"n_y = {kind} sine(y)", times)
    outer = Loop("outer", {"x": (kind, "x")}, inner.call() + f"\nn_x = {kind} add(inner_y, x)")
    text = module({"x": kind}, [outer], "", {}, f"ROOT out = ({kind}) tuple(outer_x)", ranks)
    return text.replace(REGION, REGION + inner.computations())


def value_cases() -> None:
    cut = {"0": "Shard(0)@tp", "1": "Shard(0)@tp"}
    out = {"0": "Shard(0)@tp", "1": "Shard(0)@tp"}
    write(
        "loop_carry_swapped", "PROVED", "Two values change places in every round on both sides.", swapped(7, False, True),
        module(
            {"a": "f32[2]", "b": "f32[2]"},
            [Loop("l", {"a": ("f32[2]", "a"), "b": ("f32[2]", "b")}, "two = f32[] constant(2)\ntwos = f32[2] broadcast(two), dimensions={}\nbigger = f32[2] multiply(a, twos)\nn_a = f32[2] copy(b)\nn_b = f32[2] copy(bigger)", 7)],
            "", {}, "ROOT out = (f32[2], f32[2]) tuple(l_a, l_b)", 2,
        ),
        cut, out, "induction",
    )  # fmt: skip
    write(
        "loop_carry_swapped__not",
        "REFUTED",
        "The ranks do not swap.",
        swapped(7, False, True),
        swapped(7, True, False),
        cut,
        out,
    )
    write(
        "loop_shards_exchanged",
        "PROVED",
        "The ranks exchange their halves in every round, and there are evenly many: no relation is kept.",
        swapped(6, False, False),
        swapped(6, True, True),
        cut,
        out,
        "unrolling",
    )
    write("loop_shards_exchanged__odd", "REFUTED", "The ranks exchange their halves an odd number of times.", swapped(7, False, False), swapped(7, True, True), cut, out)  # fmt: skip
    rows = {"0": "Shard(1)@tp"}
    write(
        "loop_sums",
        "PROVED",
        "Gradients of microbatches are partial sums in the loop, reduced behind it.",
        summed(1),
        summed(2),
        rows,
        REPLICATE,
        "induction",
    )
    write(
        "loop_sums__kept_partial",
        "REFUTED",
        "The accumulated gradient is never reduced.",
        summed(1),
        summed(2, behind=False),
        rows,
        REPLICATE,
    )
    write(
        "loop_sums__reset",
        "REFUTED",
        "Only the last microbatch counts.",
        summed(1),
        summed(2, reset=True),
        rows,
        REPLICATE,
    )
    write(
        "loop_sums__one_rank_resets",
        "REFUTED",
        "On rank 1 only the last microbatch counts.",
        summed(1),
        [summed(2), summed(2, reset=True)],
        rows,
        REPLICATE,
    )
    x, both = {"0": "Shard(0)@tp"}, {"0": "Shard(0)@tp", "1": "Shard(1)@tp"}
    write(
        "loop_stack",
        "PROVED",
        "What the first loop keeps is read backwards by the second.",
        stacked(4, 1),
        stacked(2, 2),
        x,
        both,
        "induction",
    )
    write(
        "loop_stack__one_early",
        "REFUTED",
        "The second loop reads one row too early.",
        stacked(4, 1),
        stacked(2, 2, back="i"),
        x,
        both,
    )
    write("loop_stack_rows", "PROVED", "Rows below the first are written at the first: the place is clamped on both sides.",
          stacked(4, 1, write_at="at").replace("  row = f32[1,4] reshape(x)", "  at = s32[] subtract(i, one)\n  row = f32[1,4] reshape(x)"),
          stacked(2, 2, write_at="at").replace("  row = f32[1,2] reshape(x)", "  at = s32[] subtract(i, one)\n  row = f32[1,2] reshape(x)"), x, both, "induction")  # fmt: skip
    write("loop_stack_rows__one_off", "REFUTED", "The ranks write one row too early.", stacked(4, 1),
          stacked(2, 2, write_at="at").replace("  row = f32[1,2] reshape(x)", "  at = s32[] subtract(i, one)\n  row = f32[1,2] reshape(x)"), x, both)  # fmt: skip
    write(
        "loop_nested",
        "PROVED",
        "A loop in a loop.",
        nested(4, 1),
        nested(2, 2),
        {"0": "Shard(0)@tp"},
        {"0": "Shard(0)@tp"},
        "induction",
    )
    write("loop_nested__inner_shorter", "REFUTED", "The inner loop has a round less.", nested(4, 1), nested(2, 2, 4), {"0": "Shard(0)@tp"}, {"0": "Shard(0)@tp"})  # fmt: skip


# --- rows of stacks made again (L-87), scaled relations
def kept(
    width: int,
    ranks: int,
    read_at: str = "back",
    write_at: str = "i",
    row: str = "d",
    gathered: bool = False,
    extra: str = "",
    rounds: int = N,
) -> str:
    """A loop that keeps a divisor of each round (1 + x^2) in a stack, and one that divides by what it reads there. `gathered`: x is cut and each
    rank keeps the whole divisor."""
    kind, keep = f"f32[{width}]", 4 if gathered else width
    stack = f"f32[{N},{keep}]"
    whole = f"f32[{keep}]"
    first = f"""last = s32[] constant({rounds - 1})
      back = s32[] subtract(last, i)
      early = s32[] subtract(i, one)
      half = s32[] minimum(i, one)
      w1 = f32[1,{width}] dynamic-slice(w, i, nought), dynamic_slice_sizes={{1,{width}}}
      w0 = {kind} reshape(w1)
      ones = f32[] constant(1)
      m = {kind} broadcast(ones), dimensions={{}}
      q = {kind} multiply(x, x)
      p1 = {kind} add(q, m)
      {f"d = {whole} all-gather(p1), channel_id=1, replica_groups={{{{0,1}}}}, dimensions={{0}}, use_global_device_ids=true" if gathered else f"d = {kind} copy(p1)"}
      {extra}
      r = f32[1,{keep}] reshape({row})
      n_s = {stack} dynamic-update-slice(s, r, {write_at}, nought)
      t = {kind} tanh(x)
      n_x = {kind} add(t, w0)
      n_w = f32[{N},{width}] copy(w)
    """
    mine = (
        f"""pid = u32[] partition-id()
      two = u32[] constant(2)
      offset = u32[] multiply(pid, two)
      zero32 = u32[] constant(0)
      own = {kind} dynamic-slice(r, offset), dynamic_slice_sizes={{{width}}}"""
        if gathered
        else f"own = {kind} copy(r)"
    )
    second = f"""last = s32[] constant({N - 1})
      back = s32[] subtract(last, i)
      row = f32[1,{keep}] dynamic-slice(s, {read_at}, nought), dynamic_slice_sizes={{1,{keep}}}
      r = {whole} reshape(row)
      {mine}
      over = {kind} divide(g, own)
      n_g = {kind} tanh(over)
      n_s = {stack} copy(s)
    """
    loops = [
        Loop("f", {"s": (stack, "zeros"), "x": (kind, "x"), "w": (f"f32[{N},{width}]", "w")}, first, rounds),
        Loop("b", {"s": (stack, "f_s"), "g": (kind, "f_x")}, second),
    ]
    return module(
        {"x": kind, "w": f"f32[{N},{width}]"},
        loops,
        f"zero = f32[] constant(0)\nzeros = {stack} broadcast(zero), dimensions={{}}",
        {},
        f"ROOT out = ({kind}) tuple(b_g)",
        ranks,
    )


def averaged(rows: int, scale: int, ranks: int, twice: bool = False) -> str:
    """Backwards through x + x w[i] from the mean of squares: each rank has the mean of its own rows, and the gradients are averaged at the end."""
    kind, w = f"f32[{rows},3]", f"f32[{N},3]"
    first = f"""w1 = f32[1,3] dynamic-slice(w, i, nought), dynamic_slice_sizes={{1,3}}
      w0 = f32[3] reshape(w1)
      wide = {kind} broadcast(w0), dimensions={{1}}
      p1 = {kind} multiply(x, wide)
      n_x = {kind} add(x, p1)
      r = f32[1,{rows},3] reshape(x)
      n_s = f32[{N},{rows},3] dynamic-update-slice(s, r, i, nought, nought)
      n_w = {w} copy(w)
    """
    second = f"""last = s32[] constant({N - 1})
      j = s32[] subtract(last, i)
      w1 = f32[1,3] dynamic-slice(w, j, nought), dynamic_slice_sizes={{1,3}}
      w0 = f32[3] reshape(w1)
      wide = {kind} broadcast(w0), dimensions={{1}}
      r1 = f32[1,{rows},3] dynamic-slice(s, j, nought, nought), dynamic_slice_sizes={{1,{rows},3}}
      r = {kind} reshape(r1)
      xg = {kind} multiply(r, g)
      ones = f32[] constant(1)
      row = f32[{rows}] broadcast(ones), dimensions={{}}
      dw = f32[3] dot(row, xg), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
      dw1 = f32[1,3] reshape(dw)
      n_d = {w} dynamic-update-slice(d, dw1, j, nought)
      p1 = {kind} multiply(g, wide)
      n_g = {kind} add(g, p1)
      n_w = {w} copy(w)
      n_s = f32[{N},{rows},3] copy(s)
    """
    loops = [
        Loop("f", {"s": (f"f32[{N},{rows},3]", "zeros"), "x": (kind, "x"), "w": (w, "w")}, first),
        Loop("b", {"g": (kind, "g0"), "w": (w, "w"), "s": (f"f32[{N},{rows},3]", "f_s"), "d": (w, "nothing")}, second),
    ]
    middle = (
        f"c = f32[] constant({2 / scale})\ncs = {kind} broadcast(c), dimensions={{}}\ng0 = {kind} multiply(f_x, cs)"
    )
    result = f"ROOT out = ({w}) tuple(b_d)"
    if ranks > 1:
        result = reduced("total", "b_d", w)
        result += f"h = f32[] constant({0.25 if twice else 0.5})\nhs = {w} broadcast(h), dimensions={{}}\nmean = {w} multiply(total, hs)\nROOT out = ({w}) tuple(mean)"
    return module(
        {"x": kind, "w": w},
        loops,
        f"zero = f32[] constant(0)\nzeros = f32[{N},{rows},3] broadcast(zero), dimensions={{}}\nnothing = {w} broadcast(zero), dimensions={{}}",
        {"f": middle},
        result,
        ranks,
    )


def stack_cases() -> None:
    x, out = {"0": "Shard(0)@tp", "1": "Shard(1)@tp"}, {"0": "Shard(0)@tp"}
    good = kept(4, 1)
    write("loop_kept_divisor", "PROVED", "What the second loop divides by was made by the first, and is never 0.", good, kept(2, 2), x, out, "induction")  # fmt: skip
    write("loop_kept_divisor_gathered", "PROVED", "The ranks keep the whole divisor, of which they have a half on one side only.", good, kept(2, 2, gathered=True), x, out, "induction")  # fmt: skip
    write("loop_kept_from_end", "PROVED", "Rows are written from the last to the first, and read in order.", good, kept(2, 2, read_at="i", write_at="back"), x, out, "induction")  # fmt: skip
    for name, why, text in (
        ("reversed", "The second loop reads the rows in the order in which they were written.", kept(2, 2, read_at="i")),
        ("both_reversed", "Rows are written and read from the last to the first: in the order in which they were made.", kept(2, 2, write_at="back", read_at="back")),
        ("one_early", "Rows are written one too early, and the first one twice.", kept(2, 2, write_at="early")),
        ("two_rows", "Only the first two rows are written.", kept(2, 2, write_at="half")),
        ("before_and_not", "What is kept is not the divisor, but its square.", kept(2, 2, row="dd", extra="dd = f32[2] multiply(d, d)")),
        ("after_the_round", "What is kept is the divisor of the round behind.", kept(2, 2, row="dd", extra="tt = f32[2] tanh(x)\nxx = f32[2] add(tt, w0)\nqq = f32[2] multiply(xx, xx)\ndd = f32[2] add(qq, m)")),
        ("row_upon_row", "What is kept is the divisor and the row before it.", kept(2, 2, row="dd", extra="old1 = f32[1,2] dynamic-slice(s, early, nought), dynamic_slice_sizes={1,2}\nold = f32[2] reshape(old1)\ndd = f32[2] add(old, d)")),
        ("round_short", "The last row is not written.", kept(2, 2, rounds=N - 1)),
    ):  # fmt: skip
        write(f"loop_kept_divisor__{name}", "REFUTED", why, good, text, x, out)
    write("loop_kept_divisor__rank_reversed", "REFUTED", "Rank 1 reads the rows in the order in which they were written.", good, [kept(2, 2), kept(2, 2, read_at="i")], x, out)  # fmt: skip
    write("loop_kept_divisor_gathered__reversed", "REFUTED", "The whole divisor of another round is read.", good, kept(2, 2, gathered=True, read_at="i"), x, out)  # fmt: skip
    rows = {"0": "Shard(0)@tp", "1": "Replicate"}
    write("loop_own_means", "PROVED", "Each rank starts from the mean over its own rows: twice its part of the gradient.", averaged(4, 12, 1), averaged(2, 6, 2), rows, REPLICATE, "induction")  # fmt: skip
    write("loop_own_means__twice", "REFUTED", "The gradients are averaged twice.", averaged(4, 12, 1), averaged(2, 6, 2, twice=True), rows, REPLICATE)  # fmt: skip
    write("loop_own_means__whole", "REFUTED", "Each rank divides by all rows, and the gradients are averaged.", averaged(4, 12, 1), averaged(2, 12, 2), rows, REPLICATE)  # fmt: skip


# --- what must not be taken for granted
def inverted(tail: str, ranks: int, first: str = "w") -> str:
    body = "ones = f32[] constant(1)\nn_a = f32[] divide(ones, a)"
    return module({"x": "f32[]", "w": "f32[]"}, [Loop("l", {"a": ("f32[]", first)}, body, 7)], "", {}, tail, ranks)


def meeting(rank: int) -> str:
    """Three ranks: what one does before a loop meets what another does behind it. One round completes, two do not."""

    def largest(out: str, of: str, groups: str) -> str:
        return reduced(out, of, "f32[3]", groups).replace("add_f32", "max_f32")

    body = {
        0: largest("n_a", "a", "{{0,2}}"),
        1: largest("n_a", "a", "{{1,2}}"),
        2: largest("b", "a", "{{0,2}}") + largest("n_a", "b", "{{1,2}}"),
    }[rank]
    loop = Loop("l", {"a": ("f32[3]", "m" if rank == 1 else "x")}, body)
    before = largest("m", "x", "{{0,1}}") if rank == 1 else ""
    behind = largest("m", "l_a", "{{0,1}}") if rank == 0 else "m = f32[3] copy(l_a)" if rank == 2 else ""
    text = module(
        {"x": "f32[3]"}, [loop], before, {"l": behind}, f"ROOT out = (f32[3]) tuple({'l_a' if rank == 1 else 'm'})", 3
    )
    return text.replace(REGION, REGION.replace("add", "max").replace("max(x, y)", "maximum(x, y)"))


def trap_cases() -> None:
    same = {"0": "Replicate", "1": "Replicate"}
    write("loop_carries_infinity", "UNKNOWN", "1/w is infinite or undefined where w is 0: what a loop carries need not be finite, and a - a is not 0.",
          inverted("ROOT out = (f32[]) tuple(x)", 1), inverted("d = f32[] subtract(l_a, l_a)\ny = f32[] add(x, d)\nROOT out = (f32[]) tuple(y)", 2), same, REPLICATE)  # fmt: skip
    divided = (
        kept(2, 2)
        .replace("add(q, m)", "copy(x)")
        .replace("tanh(over)", "add(g, zeros)")
        .replace("  n_g", "  zeros = f32[2] subtract(over, over)\n  n_g")
    )
    nothing = kept(4, 1).replace("tanh(over)", "copy(g)")
    write("loop_kept_zero_divides", "UNKNOWN", "What is kept may be 0: a quotient by it less itself is not 0.", nothing, divided, {"0": "Shard(0)@tp", "1": "Shard(1)@tp"}, {"0": "Shard(0)@tp"})  # fmt: skip
    sequential = module(
        {"x": "f32[3]"},
        [Loop("l", {"a": ("f32[3]", "x")}, "n_a = f32[3] copy(a)")],
        "",
        {},
        "ROOT out = (f32[3]) tuple(l_a)",
    )
    write("loop_meets_before_and_behind", "REFUTED", "What rank 1 sends before its loop is met behind the loop of rank 0: one round completes, two hang.",
          sequential, [meeting(r) for r in range(3)], {"0": "Replicate"}, REPLICATE)  # fmt: skip


if __name__ == "__main__":
    layer_cases()
    value_cases()
    stack_cases()
    trap_cases()
