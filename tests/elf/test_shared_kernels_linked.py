# SPDX-License-Identifier: MIT
"""Two models with --kernels shared: the program has each kernel in assembly once, computes the same, and is proved as ever."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import ROOT, needs_cross_compiler, needs_cross_cplusplus
from tests.shared import int8_model, vectors

pytestmark = needs_cross_compiler
STRESS = "AIDGE_STRESS" in os.environ
DIGITS = ROOT / "examples" / "digits"
MAIN = """
#include <string.h>
#include "first.h"
#include "second.h"
#include "third.h"
static const int8_t image[FIRST_INPUT_SIZE] = {5, -64, 60, 1, 64, 33, -1, 64, 64, 64, 12, 7, 7, 7, 64, 31};
int main(void)
{
    int8_t first[FIRST_OUTPUT_SIZE], second[FIRST_OUTPUT_SIZE], third[FIRST_OUTPUT_SIZE];
    if (first_run(image, first) != 0 || second_run(image, second) != 0 || third_run(image, third) != 0) {
        return 1;
    }
    return memcmp(first, second, sizeof first) != 0 || memcmp(first, third, sizeof first) != 0;
}
"""
MODELS = {"first": "shared", "second": "shared", "third": "own"}


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    """One network as three models, of which two share their kernels."""
    folder = tmp_path_factory.mktemp("shared")
    for name, kernels in MODELS.items():
        words = ("--name", name, "--kernels", kernels, "--board", "stm32f4", "--out", folder)
        assert aidge_build("compile", DIGITS / "digits.onnx", *words).exit_code == 0
    (folder / "main.c").write_text(MAIN)
    return folder


def sizes(file: Path) -> dict[str, list[int]]:
    """The bytes of each function of a program or object, under its name without a digest."""
    lines = subprocess.run(["arm-none-eabi-nm", "-SC", file], capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[str, list[int]] = {}
    for line in lines:
        words = line.partition("(")[0].split()
        if len(words) == 4 and words[2] in "tTW" and words[3].startswith("aidge_cortexm_"):
            found.setdefault(words[3], []).append(int(words[1], 16))
    return found


BUILDS = {
    "one-section": ["-O2", "-fno-function-sections"],
    "sections": ["-O1", "-ffunction-sections"],
    "lto": ["-Os", "-flto"],
    "c++": ["-O2"],
    "clang": ["-O2"],
}
NEEDS = {"c++": [needs_cross_cplusplus], "clang": [pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")]}


@pytest.mark.parametrize(
    "build", [pytest.param(name, marks=NEEDS.get(name, [])) for name in (BUILDS if STRESS else ("one-section",))]
)
def test_kernels_of_two_models_are_linked_once(build, generated, tmp_path, monkeypatch):
    if build == "clang":
        monkeypatch.setenv("AIDGE_CC", "clang")
    board = load_board("stm32f4")
    sources = [generated / "main.c", *(generated / f"{name}{part}.c" for name in MODELS for part in ("", "_weights"))]
    if build == "c++":
        sources = [Path(shutil.copy(source, tmp_path / f"{source.stem}.cpp")) for source in sources]
    folders = {"work_folder": tmp_path / "objects", "include_folders": [generated]}
    elf = build_program(board, sources, tmp_path / "app.elf", **folders, extra_flags=BUILDS[build])
    assert run_program(elf, board, work_folder=tmp_path, count=False).exit_code == 0
    linked = sizes(elf)
    shared = {name for name in linked if re.search("_[0-9a-f]{12}$", name)}
    own = {name[:-13] for name in shared}
    assert len(shared) == len(own) == 8 and own <= linked.keys()  # those of the third model beside them
    assert all(len(linked[name]) == 1 for name in shared | own)
    assert all(linked[name] == linked[name[:-13]] for name in shared)
    objects = [
        word for name in MODELS for file in sorted((tmp_path / "objects").glob(f"*_{name}.o")) for word in ("--objects", file)
    ]
    checked = aidge_build("check", elf, "--board", "stm32f4", "--json", *objects)
    assert checked.exit_code == 0 and checked.json["stack_bound_bytes"] is not None, checked.stdout
    assert build == "lto" or checked.json["code"]["not_compared"] == [] and len(checked.json["code"]["objects"]) == 3


@pytest.mark.skipif(not STRESS, reason="AIDGE_STRESS=1 counts a network of the benchmark on three cores")
@pytest.mark.parametrize("board", ["microbit", "stm32f4", "mps3-an547"])
def test_sharing_costs_two_instructions_of_a_layer_at_most(board):
    counted = []
    for kernels in ("own", "shared"):
        words = ("--board", board, "--io-data", vectors("kws_dscnn"), "--json", "--kernels", kernels)
        counted.append(aidge_build("verify", int8_model("kws_dscnn"), *words).json)
    own, shared = ([layer["instructions"] for layer in one["layers"]] for one in counted)
    # Fewer, where gcc left out a jump of its own.
    assert all(abs(after - before) <= 2 for before, after in zip(own, shared, strict=True))
