# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The commands `shardproof` and `shardproof-check` of an installed package, and `python -m shardproof`.

`shardproof doctor` says what is installed; every other argument goes to the built command, which takes this process's place.
"""

import os
import pathlib
import sys
from collections.abc import Callable
from typing import NoReturn

from shardproof._flint import tell_where_flint_is
from shardproof._report import ShardproofError
from shardproof._run import checker_path, command_path
from shardproof.doctor import doctor


def main() -> int:
    if sys.argv[1:2] == ["doctor"]:
        return doctor()
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        print(
            "Besides the subcommands below: shardproof doctor says what is installed and what can be captured\n",
            flush=True,
        )
    return _become(command_path)


def run_checker() -> int:
    return _become(checker_path)


def _become(find: Callable[[], pathlib.Path]) -> NoReturn:
    try:
        binary = str(find())
    except ShardproofError as error:
        sys.exit(f"shardproof: {error}")
    tell_where_flint_is()
    os.execv(binary, [binary, *sys.argv[1:]])  # does not return


if __name__ == "__main__":
    sys.exit(main())
