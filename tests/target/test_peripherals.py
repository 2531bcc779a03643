# SPDX-License-Identifier: MIT
"""Firmware that sets up its chip runs on the true memory map all the same, where that is asked for."""

from __future__ import annotations

from aidge_build.run.emulate.peripherals import Peripherals
from tests.command import aidge_build
from tests.programs import build, needs_cross_compiler

BOARD = "stm32f4"
# What libraries of this chip do before main goes on: an oscillator, the flash, a PLL, and the switch to it, each waited for.
SET_UP = """#include "semihosting.h"
#define REG(address) (*(volatile unsigned *)(address))
#define RCC 0x40023800u
int main(void) {
    REG(RCC) |= 1u << 16;
    while (!(REG(RCC) & 1u << 17)) {}
    REG(0x40023C00u) = 0x705;
    while ((REG(0x40023C00u) & 15) != 5) {}
    REG(RCC) |= 1u << 24;
    while (!(REG(RCC) & 1u << 25)) {}
    REG(RCC + 8) = (REG(RCC + 8) & ~3u) | 2;
    while ((REG(RCC + 8) >> 2 & 3) != 2) {}
    REG(RCC) &= ~1u;
    while (REG(RCC) & 2) {}
    semihosting_write_integer((int)(REG(0x40023C00u)));
    return 0;
}
"""


@needs_cross_compiler
def test_clocks_that_are_waited_for_come(tmp_path):
    elf = build(BOARD, SET_UP, tmp_path)
    refused = aidge_build("run", elf, "--board", BOARD)
    assert refused.exit_code == 1
    assert "reads from 0x40023800, where the board has no memory, at main" in refused.stderr
    assert "Hint: firmware that sets up its chip: run with --peripherals" in refused.stderr
    answered = aidge_build("run", elf, "--board", BOARD, "--peripherals", "--instructions", "10000")
    assert answered.exit_code == 0 and answered.stdout.startswith("1797\n"), answered.stdout
    assert "used 3 registers of peripherals, which nothing emulates; for 2 of them the program waited" in answered.stdout
    again = aidge_build("run", elf, "--board", BOARD, "--peripherals")
    assert again.stdout == answered.stdout


@needs_cross_compiler
def test_memory_that_the_board_has_not_is_an_error_still(tmp_path):
    elf = build(BOARD, "int main(void) { return *(volatile int *)0x60000000; }", tmp_path)
    result = aidge_build("run", elf, "--board", BOARD, "--peripherals")
    assert result.exit_code == 1 and "reads from 0x60000000, where the board has no memory" in result.stderr
    assert "--peripherals" not in result.stderr


def test_a_register_holds_what_was_written_in_any_width():
    registers = Peripherals()
    registers.write(0x40000010, 4, 0x11223344)
    registers.write(0x40000012, 1, 0xFF)
    registers.write(0x40000010, 2, 0x15566)
    assert registers.read(0x40000010, 4) == 0x11FF5566
    assert (registers.read(0x40000011, 1), registers.read(0x40000012, 2)) == (0x55, 0x11FF)
    assert registers.read(0x40000014, 4) == 0 and registers.used == {0x40000010, 0x40000014} and not registers.waited_for


def test_only_a_register_that_is_read_again_and_again_changes():
    registers = Peripherals()
    registers.write(0x50000000, 4, 5)
    assert [registers.read(0x50000000, 4) for _ in range(16)] == [5] * 16 and not registers.waited_for
    assert registers.read(0x50000000, 4) == 5 ^ 0xFFFFFFFF and registers.waited_for == {0x50000000}
    values = {registers.read(0x50000000, 4) & 7 for _ in range(100)}
    assert values == set(range(8))
    registers.read(0x50000004, 4)
    assert registers.read(0x50000000, 4) == 5
    registers.write(0x50000008, 4, 1)
    assert [registers.read(0x50000000, 4) for _ in range(16)] == [5] * 16


def test_two_runs_see_the_same_registers():
    first, second = Peripherals(), Peripherals()
    assert [first.read(0x40000000, 4) for _ in range(50)] == [second.read(0x40000000, 4) for _ in range(50)]
