# SPDX-License-Identifier: MIT
"""Layers of `cortexm` with weights of 4 bits, four of which share a halfword, and of one bit: right to the bit."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace

import numpy
import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, accepted, case, run, without_fpu
from curved_cases import EDGES as CURVED
from curved_cases import WIDE, layer
from dynamic_cases import EDGES as DYNAMIC
from dynamic_cases import convolution, fully_connected
from harness import under_double
from test_cortexm_dynamic import GROUPED, SHORT_RUNS, WINDOWS
from test_cortexm_linear import EDGES, LONG_ROWS, MANY_PIXELS, MANY_ROWS, ROWS, fc_cases, int8_case

from aidge_build.graph.tensor import constant

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
BLOCKS = [(1, 12, (5, 5), 9, (3, 3), 1, 1, (1, 1), 3), (1, 9, (4, 5), 6, (3, 3), 1, 1, (1, 1), 3)]
MATRICES = [((1, 16), 8), ((3, 7), 10), ((2, 5, 6), 4), ((1, 132), 9)]


def of_four_bits(entry: Case, seed: int) -> Case:
    """The case with weights of 4 bits and about the same products; one in three has the lowest weight, too."""
    weights = numpy.clip(entry.view.inputs[1].data >> 4, -8 + (seed % 3 > 0), 7)
    return packed(entry, seed, weights, 16)


def binary(entry: Case, seed: int) -> Case:
    """The case with weights of -1 and 1."""
    return packed(entry, seed, numpy.where(entry.view.inputs[1].data < 0, -1, 1), 64)


def packed(entry: Case, seed: int, weights: numpy.ndarray, larger: int) -> Case:
    """The case with these weights, whose scales are so many times `larger`."""
    inputs = list(entry.view.inputs)
    quantization = inputs[1].quantization
    inputs[1] = constant("w", weights.astype(numpy.int8))
    if quantization:
        scales = tuple(larger * scale for scale in quantization.scales)
        inputs[1] = inputs[1].with_(quantization=replace(quantization, scales=scales))
    values = [value for value, tensor in zip(entry.values, inputs) if tensor is not None and not tensor.is_constant]
    made = case(entry.view.operator, inputs, values, quantization=entry.view.outputs[0].quantization)
    return Case(replace(made.view, objective=("balanced", "size", "speed")[seed % 3], packs_weights=True), made.values)


@functools.cache
def layers() -> list[Case]:
    edges = [edge for edge in (*EDGES, *MANY_PIXELS) if edge[-1] == 1 and edge[3] >= 4]
    found = [*(int8_case(seed, *edge) for seed, edge in enumerate([*edges, *BLOCKS]))]
    found += fc_cases((*ROWS, *LONG_ROWS, *MANY_ROWS))
    return accepted([of_four_bits(entry, seed) for seed, entry in enumerate(found)])


@functools.cache
def dynamic_layers() -> list[Case]:
    edges = [*(edge for edge in (*DYNAMIC, *WINDOWS, *SHORT_RUNS) if edge[-1] == 1), *GROUPED]
    found = [convolution(case, 2 * seed, edge, seed % 2 > 0) for seed, edge in enumerate(edges)]
    found += [fully_connected(case, 2 * seed, *shape, seed % 2 > 0) for seed, shape in enumerate(MATRICES)]
    return accepted([of_four_bits(entry, seed) for seed, entry in enumerate(found)])


@functools.cache
def binary_layers() -> list[Case]:
    """Rows and pixels, with blocks of 4 tables, of 3, of 1 and less than one."""
    found = [*fc_cases([(1, 64, 64), (2, 40, 130), (1, 520, 67), (2, 24, 128)])]
    found += [int8_case(seed, 1, 32, (2, 3), 130, (1, 1), 1, 1, (0, 0), 1) for seed in range(3)]
    return accepted([binary(entry, seed) for seed, entry in enumerate(found)])


@needs_compiler
def test_layers_of_both_contracts_equal_their_meaning():
    found = [*layers(), *accepted([under_double(entry) for entry in layers()[::3]])]
    assert all("_nibbles" in entry.call.function or "_sparse" in entry.call.function for entry in found)
    kernels = {"pointwise_int8", "conv2d_lines_int8", "conv2d_planes_int8", "conv2d_grouped_int8", "fc_int8", "fc_rows_int8"}
    assert {entry.kernel.name for entry in found} == kernels
    assert run(found, board=BOARD) == []


@needs_compiler
def test_so_do_those_without_an_fpu():
    assert run(without_fpu(layers()[::4]), board=BOARD_WITHOUT_FPU) == []


@needs_compiler
def test_so_do_layers_of_dynamic_quantization():
    assert all("four weights" in entry.call.note for entry in dynamic_layers())
    assert run(dynamic_layers(), board=BOARD) == []


@needs_compiler
def test_so_do_layers_with_a_function_behind_them():
    dense = [edge for edge in (*CURVED, *WIDE) if edge[-1] == 1]
    found = [layer(case, 3 * seed, edge, bits=4) for seed, edge in enumerate(dense)]
    found = accepted([Case(replace(entry.view, packs_weights=True), entry.values) for entry in found])
    assert all("_nibbles" in entry.call.function for entry in found)
    assert {entry.kernel.name for entry in found} == {f"curved_{kind}_int8" for kind in ("pointwise", "planes", "lines")}
    assert run(found, board=BOARD) == []


@needs_compiler
def test_so_do_layers_of_many_outputs_with_binary_weights():
    found = [*binary_layers(), *accepted([under_double(entry) for entry in binary_layers()[::2]])]
    assert all("_bits" in entry.call.function for entry in found)
    assert run(found, board=BOARD) == []
    assert run(without_fpu(binary_layers()[::2]), board=BOARD_WITHOUT_FPU) == []


def test_tables_are_made_for_many_outputs_of_whole_tables():
    shapes = {(1, 64, 64): True, (1, 64, 63): False, (2, 64, 128): True, (2, 64, 127): False, (1, 60, 64): False}
    for shape, has_tables in shapes.items():
        for entry in fc_cases([shape]):
            assert ("_fc_bits_" in binary(entry, 1).call.function) is has_tables, shape


def test_a_binary_weight_takes_an_eighth_of_a_byte():
    for entry in fc_cases([(1, 256, 64)]):
        taken = binary(entry, 2).call.constants[0].values.nbytes
        assert 256 * 64 // 8 < taken < 256 * 64 // 8 + 64 * 12


def test_a_weight_takes_half_a_byte():
    for entry in (*fc_cases([(1, 256, 64)]), int8_case(1, 1, 256, (4, 4), 64, (1, 1), 1, 1, (0, 0), 1)):
        narrow = of_four_bits(entry, 2)
        bytes_each = Case(replace(narrow.view, packs_weights=False), narrow.values)
        taken = [each.call.constants[0].values.nbytes for each in (narrow, bytes_each)]
        assert taken[1] - taken[0] >= 0.49 * 256 * 64


def test_sums_beyond_what_a_register_holds_are_those_of_bytes():
    for features, is_packed in ((7000, True), (9000, False)):
        (entry, *_) = fc_cases([(1, features, 4)])
        assert ("_nibbles" in of_four_bits(entry, 1).call.function) is is_packed
