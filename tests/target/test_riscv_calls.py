# SPDX-License-Identifier: MIT
"""Functions of linked RISC-V programs, called in QEMU: on boards that no emulator has, and without start-up code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.emulate.qemu_calls import CalledInQemu
from tests.programs import build, needs_riscv

pytestmark = [needs_riscv, pytest.mark.skipif(not shutil.which("qemu-system-riscv32"), reason="needs qemu-system-riscv32")]
# `copied` is stored in flash and used in RAM; `three` is 3 instructions.
SOURCE = """
int copied = 40, cleared;
const int constant = 5;
int ten(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f
    + 7 * g + 8 * h + 9 * i + 10 * j + copied++ + cleared; }
void outside(void) { *(volatile int *)0x50000000 = 1; }
void into_flash(void) { *(volatile int *)&constant = 1; }
void read_outside(void) { (void)*(volatile int *)0x50000004; }
void unknown(void) { __asm__ volatile(".word 0"); }
int three(int a) { __asm__ volatile("nop"); return a + 1; }
int main(void) { return ten(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + three(1) + (outside(), into_flash(), read_outside(), unknown(), 0); }
"""


def called(board: str, elf: Path) -> CalledInQemu:
    image = read_image(elf)
    return CalledInQemu(Program(image, load_board(board), elf.parent, (elf.stem,), False, "ten", (), INSTRUCTION_LIMIT))


@pytest.fixture(scope="module")
def elf(tmp_path_factory) -> Path:
    """A program for a chip that QEMU does not have."""
    return build("ch32v203", SOURCE, tmp_path_factory.mktemp("calls"), flags=("-O1", "-fno-inline"))


@pytest.fixture
def core(elf):
    found = called("ch32v203", elf)
    yield found
    found.release()


def address(core: CalledInQemu, name: str) -> int:
    return core.program.image.symbol(name).address


@pytest.mark.parametrize("board", ["ch32v203", "ch32v006"])  # eight and six registers for arguments
def test_arguments_and_variables_are_where_the_procedure_call_standard_and_start_up_code_put_them(board, elf, tmp_path):
    program = elf if board == "ch32v203" else build(board, SOURCE, tmp_path, flags=("-O1", "-fno-inline"))
    core = called(board, program)
    try:
        words = range(1, 11)
        results = [core.call(address(core, "ten"), words, 0) for _ in range(2)]
    finally:
        core.release()
    assert results == [sum(number * number for number in words) + copied for copied in (40, 41)]


def test_the_instructions_of_each_call_are_counted(core):
    assert core.call(address(core, "three"), [41], 0) == 42
    assert core.total == 3
    core.call(address(core, "three"), [1], 0)
    assert core.total == 6


@pytest.mark.parametrize(
    "function, said",
    [
        ("outside", "writes to 0x50000000, where the board has no memory that can be written, at outside"),
        ("into_flash", "where the board has no memory that can be written, at into_flash"),
        ("read_outside", "reads from 0x50000004, where the board has no memory, at read_outside"),
        ("unknown", "stops at an instruction that the core does not have, at unknown"),
    ],
)
def test_a_call_that_leaves_the_memories_or_faults_names_the_place(core, function, said):
    with pytest.raises(CheckFailed) as refused:
        core.call(address(core, function), [], 0)
    assert said in str(refused.value)


def test_a_program_for_another_machine_is_refused(tmp_path):
    program = build("stm32f4", "int ten(void) { return 0; } int main(void) { return ten(); }", tmp_path)
    with pytest.raises(AidgeError, match="a program for ARM, and board ch32v203 has a rv32imac"):
        called("ch32v203", program)


def test_memory_of_the_program_that_the_board_has_at_another_address_can_be_used(elf):
    core = called("esp32c3", elf)
    try:
        assert core.call(address(core, "ten"), [0] * 10, 0) == 40
    finally:
        core.release()
