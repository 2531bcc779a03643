# SPDX-License-Identifier: MIT
"""`compile --check`: whether committed files are those that would be generated. No compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Result, aidge_build
from tests.small_model import small_model

FILES = ("toy.c", "toy.h", "toy.plan.json", "toy_weights.c")


@pytest.fixture
def folder(tmp_path) -> Path:
    """A model, and what was generated from it."""
    (tmp_path / "toy.onnx").write_bytes(small_model())
    assert compiled(tmp_path).exit_code == 0
    return tmp_path


def compiled(folder: Path, *words: str) -> Result:
    return aidge_build("compile", folder / "toy.onnx", "--board", "stm32f4", "--out", folder / "gen", *words)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "gen").iterdir()}


def test_files_that_are_up_to_date_are_left_as_they_are(folder):
    before = contents(folder)
    done = compiled(folder, "--check")
    assert done.exit_code == 0 and "4 files, as aidge-build" in done.stdout and contents(folder) == before


@pytest.mark.parametrize("name", ["toy.h", "toy_weights.c"])
def test_one_byte_that_differs_and_one_file_that_is_missing_fail_and_nothing_is_written(folder, name):
    path = folder / "gen" / name
    path.write_bytes(path.read_bytes() + b"\n")
    other = folder / "gen" / FILES[FILES.index(name) - 1]
    other.unlink()
    before = contents(folder)
    done = compiled(folder, "--check")
    assert done.exit_code == 1 and f"{path}: differs\n" in done.stdout and f"{other}: is missing\n" in done.stdout, done
    assert "FAILED: 2 of 4 files" in done.stdout and contents(folder) == before
    data = compiled(folder, "--check", "--json").json
    assert (data["ok"], data["differing"], data["missing"]) == (False, [name], [other.name])
    assert compiled(folder).exit_code == 0 and compiled(folder, "--check").exit_code == 0


def test_another_model_and_other_options_are_found(folder):
    assert compiled(folder, "--check", "--io", "arena").exit_code == 1
    (folder / "toy.onnx").write_bytes(small_model(seed=1))
    found = compiled(folder, "--check", "--json").json
    assert {"toy.plan.json", "toy_weights.c"} <= {*found["differing"]} and found["missing"] == []


def test_no_folder_at_all_is_one_that_lacks_all_files(tmp_path):
    (tmp_path / "toy.onnx").write_bytes(small_model())
    done = compiled(tmp_path, "--check")
    assert done.exit_code == 1 and done.stdout.count("is missing") == 4 and not (tmp_path / "gen").exists()


def test_what_belongs_to_writing_is_refused(folder):
    for word in ("--depfile", "--stamp"):
        refused = compiled(folder, "--check", word, str(folder / "x"))
        assert refused.exit_code == 2 and "--check: writes nothing" in refused.stderr and not (folder / "x").exists()
