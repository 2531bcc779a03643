# SPDX-License-Identifier: MIT
"""The example `digits` on the boards: built for each, proved on its memories, and run in an emulator with its map.

The suite takes a board of each core that no other test runs it on (Cortex-M7: tests/build/test_repository_build.py; RISC-V:
test_riscv.py), AIDGE_STRESS=1 (`./sconsw stress`) all of them. boards/README.md says what emulates which core.
"""

from __future__ import annotations

import os
import re

import pytest

from aidge_build.boards import list_boards, load_board
from aidge_build.boards.cores import load_core
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.boards import OF_OTHER_CORES, is_emulated
from tests.command import aidge_build
from tests.programs import ROOT, needs_cross_compiler, needs_qemu, needs_riscv

DIGITS = ROOT / "examples" / "digits"
SAMPLE = ("lpc55s69", "mps3-an547", "samd21", "stm32f103", "stm32f4")
# 450 images take a second: the kernels of lpc55s69 are the kernels of stm32f4, and test_stack_high_water.py verifies the digits
# with the kernels of samd21.
RUN = ("mps3-an547", "stm32f103", "stm32f4")
STRESS = "AIDGE_STRESS" in os.environ
TOO_SMALL = {"ch32v003"}  # the images take more than its flash: tests/target/test_riscv.py
BOARDS = sorted({*list_boards()} - TOO_SMALL) if STRESS else SAMPLE


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_riscv if name in OF_OTHER_CORES else ()) for name in BOARDS])
def test_the_example_is_proved_and_reads_its_digits_on_every_board(name, tmp_path):
    board = load_board(name)
    made = aidge_build("compile", DIGITS / "digits.onnx", "--board", name, "--out", tmp_path)
    assert made.exit_code == 0, made.stderr
    sources = [DIGITS / "main.c", DIGITS / "test_images.c", tmp_path / "digits.c", tmp_path / "digits_weights.c"]
    elf = build_program(board, sources, tmp_path / "digits.elf", work_folder=tmp_path / "o", include_folders=[tmp_path, DIGITS])
    checked = aidge_build("check", elf, "--board", name)
    assert checked.exit_code == 0 and "arena digits" in checked.stdout, checked.stdout
    if is_emulated(board) and (STRESS or name in RUN):
        result = run_program(elf, board, work_folder=tmp_path, count=False)
        assert (result.stdout, result.exit_code) == ("450 images, 445 correct, 98.9 %\n", 0)


def test_a_board_is_run_by_no_emulator_only_if_unicorn_lacks_its_core():
    left = [board for board in map(load_board, list_boards()) if not is_emulated(board)]
    assert "stm32n657" in {board.name for board in left} and not any(board.core.unicorn for board in left)


def test_the_page_says_what_emulates_which_core():
    page = (ROOT / "boards" / "README.md").read_text(encoding="utf-8").partition("## What emulates a core")[2]
    rows = re.findall(r"^\| (`[\w`, -]+`) \| (?:Unicorn, `(\w+)`|(QEMU)|none) \|", page, re.MULTILINE)
    boards = [board for board in map(load_board, list_boards()) if board.name != "host" and is_emulated(board)]
    in_qemu = {board.core.name for board in boards if not board.core.unicorn}
    said = {name: (unicorn, bool(qemu)) for names, unicorn, qemu in rows for name in re.findall(r"[\w-]+", names)}
    assert said.keys() > {"cortex-m0", "cortex-m52", "cortex-m55"}
    assert said == {name: (load_core(name).unicorn, name in in_qemu) for name in said}
