# SPDX-License-Identifier: MIT
"""Estimated cycles of a Hazard3 are the ones of its Verilog: AIDGE_HAZARD3 names a checkout of github.com/Wren6991/Hazard3."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.run.emulate import Counted, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import EXAMPLE_MODELS, needs_riscv
from tests.shared import int8_model

VARIABLE = "AIDGE_HAZARD3"
HERE = Path(__file__).with_name("hazard3")
BOARD = "qemu_hazard3"
OBJCOPY = "riscv64-unknown-elf-objcopy"
LARGEST_ERROR = 0.01
pytestmark = [
    needs_riscv,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no checkout of github.com/Wren6991/Hazard3"),
    pytest.mark.skipif(not shutil.which("verilator"), reason="needs verilator"),
]
MAIN = """
#include "net.h"
#define CSR(text) __asm__ volatile(".option push\\n.option arch,+zicsr\\n" text "\\n.option pop" : "=r"(number) : : "memory")
static int8_t input[NET_INPUT_BYTES], output[NET_OUTPUT_BYTES];
static uint32_t cycle(void) { uint32_t number; CSR("csrw 0x320, zero\\ncsrr %0, mcycle"); return number; }
int main(void) {
    uint32_t seed = 1, begin;
    for (uint32_t index = 0; index < sizeof input; index++)
        input[index] = (int8_t)((seed = seed * 1103515245u + 12345u) >> 16);
    begin = cycle();
    net_run(input, output);
    for (uint32_t cycles = cycle() - begin; cycles != 0; cycles /= 10)
        *(volatile uint8_t *)0x10000000 = (uint8_t)('0' + cycles % 10); /* the last digit first */
    *(volatile uint32_t *)0x100000 = 0x5555;
    return 0;
}
"""


@pytest.fixture(scope="module")
def simulator(tmp_path_factory) -> Path:
    """The program that Verilator makes of the core."""
    folder, sources = tmp_path_factory.mktemp("hazard3"), Path(os.environ[VARIABLE]) / "hdl"
    names = [line.split()[1] for line in (sources / "hazard3.f").read_text().splitlines() if line.startswith("file ")]
    files = [sources / name for name in names if name not in ("hazard3_cpu_1port.v", "hazard3_frontend.v")]
    (folder / "frontend.v").write_text(without_loop((sources / "hazard3_frontend.v").read_text()))
    words = ["verilator", "-O3", "--x-assign", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--cc", "--exe", "--build"]
    words += ["--top-module", "top", f"-I{sources}", "--Mdir", folder, HERE / "top.v", HERE / "testbench.cpp", *files]
    subprocess.run([*map(str, words), str(folder / "frontend.v"), "-CFLAGS", "-O2"], check=True, capture_output=True)
    return folder / "Vtop"


def without_loop(text: str) -> str:
    """The fetch queue without an array that one block writes and reads: Verilator 5.006 evaluates it in the wrong order."""
    before, rest = text.split("reg                  fifo_valid      [0:FIFO_DEPTH];")
    declared, rest = rest.split("always @ (*) begin: boundary_conditions")
    valid = "wire [FIFO_DEPTH:0] fifo_valid = {1'b0, |fifo_valid_hw[1], |fifo_valid_hw[0]};\n"
    before_it = "wire [FIFO_DEPTH:0] fifo_valid_m1 = {fifo_valid[FIFO_DEPTH-1:0], 1'b1};\n"
    declared = declared.replace("reg                  fifo_valid_m1   [0:FIFO_DEPTH];", before_it)
    return before + valid + declared + "always @ (posedge clk" + rest.split("always @ (posedge clk", 1)[1]


@pytest.mark.parametrize("name", ["digits.onnx", "ad_toycar", "kws_dscnn"])
def test_a_network_takes_the_estimated_cycles(name, simulator, tmp_path):
    model = EXAMPLE_MODELS.get(name) or int8_model(name)
    compiled = aidge_build("compile", model, "--name", "net", "--out", tmp_path, "--board", BOARD)
    assert compiled.exit_code == 0, compiled.stderr
    (tmp_path / "main.c").write_text(MAIN)
    board, sources = load_board(BOARD), sorted(tmp_path.glob("*.c"))
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    counted = Counted("net_run", timing=program_timing(elf, board))
    cycles = run_program(elf, board, work_folder=tmp_path, counted=counted).run_cycles
    subprocess.run([OBJCOPY, "-O", "binary", elf, tmp_path / "app.bin"], check=True)
    said = subprocess.run([simulator, tmp_path / "app.bin"], check=False, capture_output=True, text=True)
    assert said.returncode == 0 and cycles is not None
    assert cycles.total == pytest.approx(int(said.stdout[::-1]), rel=LARGEST_ERROR)
