# SPDX-License-Identifier: MIT
"""Models with the boards' own libraries give the same outputs whatever the optimisation; a layer's stack is bounded.

A fixed sample; AIDGE_STRESS=1 (`./sconsw stress`) takes every model of MLPerf Tiny, quantized and as floats, with every option,
and emulated RISC-V cores, too.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import Board, load_board
from aidge_build.contract.reference import cpu
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.plan.program import Program
from aidge_build.prove.elf.deepest import StackBound
from aidge_build.prove.elf.image import read_image
from aidge_build.prove.elf.riscv_stack import riscv_stack_use
from aidge_build.prove.elf.stack import runs_use
from aidge_build.run.toolchain import disassemble
from aidge_build.run.verify.firmware import execute
from tests.compiled import program_of
from tests.programs import needs_cross_compiler, needs_qemu, needs_riscv
from tests.shared import FLOAT_MODELS, MODELS, float_model, int8_model, vectors

pytestmark = [needs_cross_compiler, needs_qemu]
STRESS = "AIDGE_STRESS" in os.environ
RISCV = ("qemu_riscv32", "qemu_riscv32_v")
BOARDS = ("mps2-an386", "mps3-an547")
OPTIONS = (("-O2",), ("-O3",), ("-Os",), ("-O2", "-flto"))
ALL_BOARDS = [*BOARDS, *(pytest.param(board, marks=needs_riscv) for board in RISCV if STRESS)]
# Each option meets both types of data and both boards.
SAMPLE = {
    (board, is_float): [(("-O3",), ("-Os", "-flto"))[is_float ^ (board == BOARDS[0])]]
    for board in BOARDS
    for is_float in (False, True)
}
VECTORS = 3 if STRESS else 1
TOLERANCE = 1.01e-5  # of the largest value; portable C without fused products is 1.003e-5 off, on the host, too
# rv32 keeps sums that are added up in chunks in its frame; products of floats by libgcc take 336 B.
MOST_STACK_BYTES = {**dict.fromkeys((*BOARDS, "qemu_riscv32_v"), 256), "qemu_riscv32": 368}


def options_of(board: Board) -> list[tuple[str, ...]]:
    """All. Programs with vectors are linked for another -march, which picolibc has: -flto would assemble them again for that."""
    return [flags for flags in OPTIONS if board.name != "qemu_riscv32_v" or "-flto" not in flags]


def outputs(program: Program, board: Board, inputs: numpy.ndarray, folder: Path):
    """The only output with each set of options; the layers' stack is looked at on the way."""
    (given,), (wanted,) = program.view.inputs, program.view.outputs
    for flags in options_of(board) if STRESS else SAMPLE[board.name, program.view.tensor(given).dtype.is_float]:
        ran = execute(program, board, {given: inputs}, folder / "".join(flags), flags=flags)
        check_stack(program, board, ran.elf, flags)
        yield ran.outputs[wanted]


def check_stack(program: Program, board: Board, elf: Path, flags: tuple[str, ...]) -> None:
    found = bounds_of(board, elf, tuple(layer.symbol for layer in program.layers))
    assert len(found) == len(program.layers)
    for layer in program.layers:
        bound = found[layer.symbol]
        assert bound.bytes is not None and bound.bytes <= MOST_STACK_BYTES[board.name], (flags, layer.call.function, bound)
    name, deepest = max(found.items(), key=lambda item: item[1].bytes)
    print(f"{''.join(flags):10} deepest layer {name}: {deepest.bytes} B, {' > '.join(deepest.path)}")


def bounds_of(board: Board, elf: Path, symbols: tuple[str, ...]) -> dict[str, StackBound]:
    """The bound of each layer's function."""
    if board.name in RISCV:
        return riscv_stack_use(read_image(elf), symbols).runs
    return runs_use(read_image(elf), read_disassembly(disassemble(elf)), symbols)


@pytest.mark.parametrize("name", MODELS if STRESS else ("sww_dscnn1d",))
@pytest.mark.parametrize("board_name", ALL_BOARDS)
def test_quantized_outputs_are_those_of_the_reference_bit_for_bit(name, board_name, tmp_path):
    board, stored = load_board(board_name), numpy.load(vectors(name))
    program = program_of(int8_model(name).read_bytes(), name, board)
    for found in outputs(program, board, stored["x"][:VECTORS], tmp_path):
        assert numpy.array_equal(found, stored["y_ort_qdq"][:VECTORS])


@pytest.mark.parametrize("name", FLOAT_MODELS if STRESS else ("kws_dscnn",))
@pytest.mark.parametrize("board_name", ALL_BOARDS)
def test_float_outputs_are_within_the_tolerance_of_the_meaning(name, board_name, tmp_path):
    board, stored = load_board(board_name), numpy.load(vectors(name))
    program = program_of(float_model(name).read_bytes(), name, board)
    inputs = (stored["x"][:1].astype(numpy.float32) - numpy.float32(stored["x_zero_point"])) * numpy.float32(stored["x_scale"])
    (given,), (wanted,) = program.view.inputs, program.view.outputs
    meaning = cpu.run(program.view, {given: inputs[0]})[wanted]
    for found in outputs(program, board, inputs, tmp_path):
        difference = numpy.abs(found[0].astype(numpy.float64) - meaning).max() / numpy.abs(meaning).max()
        print(f"largest difference {difference:.1e}")
        assert difference <= TOLERANCE
