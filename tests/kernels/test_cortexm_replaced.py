# SPDX-License-Identifier: MIT
"""Layers of `cortexm` whose weights may be replaced: one text whatever the biases and scales are, right to the bit."""

from __future__ import annotations

import functools
import math
import os
import shutil
from dataclasses import replace

import numpy
import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, accepted, built_for, case, run, without_fpu
from harness import under_double
from random_tensors import Randomness

from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
LIMITS = ((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.5))
OUTPUTS, SCALE = 9, 0.05
# channels, spatial, kernel: from pixels as they are, from lines, from planes; and a row
SHAPES = ((16, (3, 3), (1, 1)), (8, (3, 4), (3, 3)), (3, (5, 7), (3, 3)), (24, (), ()))
KINDS = ("usual", "nearly constant", "steep")
STRESS = "AIDGE_STRESS" in os.environ


def layer(shape: int, kind: str, seed: int, outputs: int = OUTPUTS) -> Case:
    """A layer of which every third output channel, beside each other in one pair, too, has levels that change once or twice
    beneath a bias of up to 2^30 (`nearly constant`), or levels far beyond 16 bits (`steep`)."""
    channels, spatial, kernel = SHAPES[shape]
    random = Randomness(seed)
    window = Window(kernel, (1,) * len(kernel), (1,) * len(kernel), *[tuple(size // 2 for size in kernel)] * 2)
    low, high = LIMITS[seed % 3]
    operator = Conv(minimum=low, maximum=high, window=window, groups=1) if kernel else FC(minimum=low, maximum=high)
    data = random.data(1, channels, *spatial)
    values = numpy.maximum(random.int8(outputs, channels, *kernel), -127)
    scales = numpy.full(outputs, 0.01)
    biases = random.numbers.integers(-3000, 3000, outputs)
    output = per_tensor(SCALE * 0.01 * 50 * math.sqrt(values[0].size), random.choice(0, -128, 3))
    special = random.numbers.permutation(outputs)[: outputs // 2] if kind != "usual" else []
    for number, channel in enumerate(special):
        if kind == "steep":
            scales[channel] = 30.0
        else:
            level = (11.5, 40.5, -20.5, 90.5)[number]
            biases[channel] = ((1 << 30) - 5, (1 << 24) + 3, 1 << 27, 1 << 29)[number] * (-1 if level < 0 else 1)
            scales[channel] = level * output.scales[0] / (data.quantization.scales[0] * abs(biases[channel]))
            scales[channel] = abs(scales[channel])
    quantization = Quantization(tuple(map(float, scales)), (0,) * outputs, 0)
    inputs = [data, constant("w", values, quantization), constant("b", biases.astype(numpy.int32))]
    made = case(operator, inputs, [random.int8(*data.dims)], quantization=output)
    return type(made)(replace(made.view, any_weights=True), made.values)


@functools.cache
def layers(kinds=KINDS) -> list[Case]:
    seeds = range(9 if STRESS else 2)
    return [layer(shape, kind, shape + seed) for shape in range(len(SHAPES)) for kind in kinds for seed in seeds]


@functools.cache
def fixed_layers() -> list[Case]:
    """Of the contract `double`."""
    return accepted([under_double(entry) for entry in layers(KINDS[:2])])


@needs_compiler
def test_layers_of_both_contracts_equal_their_meaning_whatever_their_biases_and_scales_are():
    cases, fixed = layers(), fixed_layers()
    assert sum("two weights per halfword" in entry.call.note for entry in cases) == len(cases)
    assert len(fixed) > len(SHAPES)
    assert run([*cases, *fixed], board=BOARD) == []


@needs_compiler
def test_so_do_those_without_an_fpu():
    assert run(without_fpu(layers()), board=BOARD_WITHOUT_FPU) == []


@needs_compiler
def test_so_do_rows_and_pixels_of_few_outputs_with_one_text_for_each_number_of_them():
    cases = [layer(shape, kind, outputs, outputs) for shape in (0, 3) for outputs in (1, 2, 3) for kind in KINDS[:2]]
    assert len({(entry.call.function, entry.call.texts) for entry in cases}) == 6
    fixed = accepted([under_double(entry) for entry in cases[::3]])
    assert run([*cases, *fixed], board=BOARD) == []


@needs_compiler
def test_so_do_layers_of_whole_groups_of_outputs_whose_factors_are_to_be_short():
    cases = [built_for(layer(shape, kind, 3, 8), "size") for shape in range(len(SHAPES)) for kind in KINDS]
    assert {entry.call.facts["weights"] for entry in cases} == {"2 per halfword"}
    assert run(cases, board=BOARD) == []


def test_weights_of_the_whole_range_take_one_text_wherever_the_least_one_stands():
    made, values = layer(3, "usual", 1), numpy.ones((OUTPUTS, 24), numpy.int8)
    values[1:3, 5] = -1
    for place in ((3, 5), (3, 6), (2, 5)):  # the first one fits no halfword with a neighbour below 0
        weights = values.copy()
        weights[place] = -128
        inputs = [made.view.inputs[0], constant("w", weights, made.view.inputs[1].quantization), made.view.inputs[2]]
        entry = Case(replace(made.view, inputs=tuple(inputs)), made.values)
        assert entry.call.note.startswith("int8 weights")
        once = Case(replace(entry.view, any_weights=False), made.values)
        assert once.call.note.startswith("int8 weights" if place == (3, 5) else "two weights per halfword")


def test_one_text_serves_every_bias_and_scale():
    for shape in range(len(SHAPES)):
        for seed in range(3):
            found = [layer(shape, kind, seed).call for kind in KINDS]
            assert found[0].function == found[1].function == found[2].function
            assert found[0].texts == found[1].texts == found[2].texts
