# SPDX-License-Identifier: MIT
"""A network for images of 27,648 B on a core with 20,480 B of RAM: a camera's interrupt brings rows at random instants."""

from __future__ import annotations

import os

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.shared import int8_model, vectors

FRAMES = 200
BOARD = """# SPDX-License-Identifier: MIT
# The memories of a small Cortex-M3, at the addresses of QEMU's MPS2 with the AN385 image.
extends = "cortex-m"
title = "Cortex-M3 with 20 KB of RAM and 128 KB of flash (emulated)"
emulator = "qemu"
qemu_machine = "mps2-an385"
cpu = "cortex-m3"
features = ["thumb2"]
libs = ["armv7m", "ref"]
data = "RAM"
code = "FLASH"
arena = ["RAM"]
stack_size = "1K"
reserved = "2K"

[regions.FLASH]
origin = 0x00000000
length = "128K"
kind = "flash"

[regions.RAM]
origin = 0x20000000
length = "20K"
kind = "ram"
"""
MAIN = """#include "vww.h"
#include "semihosting.h"

/* The camera: an interrupt brings a row into one of two buffers, at random instants. */
static int8_t rows[2][VWW_INPUT_ROW_BYTES];
static volatile uint32_t filled, taken; /* rows since the start */
static volatile uint32_t left;
static int from;
static uint32_t seed = 1u;
#define SYSTICK ((volatile uint32_t *)0xE000E010u)

void systick(void);
__attribute__((interrupt)) void systick(void)
{
    seed = seed * 1664525u + 1013904223u;
    SYSTICK[1] = 200u + (seed >> 17); /* the next row comes when nobody knows */
    SYSTICK[2] = 0u;
    if (left == 0u || filled - taken == 2u)
        return; /* no buffer is free: this line is not asked for yet */
    if (semihosting_read(from, rows[filled % 2u], VWW_INPUT_ROW_BYTES) == 0u)
        filled++;
    left--;
}
extern uint32_t __stack_top[];
void Reset_Handler(void);
void Fault_Handler(void);
typedef union { void (*handler)(void); uint32_t *stack; } entry;
static const entry vectors[16] __attribute__((aligned(128), used)) = {
    {.stack = __stack_top}, {.handler = Reset_Handler},
    {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler}, {.handler = 0}, {.handler = 0}, {.handler = 0}, {.handler = 0},
    {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = 0}, {.handler = Fault_Handler}, {.handler = systick},
};

int main(void)
{
    int8_t output[VWW_OUTPUT_SIZE];
    int32_t frames;
    int to = semihosting_open("output.bin", SEMIHOSTING_WRITE);
    from = semihosting_open("input.bin", SEMIHOSTING_READ);
    frames = semihosting_length(from) / VWW_INPUT_BYTES;
    *(const entry *volatile *)0xE000ED08u = vectors; /* VTOR */
    SYSTICK[1] = 1000u;
    SYSTICK[2] = 0u;
    SYSTICK[0] = 7u; /* on, with its interrupt, from the core's clock */
    for (; frames > 0; frames--) {
        uint32_t row;
        if (vww_begin(output) != VWW_OK)
            return 10;
        left = VWW_INPUT_ROWS;
        for (row = 0; row < VWW_INPUT_ROWS; row++) {
            while (filled == taken) {
            }
            if (vww_push_input(rows[taken % 2u], 1) != VWW_OK)
                return 11;
            taken++;
        }
        if (vww_end() != VWW_OK)
            return 12;
        if (semihosting_write(to, output, sizeof output) != 0u)
            return 13;
    }
    return 0;
}
"""


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="a minute of processor time: AIDGE_STRESS=1")
@needs_cross_compiler
@needs_qemu
def test_rows_of_an_interrupt_become_the_answers_of_whole_images_in_20_kb_of_ram(tmp_path):
    known = numpy.load(vectors("vww_mobilenet025"))
    (tmp_path / "small-m3.toml").write_text(BOARD)
    (tmp_path / "main.c").write_text(MAIN)
    where = ("--board", "small-m3", "--board-path", tmp_path)
    made = aidge_build("compile", int8_model("vww_mobilenet025"), "--name", "vww", "--out", tmp_path, "--input", "rows", *where)
    assert made.exit_code == 0, made
    board = load_board("small-m3", [tmp_path])
    sources = [tmp_path / name for name in ("vww.c", "vww_weights.c", "main.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    checked = aidge_build("check", elf, "--json", *where)
    assert checked.exit_code == 0, checked
    stack = checked.json["stack_bound_bytes"] + checked.json["stack_interrupt_bytes"]
    sections = [section for section in read_image(elf).sections if section.address >= 0x20000000 and section.size_bytes]
    variables = sum(section.size_bytes for section in sections if "stack" not in section.name)
    assert variables + stack <= 20_480  # the two buffers of rows are variables, too
    chosen = numpy.random.default_rng(9).integers(0, len(known["x"]), FRAMES)
    (tmp_path / "input.bin").write_bytes(known["x"][chosen].tobytes())
    assert run_program(elf, board, work_folder=tmp_path).exit_code == 0
    got = numpy.frombuffer((tmp_path / "output.bin").read_bytes(), numpy.int8).reshape(FRAMES, 1, 2)
    assert numpy.array_equal(got, known["y_ort_qdq"][chosen])
