# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The package as it is installed: the commands, certificates, and a wheel made from a source distribution (SHARDPROOF_WHEEL_TEST=1: minutes)."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import venv
import zipfile

import pytest

import shardproof

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROVED = ROOT / "tests/golden/mlp_tp2"


def run(*command: object, **options: object) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return str(done.stdout)


def test_certificate_is_accepted(checker: pathlib.Path | None, tmp_path: pathlib.Path) -> None:
    if checker is None:
        pytest.skip("this build has no shardproof-check")
    report = shardproof.check(PROVED, certificate=tmp_path / "proof")
    assert report.certificate == tmp_path / "proof"
    answer = shardproof.recheck(tmp_path / "proof", seed=1)
    assert answer.accepted
    assert "accepted" in str(answer)
    other = shardproof.recheck(tmp_path / "proof", ROOT / "tests/golden/mlp_tp2__avg")
    assert not other.accepted
    (tmp_path / "proof").write_bytes(b"nonsense")
    with pytest.raises(shardproof.InputError):
        shardproof.recheck(tmp_path / "proof")


def test_memory_limit_has_units(binary: pathlib.Path) -> None:
    assert shardproof.check(PROVED, memory_limit="2GiB").proved
    assert shardproof.check(PROVED, memory_limit=2 << 30).proved
    with pytest.raises(shardproof.InputError, match="12000 is 12000 bytes"):
        shardproof.check(PROVED, memory_limit=12000)


def test_bundle_with_folders_is_refused(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("../case.json", "{}")
    with pytest.raises(shardproof.InputError, match="without folders"):
        shardproof.check(tmp_path / "b.zip")
    (tmp_path / "c.zip").write_bytes(b"PK")
    with pytest.raises(shardproof.InputError, match="zip"):
        shardproof.check(tmp_path / "c.zip")


def test_command_reads_a_bundle_in_one_file(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def bundle(name: str, folder: pathlib.Path, **more: str) -> pathlib.Path:
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in folder.iterdir():
                archive.write(file, file.name)
            for entry, text in more.items():
                archive.writestr(entry.replace("__", "/"), text)
        return tmp_path / name

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        done = subprocess.run(
            [str(a) for a in (binary, *arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        assert not list(scratch.iterdir())  # nothing is left behind
        return done

    assert call("check", bundle("right.zip", PROVED)).returncode == 0
    wrong = bundle("wrong.zip", ROOT / "tests/golden/mlp_tp2__no_reduce")
    assert call("check", wrong, "--witness", tmp_path / "witness").returncode == 1
    assert "confirmed" in call("replay", tmp_path / "witness").stdout
    assert "without folders" in call("check", bundle("folder.zip", PROVED, folder__file="x")).stderr
    assert call("check", bundle("outside.zip", PROVED, **{"..__outside": "x"})).returncode == 2
    assert not (tmp_path / "outside").exists()
    (tmp_path / "broken.zip").write_bytes(b"PK")
    assert call("check", tmp_path / "broken.zip").returncode == 2
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("readme", "")
    assert "neither case.json" in call("check", tmp_path / "empty.zip").stderr


def test_doctor(binary: pathlib.Path) -> None:
    text = run(sys.executable, "-m", "shardproof", "doctor", env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert text.startswith(f"shardproof {shardproof.__version__}")
    assert str(binary) in text


@pytest.mark.skipif(
    "SHARDPROOF_WHEEL_TEST" not in os.environ, reason="compiles everything: set SHARDPROOF_WHEEL_TEST=1"
)
def test_wheel_from_source_distribution(tmp_path: pathlib.Path) -> None:
    checkout = tmp_path / "checkout"
    run("git", "clone", "-q", ROOT, checkout)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "-q", "build")
    run(python, "-m", "build", "--sdist", "-o", tmp_path / "dist", checkout)
    (source,) = (tmp_path / "dist").glob("*.tar.gz")
    run(python, "-m", "pip", "install", "-q", source)
    environment = {k: v for k, v in os.environ.items() if k not in ("SHARDPROOF", "PYTHONPATH")}
    commands = tmp_path / "venv/bin"
    assert shardproof.__version__ in run(commands / "shardproof", "--version", env=environment)
    assert "extension module: built" in run(commands / "shardproof", "doctor", env=environment)
    run(commands / "shardproof", "check", PROVED, "--certificate", tmp_path / "proof", env=environment)
    run(commands / "shardproof-check", tmp_path / "proof", env=environment)
    program = f"import shardproof; print(shardproof.check({str(PROVED)!r}).verdict)"
    assert run(python, "-c", program, env=environment, cwd=tmp_path).strip() == "PROVED"
