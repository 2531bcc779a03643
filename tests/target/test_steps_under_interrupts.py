# SPDX-License-Identifier: MIT
"""Steps of a network under interrupts that use every register, with inferences that are left after any step."""

from __future__ import annotations

import os

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.shared import int8_model, vectors

MAIN = """#include "kws.h"
#include "semihosting.h"
#include <string.h>

static int8_t input[KWS_INPUT_SIZE], other[KWS_INPUT_SIZE], output[KWS_OUTPUT_SIZE];
static volatile uint32_t interrupts;
static uint32_t seed = 1u;
#define SYSTICK ((volatile uint32_t *)0xE000E010u)
static uint32_t drawn(void) { return (seed = seed * 1664525u + 1013904223u) >> 8; }

static uint32_t noise = 7u;
static float real = 1.5f;
void systick(void);
__attribute__((interrupt)) void systick(void)
{
    volatile uint32_t below[48]; /* what lies below the stack pointer is gone */
    uint32_t index;
    for (index = 0; index < 48u; index++)
        below[index] = noise + index;
    noise = noise * 69069u + below[noise % 48u];
    real = real * 1.0001f + (float)(noise & 7u) - 3.5f;
#if defined(__ARM_FP) /* registers of the caller and of the callee, of the FPU and of the core, and all flags */
    __asm__ volatile("vmov s0, %0\\n vadd.f32 s1, s0, s0\\n vmov s14, s1\\n vadd.f32 s16, s1, s0\\n vmov s31, s16\\n"
                     "vcmp.f32 s1, s31\\n vmrs APSR_nzcv, fpscr"
                     : : "r"(noise) : "s0", "s1", "s14", "s16", "s31", "cc");
#endif
    __asm__ volatile("mvn r0, #0\\n mov r1, r0\\n mov r2, r0\\n mov r3, r0\\n mov r12, r0\\n mov r4, r0\\n mov r5, r0\\n"
                     "mov r6, r0\\n mov r8, r0\\n mov r9, r0\\n mov r10, r0\\n mov r11, r0\\n adds r0, r0, #1"
                     : : : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "cc");
    interrupts++;
    SYSTICK[1] = 100u + (noise >> NOISE_BITS);
    SYSTICK[2] = 0u;
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
    int from = semihosting_open("input.bin", SEMIHOSTING_READ), to = semihosting_open("output.bin", SEMIHOSTING_WRITE);
    int32_t frames = semihosting_length(from) / KWS_INPUT_BYTES;
    uint32_t left = 0u;
    *(const entry *volatile *)0xE000ED08u = vectors; /* VTOR */
    SYSTICK[1] = 1000u;
    SYSTICK[2] = 0u;
    SYSTICK[0] = 7u; /* on, with its interrupt, from the core's clock */
    for (; frames > 0; frames--) {
        uint32_t cancels, steps;
        int code = KWS_MORE;
        if (semihosting_read(from, input, sizeof input) != 0u)
            return 9;
        for (cancels = 0u; cancels < CANCELS; cancels++) { /* other inferences, which are left after any step */
            uint32_t after = drawn() % KWS_STEPS % LAST_STEP;
            memset(other, (int)drawn(), sizeof other);
            if (kws_begin(other, output) != KWS_OK)
                return 10;
            for (steps = 0u; steps < after; steps++)
                if (kws_step() != KWS_MORE)
                    return 11;
            kws_cancel();
            left++;
        }
        if (kws_begin(input, output) != KWS_OK)
            return 12;
        while (code == KWS_MORE)
            code = kws_step();
        if (code != KWS_OK || semihosting_write(to, output, sizeof output) != 0u)
            return 13;
    }
    memcpy(other, output, sizeof output);
    while (interrupts < INTERRUPTS) { /* as often as it takes */
        if (kws_run(input, output) != KWS_OK || memcmp(other, output, sizeof output) != 0)
            return 14;
    }
    SYSTICK[0] = 0u;
    return left < LEFT ? 15 : 0;
}
"""
FEW = {"NOISE_BITS": 20, "CANCELS": 2, "LAST_STEP": 12, "INTERRUPTS": 60, "LEFT": 6}
MANY = {"NOISE_BITS": 20, "CANCELS": 25, "LAST_STEP": 60000, "INTERRUPTS": 10_000, "LEFT": 1_000}
STRESS = "AIDGE_STRESS" in os.environ


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board_name", ["mps2-an386", "mps3-an547"] if STRESS else ["mps2-an386"])
def test_interrupts_at_any_instruction_and_inferences_that_are_left_leave_results_right(board_name, tmp_path):
    """The handler draws the time until the next interrupt."""
    known, board = numpy.load(vectors("kws_dscnn")), load_board(board_name)
    made = aidge_build(
        "compile", int8_model("kws_dscnn"), "--name", "kws", "--out", tmp_path, "--board", board_name, "--max-step", "50000"
    )
    assert made.exit_code == 0, made
    count = 40 if STRESS else 3
    chosen = numpy.random.default_rng(5).integers(0, len(known["x"]), count)
    (tmp_path / "input.bin").write_bytes(known["x"][chosen].tobytes())
    numbers = [f"-D{name}={value}u" for name, value in (MANY if STRESS else FEW).items()]
    (tmp_path / "main.c").write_text(MAIN)
    sources = [tmp_path / name for name in ("kws.c", "kws_weights.c", "main.c")]
    folders = {"work_folder": tmp_path / "objects", "include_folders": [tmp_path]}
    elf = build_program(board, sources, tmp_path / "app.elf", extra_flags=tuple(numbers), **folders)
    assert run_program(elf, board, work_folder=tmp_path, emulator="qemu").exit_code == 0
    wanted = known["y_ort_qdq"][chosen]
    assert numpy.array_equal(numpy.frombuffer((tmp_path / "output.bin").read_bytes(), numpy.int8).reshape(wanted.shape), wanted)
