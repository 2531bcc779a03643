# SPDX-License-Identifier: MIT
"""The portable C of `--cpu generic` on a core that is neither Arm nor RISC-V: an Xtensa LX106 in QEMU, which traps words at
addresses that are no multiples of 4, and has no FPU.

One model; AIDGE_STRESS=1 (`./sconsw stress`) takes the networks of MLPerf Tiny and every level of optimization, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.graph.tensor import Tensor
from tests.command import aidge_build
from tests.compiled import program_of
from tests.programs import EXAMPLE_MODELS
from tests.shared import MODELS, int8_model, vectors

STRESS = "AIDGE_STRESS" in os.environ
GCC, EMULATOR = "xtensa-lx106-elf-gcc", "qemu-system-xtensa"
PROGRAMS = [("digits", "-Os"), *((name, level) for name in MODELS for level in ("-O0", "-O2", "-O3", "-Os") if STRESS)]
VECTORS, ENDED_WELL = 2, 7
# QEMU starts the core at the first word of its ROM.
SCRIPT = """
SECTIONS
{
    .text 0x50000000 : { *(.start) *(.literal*) *(.text*) *(.rodata*) }
    .data 0x60000000 : { *(.data*) *(.bss*) *(COMMON) }
}
"""
# simcall: 4 writes a5 bytes from a4 to file a3, 1 ends the program with code a3.
START = """
    .section .start, "ax"
    .global start
start:
    j begin
    .text
begin:
    movi a1, 0x60800000
    call0 main
    mov a3, a2
    movi a2, 1
    simcall
    .align 4
    .global put
put:
    mov a5, a3
    mov a4, a2
    movi a3, 1
    movi a2, 4
    simcall
    ret
"""
STRING = """
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
"""
# Chips have these in their ROM, and libgcc leaves them out: the core has neither long products nor quotients.
ROM = """
#include <stdint.h>
#include "string.h"
int64_t __muldi3(int64_t first, int64_t second);
uint32_t __udivsi3(uint32_t dividend, uint32_t divisor);
uint32_t __umodsi3(uint32_t dividend, uint32_t divisor);
int32_t __divsi3(int32_t dividend, int32_t divisor);
int32_t __modsi3(int32_t dividend, int32_t divisor);
int64_t __muldi3(int64_t first, int64_t second)
{
    uint64_t product = 0;
    for (int bit = 0; bit < 64; bit++) { product += (((uint64_t)second >> bit) & 1u) != 0u ? (uint64_t)first << bit : 0u; }
    return (int64_t)product;
}
uint32_t __udivsi3(uint32_t dividend, uint32_t divisor)
{
    uint32_t quotient = 0;
    uint64_t rest = 0;
    for (int bit = 31; bit >= 0; bit--) {
        rest = (rest << 1) | ((dividend >> bit) & 1u);
        quotient |= (uint32_t)(rest >= divisor) << bit;
        rest -= rest >= divisor ? divisor : 0u;
    }
    return quotient;
}
uint32_t __umodsi3(uint32_t dividend, uint32_t divisor) { return dividend - __udivsi3(dividend, divisor) * divisor; }
int32_t __divsi3(int32_t dividend, int32_t divisor)
{
    const int32_t first = dividend < 0 ? -dividend : dividend, second = divisor < 0 ? -divisor : divisor;
    const int32_t quotient = (int32_t)__udivsi3((uint32_t)first, (uint32_t)second);
    return (dividend < 0) == (divisor < 0) ? quotient : -quotient;
}
int32_t __modsi3(int32_t dividend, int32_t divisor) { return dividend - __divsi3(dividend, divisor) * divisor; }
void *memcpy(void *to, const void *from, size_t size)
{
    for (size_t at = 0; at < size; at++) { ((volatile char *)to)[at] = ((const char *)from)[at]; }
    return to;
}
void *memset(void *to, int value, size_t size)
{
    for (size_t at = 0; at < size; at++) { ((volatile char *)to)[at] = (char)value; }
    return to;
}
"""
MAIN = """
#include "net.h"
void put(const void *from, unsigned size);
int main(void);
static const %(c_type)s inputs[] = {%(inputs)s};
int main(void)
{
    static %(result_type)s result[%(results)d];
    for (int vector = 0; vector < %(vectors)d; vector++) {
        if (net_run(inputs + vector * %(elements)d, result) != 0) { return 1; }
        put(result, sizeof result);
    }
    return %(ended_well)d;
}
"""


def model_of(name: str) -> tuple[Path, numpy.ndarray]:
    """A model, and inputs."""
    if name != "digits":
        return int8_model(name), numpy.load(vectors(name))["x"][:VECTORS]
    path = EXAMPLE_MODELS["digits.onnx"]
    return path, numpy.load(path.parent / "test_images.npz")["x"][:VECTORS, None]


def main_of(stored: list[numpy.ndarray], result: Tensor) -> str:
    """The program's main, which writes the outputs of each input."""
    return MAIN % {
        "c_type": f"{stored[0].dtype}_t",
        "inputs": ", ".join(str(value) for values in stored for value in values.reshape(-1)),
        "elements": stored[0].size,
        "result_type": result.dtype.c_type,
        "results": result.elements,
        "vectors": len(stored),
        "ended_well": ENDED_WELL,
    }


@pytest.mark.skipif(not (shutil.which(GCC) and shutil.which(EMULATOR)), reason=f"needs {GCC} and {EMULATOR}")
@pytest.mark.parametrize("name, level", PROGRAMS)
def test_portable_c_has_the_values_of_the_reference_on_an_xtensa_core(name, level, tmp_path):
    path, inputs = model_of(name)
    view = program_of(path.read_bytes(), name, load_board("host")).view
    (given,), (wanted,) = view.inputs, view.outputs
    result, inputs = view.tensor(wanted), inputs.astype(view.tensor(given).dtype.numpy)
    compiled = aidge_build("compile", path, "--cpu", "generic", "--name", "net", "--out", tmp_path)
    assert compiled.exit_code == 0, compiled.stderr
    stored = [view.tensor(given).to_stored(values) for values in inputs]
    texts = {"main.c": main_of(stored, result), "start.S": START, "rom.c": ROM, "string.h": STRING, "net.ld": SCRIPT}
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    sources = ["start.S", "main.c", "rom.c", "net.c", "net_weights.c"]
    flags = ["-std=c99", level, "-I.", "-nostdlib", "-mlongcalls", "-mtext-section-literals", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([GCC, *flags, "-Tnet.ld", *sources, "-lgcc", "-o", "net.elf"], cwd=tmp_path, check=True)
    machine = [EMULATOR, "-M", "sim", "-cpu", "lx106", "-semihosting", "-nographic", "-monitor", "none", "-serial", "none"]
    ran = subprocess.run([*machine, "-kernel", "net.elf"], cwd=tmp_path, stdout=subprocess.PIPE, timeout=300, check=False)
    assert ran.returncode == ENDED_WELL
    meaning = run_in_order(view, {given: inputs}, range(len(inputs)))[wanted]
    assert ran.stdout == b"".join(result.to_stored(values).tobytes() for values in meaning)
