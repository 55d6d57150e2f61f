# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The version, which the file VERSION holds: as installed, or as the checkout says."""

import importlib.metadata
import pathlib


def _version() -> str:
    checkout = pathlib.Path(__file__).resolve().parents[2] / "VERSION"
    if checkout.is_file():
        return checkout.read_text(encoding="utf-8").strip()
    try:
        return importlib.metadata.version("shardproof")
    except importlib.metadata.PackageNotFoundError:
        return "0+unknown"


__version__ = _version()
