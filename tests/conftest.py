# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Fixtures for all Python tests: the built commands."""

import os
import pathlib
import shutil

import pytest

# JAX reads this when it makes its first device.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_binary() -> pathlib.Path | None:
    """$SHARDPROOF, else the release build of this checkout, else what is on the PATH."""
    for candidate in (os.environ.get("SHARDPROOF"), ROOT / "build/release/shardproof", shutil.which("shardproof")):
        if candidate and os.access(candidate, os.X_OK):
            return pathlib.Path(candidate).resolve()
    return None


@pytest.fixture(scope="session")
def binary() -> pathlib.Path:
    """The shardproof command."""
    found = find_binary()
    if found is None:
        pytest.fail("no shardproof command: run `make build`, or set SHARDPROOF")
    os.environ["SHARDPROOF"] = str(found)  # the package looks there, too
    return found


@pytest.fixture(scope="session")
def checker(binary: pathlib.Path) -> pathlib.Path | None:
    """The separate certificate checker beside the command; None where the build has none."""
    path = binary.with_name("shardproof-check")
    return path if os.access(path, os.X_OK) else None
