# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Calls the checker: through the extension module where it was built, else through the command."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping
from typing import Any

from shardproof._binary import as_text
from shardproof._flint import tell_where_flint_is
from shardproof._manifest import Manifest, absolute
from shardproof._report import InputError, Recheck, Replay, Report, ShardproofError

_TIME_LIMIT = (
    50.0  # seconds on the clock, where the caller sets none: the command's own, which also counts processor time
)

ManifestLike = str | os.PathLike[str] | Manifest | Mapping[str, Any]


def check(
    manifest: ManifestLike,
    *,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    witness: str | os.PathLike[str] | None = None,
) -> Report:
    """Checks that the distributed program refines the sequential one.

    `manifest` is the path of a manifest, of a folder that holds one, or of a bundle in one .zip file; or a Manifest; or a dict with its keys, whose paths are
    relative to the working directory. `time_limit` is in seconds, 0 for none; without it, 20 seconds of processor time or 50 on the clock. `memory_limit` is in
    bytes or has a unit ("14G"). `certificate` and `witness` say where to write the proof and the counterexample. The interpreter's lock is not held meanwhile.
    Raises InputError for what cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="shardproof-") as folder:
        path = _on_disk(manifest, pathlib.Path(folder))
        raw, text = _check(path, time_limit, memory_limit, certificate, witness)
    shown = pathlib.Path(manifest) if not isinstance(manifest, (Manifest, Mapping)) else None
    return Report.from_json(raw, manifest=shown, text=text)


def replay(witness: str | os.PathLike[str], manifest: str | os.PathLike[str] | None = None) -> Replay:
    """Evaluates both programs on a saved witness and says whether that confirms the refutation."""
    tell_where_flint_is()
    command = [str(command_path()), "replay", os.fspath(witness)]
    if manifest is not None:
        command += ["--manifest", os.fspath(manifest)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise InputError(done.stderr.strip() or f"replay ended with exit code {done.returncode}")
    return Replay(confirmed=done.returncode == 0, text=done.stdout)


def recheck(
    certificate: str | os.PathLike[str],
    manifest: str | os.PathLike[str] | None = None,
    *,
    seed: int | None = None,
) -> Recheck:
    """Has a proof tested by shardproof-check, a separate program that shares no rule with the prover.

    `certificate` is the file that check(..., certificate=...) wrote. With `manifest` it must be about exactly that one; by default the one that
    the certificate names is read again. Raises InputError for what cannot be read.
    """
    command = [str(checker_path()), os.fspath(certificate)]
    if manifest is not None:
        command += ["--manifest", os.fspath(manifest)]
    if seed is not None:
        command += ["--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise InputError(done.stderr.strip() or f"shardproof-check ended with exit code {done.returncode}")
    return Recheck(accepted=done.returncode == 0, text=done.stdout)


def command_path() -> pathlib.Path:
    """The shardproof command: $SHARDPROOF, in the installed package, on the PATH, or in the build folder of a checkout."""
    here = pathlib.Path(__file__).resolve()
    for candidate in (
        os.environ.get("SHARDPROOF"),
        here.parent / "bin" / "shardproof",
        pathlib.Path(sysconfig.get_path("platlib")) / "shardproof" / "bin" / "shardproof",
        shutil.which("shardproof"),
        here.parents[2] / "build" / "release" / "shardproof",
    ):
        if candidate and os.access(candidate, os.X_OK) and not _is_script(pathlib.Path(candidate)):
            return pathlib.Path(candidate)
    raise ShardproofError(
        "the shardproof command was not found: install the package with `pip install .`, build it with `make build`, or set SHARDPROOF to its path"
    )


def checker_path() -> pathlib.Path:
    """The certificate checker, which lies beside the command."""
    path = command_path().with_name("shardproof-check")
    if not os.access(path, os.X_OK):
        raise ShardproofError(f"{path} was not found: it is built and installed together with the shardproof command")
    return path


def _is_script(path: pathlib.Path) -> bool:
    """The script that pip makes starts this module, so it is not the command itself."""
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def extension() -> Any:
    """The module shardproof._core, or None where the package runs from a checkout that was not installed."""
    try:
        return importlib.import_module("shardproof._core")
    except ImportError:
        return None


def _on_disk(manifest: ManifestLike, folder: pathlib.Path) -> pathlib.Path:
    if isinstance(manifest, (Manifest, Mapping)):
        keys = manifest.to_dict() if isinstance(manifest, Manifest) else dict(manifest)
        directory = (manifest.directory if isinstance(manifest, Manifest) else None) or pathlib.Path.cwd()
        return _written(as_text(keys, directory, folder) or keys, directory, folder)
    path = pathlib.Path(manifest)
    if not path.exists():
        raise InputError("no such manifest, folder or bundle", file=str(path))
    if path.suffix == ".zip":
        path = _unpacked(path, folder)
    return _with_text(path, folder)


def _written(keys: Mapping[str, Any], directory: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    path = folder / "case.text.json"
    path.write_text(json.dumps(absolute(keys, directory)), encoding="utf-8")
    return path


def _with_text(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The manifest itself, or one whose binary MLIR programs are printed as text. What is wrong with it is the command's to say."""
    file = path / "case.json" if path.is_dir() else path
    if not file.is_file() or file.suffix != ".json":
        return path
    try:
        keys = json.loads(file.read_text(encoding="utf-8"))
        converted = as_text(keys, file.parent, folder) if isinstance(keys, dict) else None
    except (ValueError, TypeError, AttributeError, OSError):
        return path
    return path if converted is None else _written(converted, file.parent, folder)


def _unpacked(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The files of a bundle in one file. Only plain names are taken, and no more bytes than the archive says."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if (
                    entry.is_dir()
                    or pathlib.PurePosixPath(entry.filename).name != entry.filename
                    or "\\" in entry.filename
                ):
                    raise InputError(
                        f"a bundle holds files without folders, not {entry.filename!r}", "SP204", str(path)
                    )
                archive.extract(entry, folder)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"is no zip archive that can be read: {error}", "SP204", str(path)) from error
    return folder


def _check(
    path: pathlib.Path, time_limit: float | None, memory_limit: int | str | None, certificate: Any, witness: Any
) -> tuple[Mapping[str, Any], str]:
    tell_where_flint_is()
    core = extension()
    # A limit on memory is set for a whole process, so it needs one of its own; SHARDPROOF asks for a particular command.
    if core is not None and memory_limit is None and "SHARDPROOF" not in os.environ:
        answer, text = core.check(
            str(path),
            float(_TIME_LIMIT if time_limit is None else time_limit),
            0,
            os.fspath(certificate or ""),
            os.fspath(witness or ""),
        )
        return json.loads(answer), text
    command = [str(command_path()), "check", str(path), "--json"]
    for option, value in (
        ("--time-limit", time_limit),
        ("--memory-limit", memory_limit),
        ("--certificate", certificate),
        ("--witness", witness),
    ):
        if value is not None:
            command += [option, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        raise ShardproofError(
            f"{' '.join(command[:2])} ended with exit code {done.returncode} and no answer: {done.stderr.strip()[-2000:]}"
        ) from None
