# SPDX-License-Identifier: MIT
"""Layers with bytes of a run-time zero point, and QuantizeLinear, of `cortexm` against their numpy meaning; tests/target has them
bit for bit."""

from __future__ import annotations

import shutil

import numpy
import pytest
from cortexm_harness import BOARD, accepted, case, run
from dynamic_cases import convolution, dynamic_layers, measured_cases
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import constant
from aidge_build.operators.quantize import QuantizeLinear

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
DEPTHWISE = [
    (1, 8, (6, 9), 8, (3, 3), 1, 1, (1, 1), 8),
    (2, 13, (7, 6), 13, (3, 3), 2, 1, (0, 1), 13),
    (1, 5, (9, 12), 5, (5, 4), 2, 1, (2, 1), 5),
    (1, 4, (24, 50), 4, (3, 3), 1, 1, (1, 1), 4),
    (1, 6, (5, 7), 6, (3, 3), 1, 2, (2, 2), 6),
    (1, 68, (2, 4), 68, (3, 3), 1, 1, (1, 1), 68),
    (1, 1028, (1, 2), 1028, (1, 2), 1, 1, (0, 1), 1028),
    (1, 7, (19,), 7, (5,), 1, 1, (4, 0), 7),
    (1, 4, (7, 8), 4, (3, 3), 3, 1, (1, 1), 4),
    (1, 4, (8, 11), 4, (3, 7), (1, 3), 1, (1, 1), 4),  # columns that would be rows in a layer of int8
]

WINDOWS = [  # runs of 1, 2 and 3 bytes more than a multiple of 4; inside the image and beyond its edges
    (1, 3, (7, 8), 5, (3, 3), 1, 1, (1, 1), 1),
    (2, 5, (9, 6), 4, (3, 3), 2, 1, (1, 0), 1),
    (1, 2, (6, 7), 6, (3, 3), 1, 1, (0, 1), 1),
    (1, 11, (11,), 4, (3,), 1, 1, (1, 1), 1),
    *((2, channels, (3, 3), 6, (1, 1), 1, 1, (0, 0), 1) for channels in (5, 7, 9, 10, 24)),
    (2, 1, (7, 6), 6, (5, 5), 1, 1, (2, 2), 1),
    (1, 2, (4, 2), 5, (4, 6), 3, 1, (3, 4), 1),
]
SHORT_RUNS = [  # 3 bytes or fewer
    (1, 1, (8, 9), 6, (3, 3), 1, 1, (1, 1), 1),
    (2, 1, (9, 7), 5, (3, 2), 2, 1, (1, 0), 1),
    (2, 1, (5, 5), 9, (2, 3), 1, 1, (0, 0), 1),
    (1, 1, (13,), 4, (3,), 1, 1, (1, 1), 1),
    (2, 2, (6, 5), 7, (4, 1), 1, 1, (2, 1), 1),
    (1, 1, (7, 4), 8, (5, 1), 3, 1, (0, 2), 1),
    *((2, channels, (3, 3), 5, (1, 1), 1, 1, (0, 0), 1) for channels in (1, 2, 3)),
]
FEW_OUTPUTS = [  # by pixels, windows and lines
    (1, 8, (7, 5), 3, (1, 1), 1, 1, (0, 0), 1),
    (2, 6, (4, 4), 2, (1, 1), 1, 1, (0, 0), 1),
    (1, 4, (6, 7), 1, (3, 3), 1, 1, (1, 1), 1),
    (2, 40, (4, 3), 3, (3, 3), 1, 1, (1, 1), 1),
    (1, 1, (5, 6), 2, (3, 3), 1, 1, (1, 1), 1),
    (1, 5, (9, 9), 3, (3, 3), 2, 2, (2, 2), 1),
]
GROUPED = [
    (1, 12, (5, 7), 18, (1, 1), 1, 1, (0, 0), 3),
    (2, 10, (4, 4), 12, (1, 1), 1, 1, (0, 0), 2),
    (1, 16, (3, 4), 12, (1, 1), 1, 1, (0, 0), 2),
    (1, 16, (3, 4), 24, (1, 1), 1, 1, (0, 0), 2),
    (1, 8, (7, 6), 10, (3, 3), 1, 1, (1, 1), 2),
    (2, 15, (5, 6), 9, (3, 2), 2, 1, (1, 0), 3),
    (1, 6, (6, 5), 6, (3, 3), 1, 1, (1, 1), 3),
    (1, 4, (9, 5), 8, (3, 3), 2, 1, (0, 1), 4),
    (1, 16, (19,), 24, (5,), 1, 1, (2, 2), 2),
    (1, 220, (3, 3), 8, (3, 3), 1, 1, (1, 1), 2),
    (1, 8, (9, 9), 8, (3, 3), 1, 2, (1, 0), 2),
]
SMALL = [*WINDOWS, *SHORT_RUNS, *FEW_OUTPUTS, *GROUPED]


def candidates():
    yield from dynamic_layers(case)
    yield from (convolution(case, place + 1, edge, place % 4 == 1) for place, edge in enumerate(DEPTHWISE))
    yield from (convolution(case, 2 * place + turn, edge, turn == 1) for turn in range(2) for place, edge in enumerate(SMALL))
    yield from measured_cases(case)
    for seed, (rows, count) in enumerate([(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (2, 1), (2, 4), (2, 31)]):
        random = Randomness(seed)
        numbers = constant("s", numpy.array(0.05, numpy.float32)), constant("z", numpy.array(-3 * seed, numpy.int8))
        values = random.float32(rows, count) * 5
        yield case(QuantizeLinear(0, DType.int8), [random.real(rows, count), *numbers], [values])


def test_numbers_behind_a_clamp_have_no_lowest_to_look_for():
    names = {entry.call.function.split("_to_")[0] for entry in measured_cases(case)}
    assert names == {f"aidge_cortexm_dynamic_quantize{kind}" for kind in ("", "_above_0")}


def test_depthwise_layers_are_gathered_into_planes_of_pixels_where_strides_are_short():
    def functions(stride):
        edges = [(1, 8, (7, 9), 8, (3, 3), stride, 1, (1, 1), 8), (1, 7, (5, 6), 7, (5, 4), stride, 1, (2, 2), 7)]
        return [convolution(case, seed, edge).call.function for seed, edge in enumerate(edges)]

    for stride in (1, 2):
        assert [name.split("_w")[0] for name in functions(stride)] == [
            f"aidge_cortexm_dynamic_uint8_8x{-(-9 // stride)}_k3x3_s{stride}x{stride}d1",
            f"aidge_cortexm_dynamic_uint8_7x{7 // stride + stride // 2}_k5x4_s{stride}x{stride}d1",
        ]
    assert all(name.startswith("aidge_cortexm_dynamic_channels") for name in functions(3))


def test_groups_of_channels_are_layers_of_their_own():
    names = [convolution(case, place, edge).call.function for place, edge in enumerate(GROUPED)]
    assert [name.split("_of_")[1].split("x")[0] for name in names] == [str(edge[-1]) for edge in GROUPED]
    assert ["_pixels_" in name for name in names] == [edge[4] == (1, 1) for edge in GROUPED]


def test_a_row_that_is_read_as_it_lies_has_no_second_pixel_beside_it():
    names = [entry.call.function for entry in accepted(list(dynamic_layers(case)))]
    assert sum("_row" in name for name in names) == 8, names


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert run(list(candidates()), "-Os", board=BOARD) == []
