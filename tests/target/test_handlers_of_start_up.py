# SPDX-License-Identifier: MIT
"""The start-up code of Cortex-M boards in firmware with handlers of its own, as with an operating system, and with resets."""

from __future__ import annotations

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.vectors import find_tables
from aidge_build.run.emulate import run_program
from tests.programs import build, needs_cross_compiler, needs_qemu

PROGRAM = """
#include <stdint.h>
#include "semihosting.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

struct kept { uint32_t magic, starts; };
static struct kept kept __attribute__((section(".noinit.kept")));
static uint32_t cleared;
static volatile uint32_t called;

void SVC_Handler(void) { called |= 1; }
void PendSV_Handler(void) { called |= 2; }
static void of_the_chip(void) { called |= 4; }

__attribute__((section(".vectors.interrupts"), used)) void (*const interrupts[8])(void) = {[5] = of_the_chip};

int main(void)
{
    if (kept.magic != 0x4B455054u) {
        kept = (struct kept){0x4B455054u, 0};
    }
    kept.starts++;
    semihosting_write_integer((int32_t)(10 * kept.starts + cleared));
    semihosting_write0(" ");
    cleared = 1;
    if (kept.starts < 3) {
        REGISTER(0xE000ED0C) = 0x05FA0004u; /* reset */
        for (;;) {
        }
    }
    REGISTER(0xE000E100) = 1u << 5;
    REGISTER(0xE000E200) = 1u << 5;
    REGISTER(0xE000ED04) = 1u << 28;
    __asm__ volatile("dsb\\n\\tisb\\n\\tsvc 0" : : : "memory");
    semihosting_write_integer((int32_t)called);
    return 0;
}
"""


@needs_cross_compiler
@needs_qemu
def test_handlers_by_their_names_are_called_and_a_variable_survives_a_reset(tmp_path):
    board = load_board("mps2-an386")
    elf = build(board, PROGRAM, tmp_path)
    assert run_program(elf, board, work_folder=tmp_path, count=False, emulator="qemu").stdout == "10 20 30 7"
    (table,) = find_tables(read_image(elf))
    names = {read_image(elf).describe(handler) for handler in table.handlers}
    assert {"SVC_Handler", "PendSV_Handler", "of_the_chip"} <= names
