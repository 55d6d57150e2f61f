# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Prove that a distributed program computes what its one-device original computes, or see where it does not.

    report = shardproof.check("case.json")      # or a folder, a bundle, a dict, a Manifest
    report.verdict                               # "PROVED", "REFUTED" or "UNKNOWN"
    print(report)

`shardproof.torch` and `shardproof.jax` capture the programs themselves; they need the framework installed and are imported on demand.
"""

from shardproof._manifest import Manifest, On, Partial, Placement, Replicate, Shard
from shardproof._report import Blame, InputError, Output, Recheck, Replay, Report, ShardproofError, Site
from shardproof._run import check, recheck, replay
from shardproof._version import __version__

__all__ = [
    "Blame",
    "InputError",
    "Manifest",
    "On",
    "Output",
    "Partial",
    "Placement",
    "Recheck",
    "Replay",
    "Replicate",
    "Report",
    "Shard",
    "ShardproofError",
    "Site",
    "__version__",
    "check",
    "recheck",
    "replay",
]
