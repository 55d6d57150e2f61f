# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""`python -m shardproof doctor` says what is installed; every other argument goes to the shardproof command."""

import os
import sys
from typing import NoReturn

from shardproof._run import command_path
from shardproof.doctor import doctor


def main() -> int:
    if sys.argv[1:2] == ["doctor"]:
        return doctor()
    return run_command()


def run_command() -> NoReturn:
    binary = str(command_path())
    os.execv(binary, [binary, *sys.argv[1:]])  # does not return


if __name__ == "__main__":
    sys.exit(main())
