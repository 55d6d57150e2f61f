# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""python -m shardproof.jax FILE: prints MLIR bytecode, a portable artifact or a serialized jax.export program as text."""

import pathlib
import sys

from shardproof._binary import mlir_text
from shardproof._report import ShardproofError


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(mlir_text(pathlib.Path(sys.argv[1]).read_bytes(), sys.argv[1]))
    except (ShardproofError, OSError) as error:
        print(f"shardproof.jax: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
