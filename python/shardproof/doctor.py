# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""What is installed here, and which programs can be captured with it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess

from shardproof._flint import flint_library
from shardproof._report import ShardproofError
from shardproof._run import command_path, extension
from shardproof._version import __version__

# Package, what it gives, the versions that the tests run with.
FRAMEWORKS = (
    ("torch", "shardproof.torch: modules, DTensor, FSDP, pipelining", "2.13"),
    ("transformers", "shardproof.torch.transformers: models with a tp_plan", "5."),
    ("torchtitan", "shardproof.torch.torchtitan: parallelize functions", "0.3"),
    ("megatron-core", "shardproof.torch.megatron: GPT models", "0.19"),
    ("jax", "shardproof.jax: jit and shard_map", "0.10"),
    ("flax", "Flax modules under shardproof.jax", "0.12"),
    ("optax", "optax steps under shardproof.jax", "0.2"),
    ("pytest", "the pytest plugin", ""),
    ("rich", "coloured reports", ""),
)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def lines() -> list[str]:
    out = [f"shardproof {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    out.append(
        "extension module: " + ("built" if extension() is not None else "not built; the command is called instead")
    )
    try:
        command = command_path()
        printed = subprocess.run([str(command), "--version"], capture_output=True, text=True).stdout.strip()
        out.append(f"command: {command} ({printed or 'no version'})")
        checker = command.with_name("shardproof-check")
        out.append(f"certificate checker: {checker if checker.exists() else 'not found beside the command'}")
    except ShardproofError as error:
        out.append(f"command: {error}")
    flint = os.environ.get("SHARDPROOF_FLINT") or flint_library()
    out.append(f"FLINT, to evaluate programs: {flint or 'the one that the command was built with, or the system has'}")
    for package, gives, tested in FRAMEWORKS:
        version = _version(package)
        note = (
            "not installed"
            if version is None
            else version
            if not tested or version.startswith(tested)
            else f"{version} (tested with {tested})"
        )
        out.append(f"{package}: {note}: {gives}")
    return out


def doctor() -> int:
    print("\n".join(lines()))
    return 0
