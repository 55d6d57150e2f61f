# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Where FLINT is, for a checker that was built without it: in the package python-flint, whose wheels bring the library."""

from __future__ import annotations

import importlib.util
import os
import pathlib


def flint_library() -> pathlib.Path | None:
    """The library of an installed python-flint, or None."""
    try:
        spec = importlib.util.find_spec("flint")
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        package = pathlib.Path(folder)
        for place, pattern in (
            (package.parent / "python_flint.libs", "libflint*.so*"),
            (package / ".dylibs", "libflint*.dylib"),
        ):
            found = sorted(place.glob(pattern))
            if found:
                return found[0]
    return None


def tell_where_flint_is() -> None:
    """Sets SHARDPROOF_FLINT, which the checker reads when it first evaluates something, unless it is set or no python-flint is there."""
    if "SHARDPROOF_FLINT" not in os.environ and (library := flint_library()) is not None:
        os.environ["SHARDPROOF_FLINT"] = str(library)
