# SPDX-License-Identifier: MIT
"""What a call of the C library's float functions costs at most on cores without an FPU: above what was counted, and near it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image
from aidge_build.prove.longest.calls import Calls
from aidge_build.run.emulate import Counted, run_program
from aidge_build.run.toolchain import disassemble
from tests.command import aidge_build
from tests.programs import build, needs_cross_compiler, needs_riscv
from tests.random_models import RandomNetwork

FUNCTIONS = {
    "divided": "float divided(float a, float b) { return a / b; }",
    "product": "float product(float a, float b) { return a * b; }",
    "total": "float total(float a, float b) { return a + b; }",
    "difference": "float difference(float a, float b) { return a - b; }",
    "least": "float least(float a, float b) { return a < b ? a : b; }",
    "rounded": "int rounded(float a, float b) { (void)b; return (int)a; }",
    "real": "float real(float a, float b) { (void)b; return (float)(int)bits_of(a); }",
    "wide": "float wide(float a, float b) { return (float)((double)a * b); }",
    "quotient": "float quotient(float a, float b) { return (float)((double)a / b); }",
    "rest": "float rest(float a, float b) { return fmodf(a, b); }",
    "times": "float times(float a, float b) { return (float)(wide_of(a, b) / (int64_t)bits_of(b)); }",
    "remains": "float remains(float a, float b) { return (float)((uint64_t)wide_of(a, b) % bits_of(b)); }",
    "scaled": "float scaled(float a, float b) { (void)b; return a * 0.3f; }",
    "of_integer": "float of_integer(float a, float b) { (void)b; return (float)(int)bits_of(a) * 0.3f; }",
    "polynomial": "float polynomial(float a, float b) { return (a + 0.7f) * 0.3f + b; }",
}
MAIN = """
#include <math.h>
#include <stdint.h>
#include <string.h>
static uint32_t bits_of(float a) { uint32_t word; memcpy(&word, &a, 4); return word; }
static int64_t wide_of(float a, float b) { return (int64_t)((uint64_t)bits_of(a) << 32 | bits_of(b)); }
#define CALLED __attribute__((noinline, noclone))
FUNCTIONS
static uint32_t seed = 7;
static float drawn(void)
{
    static const uint32_t ends[] = {0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x80000001, 0x3F800000, 0x00000700};
    uint32_t word;
    float value;
    seed = seed * 1664525u + 1013904223u;
    word = (seed >> 9 & 3) == 0 ? ends[seed >> 20 & 7] : seed ^ seed << 13;
    memcpy(&value, &word, 4);
    return value;
}
int main(void)
{
    float sum = 0;
    int turn;
    for (turn = 0; turn < 250; turn++) {
        float a = drawn(), b = drawn();
        CALLS
    }
    return bits_of(sum) == 12345;
}
"""


def compared(board: str, names: Collection[str], folder: Path) -> None:
    text = MAIN.replace("FUNCTIONS", "\n".join(f"CALLED {FUNCTIONS[name]}" for name in names))
    text = text.replace("CALLS", " ".join(f"sum += (float){name}(a, b);" for name in names))
    elf = build(board, text, folder, flags=("-O2", "-std=gnu99"))
    image = read_image(elf)
    calls = Calls(image, read_disassembly(disassemble(elf)) if image.machine == "ARM" else {})
    for name in names:
        bound = calls.call(image.symbol(name).address, (None, None), calls.memory(), 20_000).instructions
        longest = run_program(elf, load_board(board), work_folder=folder, counted=Counted(step_symbol=name)).steps.longest
        assert longest <= bound <= 3 * longest, (name, longest, bound)


@needs_cross_compiler
@pytest.mark.parametrize("board", ["mps2-an385", "microbit"])
def test_the_cost_of_a_float_function_is_above_what_was_counted_and_at_most_three_times_that(board: str, tmp_path: Path) -> None:
    compared(board, FUNCTIONS, tmp_path)


@needs_riscv
def test_the_cost_of_a_float_function_of_risc_v_is_also_near_what_was_counted(tmp_path: Path) -> None:
    compared("qemu_riscv32", FUNCTIONS if "AIDGE_STRESS" in os.environ else ("divided", "times", "polynomial"), tmp_path)


@needs_cross_compiler
def test_an_inference_with_floats_at_both_ends_has_a_bound_without_an_fpu(tmp_path: Path) -> None:
    made = RandomNetwork(9007, nodes=3)
    (tmp_path / "net.onnx").write_bytes(made.model().SerializeToString())
    numpy.savez(tmp_path / "x.npz", x=made.inputs(4))
    words = ("--board", "microbit", "--max-step", "100000", "--io-data", tmp_path / "x.npz", "--quantize", tmp_path / "x.npz")
    verified = aidge_build("verify", tmp_path / "net.onnx", *words, "--io-type", "float32", "--json")
    assert verified.exit_code == 0, verified.stderr
    (bound,) = verified.json["step_bounds"]
    assert not bound["refused"] and verified.json["steps"]["longest"] <= bound["longest"] <= 100_000
