# SPDX-License-Identifier: MIT
"""Kernels of `rv32` against their numpy meaning, bit for bit: on an emulated core.

AIDGE_STRESS=1 (`./sconsw stress`) takes a layer of every function that the candidates of all tests make, under every level of
optimization, with gcc and clang, for 32 and for 16 registers.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import test_armv6m_linear
import test_factor_lines
import test_stack
from binary_cases import binaries
from harness import STRESS, case, under
from helium_harness import BOARDS, build, executed
from product_cases import edge_products
from rv32_harness import BOARD, BOARD_OF_16, COMPILED, Case, Case16, accepted, compile_with, needs_riscv, run, taken
from test_conversions_without_fpu import quantize_case
from test_products import SIXES

from aidge_build.boards import load_board
from aidge_build.contract.riscv.instruction import REGISTERS, instruction_at
from aidge_build.prove.elf import read_image

EVERY = 1 if STRESS else 3  # function of a kernel, for 16 registers: a case of each
KINDS = {BOARD: Case, BOARD_OF_16: Case16}
SAMPLE = [(BOARD, "gcc", "-O0"), (BOARD, "clang-14", "-Os")]
FLAGS = [(board, *one) for board in KINDS for one in COMPILED] if STRESS else SAMPLE


@functools.cache
def sample():
    others = (*binaries(case, 12), *edge_products(case, SIXES[1::4], 1), *test_factor_lines.products())
    others += tuple(quantize_case(seed, 400) for seed in range(4))
    rows = (*list(test_armv6m_linear.fully_connected_cases())[::3], *list(test_armv6m_linear.many_output_cases())[:2])
    others += tuple(test_armv6m_linear.less_zero_points(rows))
    return accepted([taken(entry) for entry in (*test_armv6m_linear.candidates(), *others)])


def sample_of_16():
    """A layer of some functions of each kernel, of the first one at least."""
    of_kernels: dict[str, dict[str, Case16]] = {}
    for entry in sample():
        of_kernels.setdefault(entry.kernel.name, {})[entry.call.function] = Case16(entry.view, entry.values)
    return [entry for functions in of_kernels.values() for _, entry in sorted(functions.items())[::EVERY]]


def test_the_cases_reach_every_form():
    forms = {entry.call.function.removeprefix("aidge_rv32_") for entry in sample()}
    dense = {"single_u2_x4", "single_corrected_u2_x3", "chunked_u2_x3", "sums_u2", "single_offset_u2", "sums_offset_u2"}
    assert {f"dense_int8_{form}" for form in dense} <= forms, sorted(forms)
    offset = [set(form.split("_")) for form in forms if form.startswith("fc_int8") and "offsets" in form]
    assert any("once" not in each for each in offset), "several blocks of taps"
    assert {"once", "p", "singles8", "outliers", "marks"} <= set().union(*offset)
    turns = {"depthwise_int8_3x3_t4_s4_d4_n5_shared_layer", "depthwise_int8_1x6_t5_s2_d2_n4_layer"}
    assert turns <= forms, "a loop over input channels, and over rows of taps"
    kinds = {entry.kernel.name for entry in sample()}
    assert kinds == {
        "conv2d_int8",
        "depthwise_int8",
        "fc_int8",
        "matmul_int8",
        "add_int8",
        "mul_int8",
        "mul_channels_int8",
        "quantize_int8",
    }


@needs_riscv
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(sample()) > 110
    assert run(sample(), board=BOARD) == []


@needs_riscv
@pytest.mark.parametrize("board, compiler, level", FLAGS)
def test_the_result_does_not_depend_on_the_compiler_and_its_options(board, compiler, level, monkeypatch):
    compile_with(compiler, board, monkeypatch)
    cases = test_stack.cases_of("rv32") if STRESS else sample()
    assert run(under((level,), [KINDS[board](entry.view, entry.values) for entry in cases]), level, board=board) == []


@needs_riscv
def test_layers_on_a_core_with_16_registers_equal_the_meaning_and_use_no_others(tmp_path):
    cases = sample_of_16()
    elf = build(cases, tmp_path, board=BOARD_OF_16)
    assert {"ra", "s1"} <= registers_of(elf) <= {*REGISTERS[:16], ""}
    assert executed(elf, cases, tmp_path, load_board(BOARD_OF_16, BOARDS)) == []


def registers_of(elf: Path) -> set[str]:
    """The registers that the instructions of all functions name."""
    found, image = set[str](), read_image(elf)
    for function in (symbol for symbol in image.symbols if symbol.kind == "function"):
        content, place = image.content(function), 0
        while instruction := instruction_at(place, content[place:]):
            found |= {instruction.operation.target, instruction.operation.first, instruction.operation.second}
            place = instruction.next
    return found
