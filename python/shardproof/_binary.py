# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Programs that only MLIR itself reads: MLIR bytecode, StableHLO's portable artifacts, serialized jax.export programs.

The command reads text. Where JAX is installed, a manifest's binary programs are printed as text beside it before the command sees them.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from shardproof._manifest import map_paths
from shardproof._report import InputError

_BYTECODE = b"ML\xefR"


def is_binary_mlir(data: bytes) -> bool:
    """Bytecode, or a serialized jax.export program (which holds bytecode after a binary header)."""
    return data.startswith(_BYTECODE) or (b"\0" in data[:64] and _BYTECODE in data[: 1 << 16])


def mlir_text(data: bytes, path: str = "") -> str:
    """The program as StableHLO text, with locations. Needs JAX."""
    try:
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
    except ImportError as error:
        raise InputError(
            "MLIR bytecode, which only MLIR reads: pip install 'shardproof[jax]', and it is converted by itself",
            "SP242",
            path,
        ) from error
    try:
        if not data.startswith(_BYTECODE):
            from jax import export

            data = export.deserialize(bytearray(data)).mlir_module_serialized
        with mlir.make_ir_context() as context:
            try:
                module = stablehlo.deserialize_portable_artifact(context, data)
            except Exception:  # bytecode of an ordinary module, which has no version to go back from
                module = ir.Module.parse(data, context)
            return str(module.operation.get_asm(enable_debug_info=True))
    except Exception as error:
        raise InputError(
            f"MLIR bytecode that the installed JAX cannot read: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            "SP242",
            path,
        ) from error


def _paths(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [p for v in (value or ()) for p in _paths(v)]


def as_text(keys: Mapping[str, Any], directory: pathlib.Path, folder: pathlib.Path) -> dict[str, Any] | None:
    """The manifest with every binary program of it printed into `folder`; None if there is none."""
    texts: dict[str, str] = {}
    for name in dict.fromkeys(_paths(keys.get("sequential")) + _paths(keys.get("distributed"))):
        path = directory / name
        if "{rank}" in name or not path.is_file():
            continue
        with path.open("rb") as file:
            head = file.read(1 << 16)
        if is_binary_mlir(head):
            texts[name] = str(folder / f"{len(texts)}_{path.stem}.mlir")
            pathlib.Path(texts[name]).write_text(mlir_text(path.read_bytes(), str(path)), encoding="utf-8")
    if not texts:
        return None

    changed = {k: map_paths(keys[k], lambda p: texts.get(p, p)) for k in ("sequential", "distributed") if k in keys}
    return {**keys, **changed}
