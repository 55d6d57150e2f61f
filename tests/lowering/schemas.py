# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Compares the operator table with PyTorch's own schemas: names, order and defaults of parameters. `python schemas.py lower-dump`."""

import contextlib
import subprocess
import sys

import torch
import torch.distributed.tensor  # registers the _dtensor operators

FACTORY = ["dtype=None", "layout=None", "device=None", "pin_memory=None"]


def word(v):
    if isinstance(v, torch.dtype):
        return "None"  # a default type is the lowering's own rule
    if isinstance(v, (list, tuple)):
        return "[]" if not v else word(v[0]) if len(set(v)) == 1 else str(list(v))
    return repr(v) if not isinstance(v, float) or v != int(v) else repr(int(v))


def of_torch(schema):
    out = []
    for a in schema.arguments:
        if a.is_out:
            continue
        default = a.has_default_value()
        out.append(a.name + ("=" + word(a.default_value) if default else ""))
    return out


def normal(p):
    name, eq, value = p.partition("=")
    if eq:
        with contextlib.suppress(ValueError):
            value = word(float(value)) if "." in value or "e-" in value else value
    return name + eq + value


def problems(tool):
    """Rows that PyTorch does not have, or has otherwise."""
    for line in subprocess.run([tool, "--ops"], capture_output=True, text=True, check=True).stdout.splitlines():
        family, name, params = line.split("\t")
        space = name.split(".")[0]
        if family.startswith("kernels") or space in ("shardproof", "vllm", "higher_order"):
            continue
        packet, overload = name[len(space) + 1 :].rsplit(".", 1)
        try:
            op = getattr(getattr(getattr(torch.ops, space), packet), overload)
        except (AttributeError, RuntimeError):
            yield f"{name}: PyTorch {torch.__version__} has no such operator"
            continue
        mine = []
        for p in params.split():
            mine += FACTORY if p == "&factory" else [normal(p.replace("!", ""))]
        theirs = [normal(p) for p in of_torch(op._schema)]
        names = [p.split("=")[0] for p in mine]
        if names != [p.split("=")[0] for p in theirs][: len(names)] or len(names) < len(theirs):
            yield f"{name}: {mine} where PyTorch has {theirs}"
            continue
        for a, b in zip(mine, theirs, strict=False):
            if a != b and "=" in b:
                yield f"{name}: {a} where PyTorch has {b}"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
