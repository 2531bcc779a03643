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
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.boards import OF_OTHER_CORES, is_emulated
from tests.command import aidge_build
from tests.programs import ROOT, needs_cross_compiler, needs_qemu, needs_riscv

DIGITS = ROOT / "examples" / "digits"
SAMPLE = ("lpc55s69", "mps3-an547", "samd21", "stm32f103", "stm32f4")
BOARDS = list_boards() if "AIDGE_STRESS" in os.environ else SAMPLE


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
    if is_emulated(board):
        result = run_program(elf, board, work_folder=tmp_path, count=False)
        assert (result.stdout, result.exit_code) == ("450 images, 445 correct, 98.9 %\n", 0)


def test_one_board_alone_is_run_by_no_emulator():
    assert [name for name in list_boards() if not is_emulated(load_board(name))] == ["stm32n657"]


def test_the_page_says_what_emulates_which_core():
    page = (ROOT / "boards" / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (?:Unicorn, `(\w+)`|QEMU) \|", page, re.MULTILINE))
    boards = [load_board(name) for name in list_boards() if name != "host"]
    assert rows == {board.core.name.partition("+")[0]: board.core.unicorn for board in boards if is_emulated(board)}
