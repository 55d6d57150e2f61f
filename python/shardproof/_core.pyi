# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
def check(manifest: str, time_limit: float, memory_limit: int, certificate: str, witness: str) -> tuple[str, str]:
    """The answer as JSON, and as text for people."""
