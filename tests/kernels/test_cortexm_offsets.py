# SPDX-License-Identifier: MIT
"""Layers of `cortexm` with weights of nine bits, which are bytes and an offset of each channel: right to the bit."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace

import numpy
import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, accepted, case, run, without_fpu
from harness import under_double
from random_tensors import Randomness
from test_cortexm_linear import fc_cases, int8_case

from aidge_build.contract.call import Constant
from aidge_build.graph.tensor import constant

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 16, (3, 3), 8, (1, 1), 1, 1, (0, 0), 1),
    (1, 520, (2, 1), 5, (1, 1), 1, 1, (0, 0), 1),  # sums of two words
    (1, 3, (5, 7), 5, (3, 3), 1, 1, (1, 1), 1),
    (1, 1, (9, 10), 8, (10, 4), 2, 1, (4, 1), 1),
    (1, 8, (5, 6), 1, (3, 3), 2, 1, (0, 1), 1),
    (1, 8, (5, 9), 2, (3, 3), 1, 2, (2, 2), 1),
    (1, 64, (3, 4), 4, (3, 3), 1, 1, (1, 1), 1),  # planes of two words
    (1, 12, (7,), 7, (5,), 2, 1, (2, 2), 1),
    (1, 12, (5, 5), 9, (3, 3), 1, 1, (1, 1), 3),
    (1, 9, (4, 5), 6, (3, 3), 1, 1, (1, 1), 3),
]
ROWS = [(1, 7, 5), (2, 64, 10), (1, 640, 8), (1, 1300, 4)]
POINTS = (0, 1, 100, 127, 255)


def of_nine_bits(entry: Case, seed: int, points: numpy.ndarray | int | None = None, unit: int = 1) -> Case:
    """The case with uint8 weights less their zero points, one of all outputs or (None) one of each; `unit` times as
    large, with scales `unit` times smaller, so that biases have fractions."""
    random, (data, weights, bias) = Randomness(seed), entry.view.inputs
    stored = numpy.clip(numpy.rint(random.numbers.normal(110, 40, weights.dims)), 0, 255)
    flat = stored.reshape(len(stored), -1)
    flat[:, 0], flat[:, -1] = 0, 255
    if points is None:
        points = random.numbers.integers(0, 256, (len(stored), *(1,) * (stored.ndim - 1)))
    scales = tuple(scale / unit for scale in weights.quantization.scales)
    wide = constant("w", (unit * (stored - points)).astype(numpy.int16), replace(weights.quantization, scales=scales))
    made = case(entry.view.operator, [data, wide, bias], entry.values[:1], quantization=entry.view.outputs[0].quantization)
    return Case(replace(made.view, objective=("balanced", "size", "speed")[seed % 3]), made.values)


@functools.cache
def layers() -> list[Case]:
    shapes = [*(int8_case(seed, *edge) for seed, edge in enumerate(EDGES)), *list(fc_cases(ROWS))[::3]]
    found = [of_nine_bits(entry, seed, points) for seed, entry in enumerate(shapes) for points in (None, POINTS[seed % 5])]
    found += [of_nine_bits(entry, seed, POINTS[seed % 5], unit=128) for seed, entry in enumerate(shapes)]
    return accepted([*found, *(Case(replace(entry.view, any_weights=True), entry.values) for entry in found[::2])])


@functools.cache
def fixed_layers() -> list[Case]:
    """Of the contract `double`."""
    return accepted([under_double(entry) for entry in layers()[::2]])


@needs_compiler
def test_layers_of_both_contracts_equal_their_meaning_whatever_their_zero_points_are():
    found = [*layers(), *fixed_layers()]
    taken = [entry for entry in found if "an offset for each channel" in entry.call.note]
    assert 3 * len(taken) > 2 * len(found)  # the sums of others need more bits
    kernels = {"pointwise_int8", "conv2d_lines_int8", "conv2d_planes_int8", "conv2d_grouped_int8", "fc_int8", "fc_rows_int8"}
    assert {entry.kernel.name for entry in taken} == kernels
    assert run(found, board=BOARD) == []


@needs_compiler
def test_so_do_those_without_an_fpu():
    assert run(without_fpu([*layers(), *fixed_layers()[::3]]), board=BOARD_WITHOUT_FPU) == []


def test_weights_take_a_byte_each_and_one_text_whatever_their_zero_points_are():
    for edge in (EDGES[0], EDGES[6]):
        plain = int8_case(1, *edge)
        found = []
        for point in POINTS:
            entry = of_nine_bits(plain, 0, point)
            found.append(Case(replace(entry.view, any_weights=True), entry.values).call)
        assert len({call.texts for call in found}) == 1 and found[0].facts["weights"] == "2 per halfword"
        (stream,) = (argument.values.nbytes for argument in found[0].arguments if isinstance(argument, Constant))
        assert stream < 1.1 * plain.view.inputs[1].elements + 100 * edge[3] // 4  # biases and factors
