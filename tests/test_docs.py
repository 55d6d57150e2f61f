# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs every Python block of the guide, page by page, and checks that the pages' links lead somewhere."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
BLOCK = re.compile(r"(<!-- not run[^>]*-->\n)?```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+\.md)[^)]*\)")


def blocks(page: pathlib.Path) -> list[str]:
    return [code for skip, code in BLOCK.findall(page.read_text(encoding="utf-8")) if not skip]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.stem)
def test_snippets(page: pathlib.Path, binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code = "\n\n".join(blocks(page))
    for package in re.findall(r'importorskip\("([\w.]+)"\)', code):
        pytest.importorskip(package)
    script = tmp_path / f"page_{page.stem}.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT / "python")}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.stem)
def test_links(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing, f"{page.name} points at {missing}"
