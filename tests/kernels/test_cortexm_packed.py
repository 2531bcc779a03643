# SPDX-License-Identifier: MIT
"""Layers of `cortexm` with weights of 4 bits, four of which share a halfword: right to the bit."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace

import numpy
import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, accepted, case, run, without_fpu
from harness import under_double
from test_cortexm_linear import LONG_ROWS, ROWS, fc_cases

from aidge_build.graph.tensor import constant

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def of_few_bits(entry: Case, seed: int, bits: int = 4) -> Case:
    """The case with weights of so many bits, with the same largest products; every third has the lowest weight, too."""
    data, weights, bias = entry.view.inputs
    ends = -(1 << bits - 1) + (seed % 3 > 0), (1 << bits - 1) - 1
    values = numpy.clip(weights.data >> 8 - bits, *ends).astype(numpy.int8)
    scales = tuple(scale * (1 << 8 - bits) for scale in weights.quantization.scales)
    narrow = constant("w", values, replace(weights.quantization, scales=scales))
    made = case(entry.view.operator, [data, narrow, bias], entry.values[:1], quantization=entry.view.outputs[0].quantization)
    return Case(replace(made.view, objective=("balanced", "size", "speed")[seed % 3], packs_weights=True), made.values)


@functools.cache
def rows() -> list[Case]:
    shapes = fc_cases((*ROWS, *LONG_ROWS))
    return accepted([of_few_bits(entry, seed) for seed, entry in enumerate(shapes)])


@functools.cache
def layers() -> list[Case]:
    return [*rows()]


@needs_compiler
def test_layers_of_both_contracts_equal_their_meaning():
    found = [*layers(), *accepted([under_double(entry) for entry in layers()[::2]])]
    assert all("_nibbles" in entry.call.function for entry in found)
    assert run(found, board=BOARD) == []


@needs_compiler
def test_so_do_those_without_an_fpu():
    assert run(without_fpu(layers()[::2]), board=BOARD_WITHOUT_FPU) == []
