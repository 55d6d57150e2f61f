# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs every Python block of the README and the guide, page by page; reads every manifest and contract that the pages show; holds the README's
reports to what the command prints; and checks that the pages' links lead somewhere.
"""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from installed import needs

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
RUN = [README, *PAGES, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- not run[^>]*-->\n)?```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+\.md)[^)]*\)")


def blocks(page: pathlib.Path) -> list[str]:
    return [code for skip, code in BLOCK.findall(page.read_text(encoding="utf-8")) if not skip]


@pytest.mark.parametrize("page", [p for p in RUN if blocks(p)], ids=lambda p: p.stem)
def test_snippets(page: pathlib.Path, binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code = "\n\n".join(blocks(page))
    if "shardproof.torch" in code:
        needs("torch")
    needs(*re.findall(r'importorskip\("([\w.]+)"\)', code))
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


def test_test_module_of_the_ci_page(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    needs("torch")
    (module,) = blocks(ROOT / "docs/guide/ci.md")
    (tmp_path / "test_parallel.py").write_text(module, encoding="utf-8")
    shutil.copytree(ROOT / "tests/golden/mlp_tp2", tmp_path / "bundles/net_tp2")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "shardproof.pytest_plugin", "test_parallel.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'examples/torch'}"}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.stem)
def test_links(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing, f"{page.name} points at {missing}"


def test_site_is_built_without_a_warning(tmp_path: pathlib.Path) -> None:
    needs("sphinx", "myst_parser")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for page in PAGES:
        assert (tmp_path / "guide" / f"{page.stem}.html").exists()


def test_readme_shows_what_the_command_prints(binary: pathlib.Path) -> None:
    spec = importlib.util.spec_from_file_location("update_readme", ROOT / "tools/update_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = README.read_text(encoding="utf-8")
    assert module.filled(text, str(binary)) == text, "run tools/update_readme.py"


def json_blocks(page: pathlib.Path) -> list[dict]:
    found = re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [json.loads(text) for text in found if "..." not in text]


def test_readme_manifest(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (manifest,) = json_blocks(README)
    golden = ROOT / "tests/golden/mlp_tp2"
    shutil.copy(golden / "seq.fx.txt", tmp_path)
    for rank in range(2):
        shutil.copy(golden / "rank0.fx.txt", tmp_path / f"rank{rank}.fx.txt")
    (tmp_path / "case.json").write_text(json.dumps(manifest))
    assert subprocess.run([binary, "check", tmp_path], capture_output=True).returncode == 0


def test_contracts_of_the_pages_are_read(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    contracts = json_blocks(ROOT / "docs/kernels.md")
    assert len(contracts) == 2
    golden = ROOT / "tests/golden/mlp_tp2"
    manifest = {**json.loads((golden / "case.json").read_text()), "kernels": ["shown.json"]}
    for file in golden.glob("*.txt"):
        shutil.copy(file, tmp_path)
    (tmp_path / "case.json").write_text(json.dumps(manifest))
    (tmp_path / "shown.json").write_text(json.dumps({"kernels": contracts}))
    done = subprocess.run([binary, "check", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "shown.json").write_text(
        json.dumps({"kernels": [{**contracts[0], "steps": [["x", "aten.none.default"]]}]})
    )
    assert subprocess.run([binary, "check", tmp_path], capture_output=True).returncode == 2  # it is read
