# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""What a test needs and may miss. With SHARDPROOF_FRAMEWORKS set nothing may be missing: so CI notices when its own set-up leaves a framework out."""

import importlib.util
import os

import pytest


def needs(*packages: str) -> None:
    """Skips the test where one of them is not installed."""
    for package in packages:
        if not _there(package):
            if os.environ.get("SHARDPROOF_FRAMEWORKS"):
                pytest.fail(f"{package} is not installed")
            pytest.skip(f"{package} is not installed: see tools/setup.sh")


def _there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of what it lies in
        return False
