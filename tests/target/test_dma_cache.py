# SPDX-License-Identifier: MIT
"""Inputs that a DMA writes and outputs that it reads, behind a write-back cache: right with the hooks, wrong without."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.prove.elf.image import read_image
from aidge_build.run.toolchain import build_program
from tests.cached_machine import CachedMachine
from tests.command import aidge_build
from tests.compiled import program_of
from tests.programs import needs_cross_compiler
from tests.row_networks import SIDE, chain

pytestmark = needs_cross_compiler
FRAMES = 3
LARGE, SMALL = {}, {"sets": 4, "ways": 2}  # 16 KB and 256 B
WAYS = [("caller", LARGE), ("caller", SMALL), ("arena", LARGE), ("arena", SMALL)]
MAIN = """
#include "net.h"
#define DMA ((volatile uint32_t *)0x40000000u)
#define SCB(offset) (*(volatile uint32_t *)(0xE000EF00u + (offset)))

#if defined(SHARED) /* the counter lies in the last line of the frame, of which 400 bytes are used */
__asm__(".section .bss.shared,\\"aw\\",%nobits\\n.balign 32\\n"
        ".globl frame\\n.type frame, %object\\n.size frame, 400\\nframe: .space 400\\n"
        ".globl counter\\n.type counter, %object\\n.size counter, 4\\ncounter: .space 4\\n.balign 32\\n.previous\\n");
extern int8_t frame[400];
extern volatile uint32_t counter;
#define FRAME frame
#elif defined(IN_ARENA)
static volatile uint32_t counter;
#define FRAME NET_INPUT
#else
__attribute__((aligned(NET_DMA_LINE))) int8_t frame[NET_INPUT_DMA_BYTES];
static volatile uint32_t counter;
#define FRAME frame
#endif
#if defined(IN_ARENA)
#define SCORES NET_OUTPUT
#else
__attribute__((aligned(NET_DMA_LINE))) int8_t scores[NET_OUTPUT_DMA_BYTES];
#define SCORES scores
#endif

#if defined(HOOKS) || defined(IN_ARENA)
static void lines(uint32_t maintenance, const void *data, uint32_t bytes)
{
    uint32_t line = (uint32_t)data & ~31u;
    for (; line < (uint32_t)data + bytes; line += 32u)
        SCB(maintenance) = line;
    __asm__ volatile("dsb" ::: "memory");
}
#endif
#if defined(HOOKS)
void net_before_input(const void *data, uint32_t bytes) { lines(0x5Cu, data, bytes); }
void net_after_output(void *data, uint32_t bytes) { lines(0x68u, data, bytes); }
#endif

static void transfer(void *data, uint32_t bytes, uint32_t command)
{
    DMA[0] = (uint32_t)data;
    DMA[1] = bytes;
    DMA[2] = command;
}

int main(void)
{
    uint32_t number;
    for (number = 0; number < 3u; number++) {
#if defined(IN_ARENA)
        lines(0x5Cu, FRAME, NET_INPUT_BYTES); /* what layers left there must not be written over the frame */
#endif
        transfer(FRAME, NET_INPUT_BYTES, 1u);
        counter++;
#if defined(IN_ARENA)
        if (net_run() != 0)
#else
        if (net_run(FRAME, SCORES) != 0)
#endif
            return 100;
        transfer(SCORES, NET_OUTPUT_BYTES, 2u);
    }
    return (int)counter;
}
"""


@functools.cache
def frames_and_wanted() -> tuple[list[bytes], list[bytes]]:
    images = numpy.random.default_rng(11).integers(-128, 128, (FRAMES, 1, 1, SIDE, SIDE)).astype(numpy.int8)
    view = program_of(chain(1), "net.onnx", load_board("host")).view
    wanted = run_in_order(view, {"x": images})["y"]
    return [image.tobytes() for image in images], [scores.tobytes() for scores in wanted]


def linked(folder: Path, io: str, *defines: str) -> Path:
    (folder / "net.onnx").write_bytes(chain(1))
    words = ["--board", "mps2-an500", "--dma", "on", "--io", io]
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, *words)
    assert made.exit_code == 0, made
    (folder / "main.c").write_text(MAIN)
    sources = [folder / name for name in ("net.c", "net_weights.c", "main.c")]
    return build_program(
        load_board("mps2-an500"),
        sources,
        folder / "app.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
        extra_flags=[f"-D{name}" for name in defines],
    )


def ran(elf: Path, **cache: int) -> tuple[int, list[bytes], CachedMachine]:
    frames, _ = frames_and_wanted()
    machine = CachedMachine(elf, load_board("mps2-an500"), frames, **cache)
    return machine.run(), machine.taken, machine


@pytest.mark.parametrize(("io", "cache"), WAYS if "AIDGE_STRESS" in os.environ else WAYS[1:3], ids=str)
def test_with_the_hooks_the_core_sees_what_the_dma_wrote_and_the_dma_what_the_core_did(io, cache, tmp_path):
    elf = linked(tmp_path, io, "HOOKS", *(["IN_ARENA"] if io == "arena" else []))
    code, taken, machine = ran(elf, **cache)
    assert (code, taken) == (FRAMES, frames_and_wanted()[1])
    assert machine.evictions > 1000 if cache else machine.evictions < 1000
    arrays = ["--dma-arrays", "frame,scores"] if io == "caller" else []
    checked = aidge_build("check", elf, "--board", "mps2-an500", *arrays)
    assert checked.exit_code == 0 and "DMA" not in checked.stdout, checked


def test_without_the_hooks_results_are_wrong_and_the_check_says_that_nobody_defines_them(tmp_path):
    elf = linked(tmp_path, "caller")
    code, taken, _ = ran(elf)
    assert code == FRAMES and all(got != wanted for got, wanted in zip(taken, frames_and_wanted()[1], strict=True))
    checked = aidge_build("check", elf, "--board", "mps2-an500", "--dma-arrays", "frame,scores")
    assert checked.exit_code == 0 and checked.stdout.count("DMA02") == 2, checked
    assert "hook net_before_input is the empty one of model net" in checked.stdout


def test_what_shares_a_line_with_an_input_is_forgotten_and_the_check_finds_it(tmp_path):
    elf = linked(tmp_path, "caller", "HOOKS", "SHARED")
    code, taken, _ = ran(elf)
    assert code != FRAMES, "the counter survives its line's being invalidated"
    assert taken == frames_and_wanted()[1]
    address = read_image(elf).symbol("counter").address
    checked = aidge_build("check", elf, "--board", "mps2-an500", "--dma-arrays", "scores,frame")
    said = f"error DMA01: array frame (400 B) shares a line of the data cache with counter (4 B at 0x{address:08x})"
    assert checked.exit_code == 1 and said in checked.stdout and checked.stdout.count("DMA01") == 1, checked
