# SPDX-License-Identifier: MIT
"""Layers of `cortexm` without the blocks of weights that are 0, against their numpy meaning, bit for bit."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, accepted, run, without_fpu
from harness import under_double
from sparse_cases import ROWS, short_rows, sparse_layers

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def cases():
    return accepted([Case(entry.view, entry.values) for entry in sparse_layers()])


def test_rows_planes_lines_and_pixels_leave_blocks_of_zeros_out():
    functions = [entry.call.function.removeprefix("aidge_cortexm_") for entry in cases()]
    sparse = [function for function in functions if "_sparse_" in function]
    kinds = {function.split("_int8")[0] for function in sparse}
    assert kinds == {"fc_sparse", "pointwise_sparse", "conv2d_sparse"} and len(sparse) > 10
    assert len([function for function in sparse if function.startswith("fc")]) == len(ROWS)


def test_the_weights_of_a_row_take_six_bytes_for_each_block_that_is_left():
    entry = next(entry for entry in cases() if entry.view.inputs[1].dims == (33, 640))
    dense = Case(replace(entry.view, any_weights=True), entry.values)
    assert entry.call.constants[0].values.nbytes < 0.45 * dense.call.constants[0].values.nbytes


def test_short_rows_have_all_blocks():
    functions = [entry.call.function for entry in accepted([Case(entry.view, entry.values) for entry in short_rows()])]
    assert len(functions) == 2 and not any("sparse" in function for function in functions)


@needs_compiler
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert run(cases(), board=BOARD) == []


@needs_compiler
def test_layers_equal_the_meaning_without_an_fpu_and_under_the_contract_of_litert():
    found = cases()
    assert run([*without_fpu(found[::3]), *without_fpu(map(under_double, found[1::3]))], board=BOARD_WITHOUT_FPU) == []
