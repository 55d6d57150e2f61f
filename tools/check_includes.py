#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: a directory of src/ is a library and includes only the directories that ALLOWED gives it.

The checker (check/) is there to catch mistakes of the prover: it may share with it the readers, the manifest, the lowerings and the
linker, which docs/trust.md names as trusted, and neither src/prove nor src/interp; the certificate writer (src/cert) and the checker share the
format of the file (src/frontend/certificate). The interpreter (src/interp) refutes what the prover proves, so neither may include the other.
"""

import pathlib
import re
import sys

# In the order of the data's way; each may include itself and what is listed. Keep in step with shardproof_library in CMakeLists.txt.
ALLOWED = {
    "util": [],
    "ir": ["util"],
    "frontend": ["util", "ir"],
    "frontend/fx": ["util", "ir", "frontend"],
    "frontend/hlo": ["util", "ir", "frontend"],
    "frontend/stablehlo": ["util", "ir", "frontend", "frontend/hlo"],
    "frontend/graphdef": ["util", "ir", "frontend"],
    "frontend/certificate": ["util", "ir"],
    "lower": ["util", "ir", "frontend", "frontend/fx", "frontend/hlo", "frontend/stablehlo", "frontend/graphdef"],
}
READERS = ALLOWED["lower"]
ALLOWED["manifest"] = ["util", "ir", "frontend"]
ALLOWED["link"] = [*READERS, "lower", "manifest"]
ALLOWED["prove"] = ["util", "ir", "frontend", "lower", "manifest", "link"]
ALLOWED["interp"] = ["util", "ir", "frontend", "lower", "manifest", "link"]
ALLOWED["cert"] = ["util", "ir", "frontend", "lower", "manifest", "link", "prove", "frontend/certificate"]
ALLOWED["report"] = [*READERS, "lower", "manifest", "link", "prove", "interp", "cert"]
ALLOWED["mutate"] = [*ALLOWED["report"], "report"]
ALLOWED["cli"] = [*ALLOWED["mutate"], "mutate"]
CHECKER = [*READERS, "frontend/certificate", "lower", "manifest", "link"]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def complaints(root: pathlib.Path) -> list[str]:
    """One line for each include that breaks the rule."""
    found = []
    for base in ("src", "check"):
        for path in sorted((root / base).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            here = path.parent.relative_to(root / "src").as_posix() if base == "src" else "check"
            if here == ".":  # src/main.cpp
                continue
            if base == "src" and here not in ALLOWED:
                found.append(f"{path.relative_to(root)}: directory {here} is not listed in tools/check_includes.py")
                continue
            for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
                there = pathlib.PurePosixPath(target).parent.as_posix()
                if there.split("/")[0] not in (*ALLOWED, ".", "check"):  # another project's header
                    continue
                if base == "check":
                    fine = there.split("/")[0] in (".", "check") or there in CHECKER
                else:
                    fine = there == here or there in ALLOWED[here]
                if not fine:
                    found.append(f'{path.relative_to(root)}: {here} may not include "{target}"')
    return found


def main() -> int:
    found = complaints(pathlib.Path(__file__).resolve().parent.parent)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
