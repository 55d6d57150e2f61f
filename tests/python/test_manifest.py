# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The manifest builder, and how a check finds its programs."""

import json
import pathlib

import pytest

import shardproof
from shardproof import Manifest, On, Partial, Replicate, Shard
from shardproof._manifest import absolute

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def test_placements_are_words() -> None:
    assert str(Replicate()) == "Replicate"
    assert str(Shard(1, blocks=2) @ "tp") == "Shard(1, blocks=2)@tp"
    assert str((Shard(0) @ "tp") | (Shard(0) @ "dp")) == "Shard(0)@tp, Shard(0)@dp"
    assert str(Shard(1) @ ("cp", "tp")) == "Shard(1)@(cp, tp)"
    assert str(Partial("avg") @ "dp") == "Partial(avg)@dp"
    assert str(On(0, 1) @ "pp") == "On(0, 1)@pp"
    with pytest.raises(ValueError, match="counts from 0"):
        Shard(-1)
    with pytest.raises(ValueError, match="sum, avg, max and min"):
        Partial("median")  # type: ignore[arg-type]


def test_builder_writes_the_contract() -> None:
    made = Manifest("seq.fx.txt", "rank{rank}.fx.txt", mesh={"dp": 2, "tp": 4})
    made.input("w", Shard(0) @ "tp").input("*", Replicate()).group("12", "tp").fact("tokens in [0, 9)")
    made.output("div", role="loss", label="loss").output(
        "g", of="w", role="gradient", dist=["g", None], expect=Partial() @ "dp"
    )
    assert made.to_dict() == {
        "sequential": "seq.fx.txt",
        "distributed": "rank{rank}.fx.txt",
        "mesh": [["dp", 2], ["tp", 4]],
        "inputs": {"w": "Shard(0)@tp", "*": "Replicate"},
        "groups": {"12": "tp"},
        "facts": ["tokens in [0, 9)"],
        "outputs": {
            "div": {"role": "loss", "label": "loss"},
            "g": {"dist": ["g", None], "role": "gradient", "of": "w", "expect": "Partial(sum)@dp"},
        },
    }


def test_save_and_load(tmp_path: pathlib.Path) -> None:
    made = Manifest("seq.fx.txt", ["r.fx.txt", "r.fx.txt"], mesh={"tp": 2}).input("x", "Replicate")
    path = made.save(tmp_path)
    assert path.name == "case.json"
    again = Manifest.load(tmp_path)
    assert again.to_dict() == made.to_dict()
    assert again.directory == tmp_path


def test_paths_become_absolute(tmp_path: pathlib.Path) -> None:
    keys = {"sequential": "s", "distributed": {"a": {"pp": 0}}, "constants": {"c": "c.npy", "d": 3}}
    moved = absolute(keys, tmp_path)
    assert moved["sequential"] == str(tmp_path / "s")
    assert list(moved["distributed"]) == [str(tmp_path / "a")]
    assert moved["constants"] == {"c": str(tmp_path / "c.npy"), "d": 3}
    assert keys["sequential"] == "s"


def test_check_a_folder(binary: pathlib.Path) -> None:
    report = shardproof.check(GOLDEN / "mlp_tp2")
    assert report.verdict == "PROVED"
    assert report.output("out").relation == "Replicate"


def test_check_a_dict_and_a_manifest(binary: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = GOLDEN / "mlp_tp2__no_reduce"
    monkeypatch.chdir(folder)
    assert shardproof.check(json.loads((folder / "case.json").read_text())).verdict == "REFUTED"
    assert shardproof.check(Manifest.load(folder)).verdict == "REFUTED"


def test_witness_is_replayed(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = GOLDEN / "mlp_tp2__no_reduce"
    shardproof.check(folder, witness=tmp_path / "w")
    found = shardproof.replay(tmp_path / "w", manifest=folder)
    assert found.confirmed
    assert found.text


def test_missing_file_is_an_input_error() -> None:
    with pytest.raises(shardproof.InputError, match="no such manifest"):
        shardproof.check("no/such/folder")


def test_bad_manifest_names_file_and_line(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "case.json"
    path.write_text('{\n "sequential": "s",\n "distribute": []\n}\n')
    with pytest.raises(shardproof.InputError, match="distributed") as caught:
        shardproof.check(path)
    assert caught.value.file.endswith("case.json")
