# SPDX-License-Identifier: MIT
"""Sums, products and pools of `cortexm` against their numpy meaning, bit for bit."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace
from itertools import product

import pytest
from binary_cases import binaries, binary
from cortexm_harness import BOARD, PORTABLE, Case, accepted, built_for, case, run, taken
from harness import of_each_form, under
from helium_harness import RANDOM_CASES
from pool_cases import edge_pools, pool, random_pool
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.binary import Mul
from aidge_build.operators.pool import AvgPooling, MaxPooling
from aidge_build.operators.window import Window

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
FLAGS = (), ("-O3",), ("-Os", "-flto"), ("-O0",)


@functools.cache
def sums_and_products():
    return taken(binaries(case, 160))


@functools.cache
def pools():
    far_rows = pool(case, 3, AvgPooling, 1, 64, (4, 70), (3, 2), 1, 1, (0, 1))
    return taken(
        [
            far_rows,
            *edge_pools(case),
            *means_of_halves(),
            *narrow_pools(),
            *(random_pool(case, seed) for seed in range(4000, 4000 + RANDOM_CASES)),
        ]
    )


def calibrated_pool(seed, kind, channels, spatial, kernel, stride, dilation, pad, of_data, of_result):
    """A pool of two images whose results are not limited; `of_data`, `of_result`: scale and zero point."""
    random, rank = Randomness(seed), len(spatial)
    operator = kind(window=Window(kernel, (stride,) * rank, (dilation,) * rank, (pad,) * rank, (pad,) * rank))
    data = Tensor("x", (2, channels, *spatial), DType.int8, quantization=per_tensor(*of_data))
    return case(operator, [data], [random.int8(*data.dims)], quantization=per_tensor(*of_result))


def means_of_halves():
    """Of 2 and 4 values whose scale stays: zero points that stay, saturate below, and above."""
    shapes = (
        ((8, 9), (2, 2), 2),
        ((7, 5), (2, 2), 1),
        ((9, 7), (1, 2), 3),
        ((64,), (4,), 4),
        ((9, 6), (2, 1), 1),
        ((5, 5), (4, 1), 1),
    )
    zero_points = ((-128, -128), (3, 3), (-50, 40), (90, -20))
    return [
        calibrated_pool(seed, AvgPooling, (4, 7, 16)[seed % 3], *shape, 1, 0, *((0.0131, zero_point) for zero_point in pair))
        for seed, (shape, pair) in enumerate(product(shapes, zero_points), 1000)
    ]


def narrow_pools():
    """Of 1 to 3 channels: rows of an even and an odd number of windows, of the fewest that go together, and of fewer."""
    shapes = (
        *(((6, width), (2, 2), 2, 1) for width in (2, 3, 8, 13)),
        ((7, 16), (3, 3), 3, 1),
        ((9, 17), (2, 3), 4, 1),
        ((5, 10), (2, 2), 1, 1),
        ((4, 3), (3, 2), 1, 1),
        ((9, 11), (2, 2), 2, 2),
        ((40,), (2,), 2, 1),
    )
    kinds = ((AvgPooling, 0.0131), (AvgPooling, 0.02), (MaxPooling, 0.02))
    found = []
    for (seed, shape), channels in product(enumerate(shapes), (1, 2, 3)):
        kind, scale = kinds[(seed + channels) % 3]
        found.append(calibrated_pool(2000 + seed, kind, channels, *shape, 0, (0.02, 5), (scale, 5)))
    for seed, (kind, channels, stride) in enumerate(product((AvgPooling, MaxPooling), (1, 3), (1, 2))):
        scale = kinds[seed % 2][1] if kind is AvgPooling else 0.02
        found.append(calibrated_pool(2100 + seed, kind, channels, (7, 8), (3, 3), stride, 1, 1, (0.02, 5), (scale, 5)))
    return found


@functools.cache
def candidates():
    in_float = binary(case, 70, Mul, (1, 17, 1, 1), (1, 17, 1, 1), -1.0, 1.5)  # no integer form is proved
    return [in_float, *sums_and_products(), *pools()]


@needs_compiler
@pytest.mark.parametrize("flags", [*FLAGS, PORTABLE], ids=lambda flags: " ".join(flags) or "usual")
def test_pools_equal_the_meaning_on_the_emulated_core(flags):
    cases = pools()
    assert len({entry.call.function for entry in cases}) >= 5 and len(cases) > 30
    assert run(under(flags, of_each_form(cases)), *flags, board=BOARD) == []


@needs_compiler
@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: " ".join(flags) or "usual")
def test_sums_and_products_equal_the_meaning_on_the_emulated_core(flags):
    cases = sums_and_products()
    kernels = {entry.kernel.name for entry in cases}
    assert len(cases) > 100 and kernels == {"add_int8", "mul_channels_int8", "mul_int8", "mul_factor_int8"}
    assert run(under(flags, cases), *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    assert run(of_each_form(candidates()), *STRICT, board="host") == []


def test_means_of_windows_inside_the_image_are_unrolled_where_that_is_short():
    def functions(objective):
        return [entry.call.function for entry in accepted([built_for(entry, objective) for entry in edge_pools(case)])]

    assert sum("_avgpool2d_int8_" in name for name in functions("balanced")) > 5
    assert not any("_avgpool2d_int8_" in name for name in functions("size"))


def test_means_of_2_and_4_values_whose_scale_stays_are_shifted_sums():
    found = accepted(means_of_halves())
    assert {entry.kernel.name for entry in found} == {"avgpool2d_int8"} and all(
        "_halves_" in entry.call.function for entry in found
    )
    assert {entry.call.function.endswith("_saturated") for entry in found} == {False, True}
    others = {replace(entry.view.outputs[0], quantization=per_tensor(0.0132, 3)): entry for entry in found}
    assert not any(
        "_halves_" in Case(replace(entry.view, outputs=(output,)), entry.values).call.function for output, entry in others.items()
    )


def test_windows_that_edges_cut_have_their_taps_in_the_text_where_that_is_short():
    def functions(kind, kernel, pads, **fields):
        cases = [pool(case, seed, kind, 1, 8, (9, 9), kernel, 1, 1, (pads, pads), **fields) for seed in range(6)]
        return {entry.call.function for entry in accepted(cases)}

    assert any(name.endswith("_2x2_2x3_3x2") for name in functions(MaxPooling, (3, 3), 1))
    assert any("_2x2_halves_2x3_3x2" in name for name in functions(AvgPooling, (3, 3), 1, scale=0.1))
    assert any(
        name.endswith("_2x2_counted_2x3_counted_3x2_counted")
        for name in functions(AvgPooling, (3, 3), 1, scale=0.1, count_include_pad=True)
    )
    assert not any("_4x" in name for name in functions(MaxPooling, (5, 5), 2))


def test_few_channels_have_their_windows_in_the_text():
    found = accepted(narrow_pools())
    names = [entry.call.function for entry in found]
    assert len(found) == len(narrow_pools())
    assert {entry.kernel.name for entry in found} == {"avgpool2d_int8", "maxpool2d_int8"}
    assert all(sum(f"_c{channels}" in name for name in names) > 4 for channels in (1, 2, 3))
    assert accepted([built_for(entry, "size") for entry in found]) == []


def test_maxima_of_windows_inside_the_image_are_unrolled_where_nothing_limits_them():
    def is_limited(entry) -> bool:
        operator, (output,) = entry.view.operator, entry.view.outputs
        return clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype) != output.dtype.range

    found = [entry for entry in pools() if entry.kernel.name == "maxpool2d_int8"]
    unrolled = [entry for entry in found if "_maxpool2d_int8_" in entry.call.function]
    assert len(unrolled) > 3
    assert any(map(is_limited, found)) and not any(map(is_limited, unrolled))
