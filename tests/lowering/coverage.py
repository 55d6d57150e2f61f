# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes docs/coverage.md from the operator table. `python coverage.py lower-dump [--check]`."""

import pathlib
import subprocess
import sys

DOC = pathlib.Path(__file__).resolve().parents[2] / "docs" / "coverage.md"

HEAD = """# PyTorch operators that are understood

Generated from the table by `tests/lowering/coverage.py`; do not edit. An operator that is not here is opaque: what depends on it is UNKNOWN
(`unsupported-operator`), never guessed. [kernels.md](kernels.md) says how to add custom operators by a data file.

Beside the operators listed, these forms are derived by rule:

* in place (`add_.Tensor`, `__ior__`), including writes through views (`view`, `slice`, `select`, `t`, `split` ...) and to inputs of the
  program; `t_`, `transpose_`, `squeeze_`, `unsqueeze_`
* `out=` forms
* `_foreach_*` forms, in place or not
* higher-order operators that call a submodule: `wrap_with_set_grad_enabled`, `wrap_with_autocast`, `tag_activation_checkpoint`,
  `wrap_activation_checkpoint`, `wrap`, `invoke_subgraph`, `hints_wrapper`, `with_effects`; `auto_functionalized` and its v2 for operators with a contract
* Python arithmetic on sizes

Refused, because the result's shape or the choice of elements depends on data: boolean-mask `index`, `nonzero`, `masked_select`, `unique`,
`item()` used as a size, `embedding_bag`. Refused, because the text does not tell: `as_strided`. `index_put` by a boolean mask is understood
where the values do not differ over the masked elements. Two tensors that may or may not share memory (`reshape`, `contiguous`) are both
understood until one is written in place; then the other is unknown.
"""


def main():
    tool = sys.argv[1]
    families = {}
    for line in subprocess.run([tool, "--ops"], capture_output=True, text=True, check=True).stdout.splitlines():
        family, name, _ = line.split("\t")
        packet, _, overload = name.rpartition(".")
        families.setdefault(family, {}).setdefault(packet, []).append(overload)
    count = sum(len(o) for packets in families.values() for o in packets.values())
    text = HEAD + f"\n{count} operators:\n"
    for family, packets in sorted(families.items()):
        words = [p if o == ["default"] else f"{p} ({', '.join(o)})" for p, o in sorted(packets.items())]
        text += f"\n## {family}\n\n" + ", ".join(f"`{w}`" for w in words) + "\n"
    if "--check" in sys.argv:
        sys.exit(
            0
            if DOC.exists() and DOC.read_text() == text
            else f"{DOC} is not what the table gives: run this without --check"
        )
    DOC.write_text(text)


if __name__ == "__main__":
    main()
