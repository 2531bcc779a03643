# SPDX-License-Identifier: MIT
"""A Resize of plain 8-bit integers: the layers around it compute on bytes, and its own values are those of plain integers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.byte_reals import byte_reals
from tests.models import graph, same_meaning, types

BYTES = [numpy.int8, numpy.uint8]


def quantized(dtype, text, **constants):
    """A convolution, then `text`, of stored values a."""
    zero_point = dtype(-9 if dtype is numpy.int8 else 121)
    return graph(
        f"q = QuantizeLinear(x, s, z) a = QLinearConv(q, s, z, w, sw, w0, s, z) {text}",
        inputs="float[1,4,6,6] x",
        outputs="float[1,4,?,?] y" if "DequantizeLinear" in text else "int64[1,1,?,?] y",
        constants={
            "s": numpy.float32(0.25),
            "z": zero_point,
            "w": (numpy.arange(-8, 8) * 9).astype(numpy.int8).reshape(4, 4, 1, 1),
            "sw": numpy.float32(0.02),
            "w0": numpy.int8(0),
            **constants,
        },
    )


def by(*scales):
    return numpy.array([1, 1, *scales], numpy.float32)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("scales", [(2, 2), (3, 1), (4, 0.5)])
def test_convolutions_on_both_sides_of_a_linear_resize_of_stored_values_compute_on_bytes(dtype, scales):
    before = quantized(
        dtype,
        'r = Resize<mode="linear">(a, , by) o = QLinearConv(r, s, z, w, sw, w0, s, z) y = DequantizeLinear(o, s, z)',
        by=by(*scales),
    )
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Conv2D", "Restated", "Resize", "Restated", "Conv2D", "DequantizeLinear"]
    assert same_meaning(before, after)


@pytest.mark.parametrize("dtype", BYTES)
def test_a_search_behind_a_resize_of_stored_values_keeps_it_on_bytes(dtype):
    before = quantized(dtype, 'r = Resize<mode="linear">(a, , by) y = ArgMax<axis=1>(r)', by=by(2, 2))
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Conv2D", "Restated", "Resize", "ArgMax"]
    assert after.tensor(after.nodes[-1].inputs[0]).quantization is not None
    assert same_meaning(before, after)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("size", [1, 4, 7, 10, 16, 20])
def test_a_resize_of_plain_bytes_gives_the_same_in_floats_and_in_integers(dtype, coordinates, size):
    before = graph(
        f'y = Resize<mode="linear", coordinate_transformation_mode="{coordinates}">(x, , , sizes)',
        inputs=f"{dtype.__name__}[64,8,8] x",
        outputs=f"{dtype.__name__}[64,{size},16] y",
        constants={"sizes": numpy.array([64, size, 16])},
    )
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    x = numpy.random.default_rng(size).integers(low, high + 1, (64, 8, 8)).astype(dtype)
    expected = cpu.run(before, {"x": x})["y"]
    for after in (byte_reals(before), simplify(before)):
        assert numpy.array_equal(cpu.run(after, {"x": x})["y"], expected)


@pytest.mark.parametrize(
    "mode, scales",
    [
        ("linear", (6, 6)),  # twelfths, whose sums may lie in the middle between two levels
        ("linear", (3.7, 1)),  # fractions over no small number
        ("cubic", (2, 2)),  # more places than float32 has
    ],
)
def test_a_resize_whose_ties_depend_on_the_order_of_its_sums_stays_on_plain_integers(mode, scales):
    before = graph(
        f'y = Resize<mode="{mode}">(x, , by)',
        inputs="int8[1,1,6,6] x",
        outputs="int8[1,1,?,?] y",
        constants={"by": by(*scales)},
    )
    assert types(byte_reals(before)) == ["Resize"]


@pytest.mark.parametrize(
    "scales, resizes",
    [((27, 37), True), ((25, 41), False), ((256, 256), True), ((512, 256), False), ((2, 3), False), ((1.1, 1), False)],
)
def test_the_denominator_of_a_resize_of_bytes_is_a_power_of_two_or_odd_and_not_too_large(scales, resizes):
    """A scale of 1.1 is none in float32: its weights are nearly elevenths."""
    before = graph(
        'y = Resize<mode="linear", coordinate_transformation_mode="asymmetric">(x, , by)',
        inputs="uint8[1,1,2,2] x",
        outputs="uint8[1,1,?,?] y",
        constants={"by": by(*scales)},
    )
    assert (byte_reals(before) is not before) == resizes


def test_a_resize_of_values_whose_meaning_the_tensors_state_stays():
    rewrite = Rewrite(
        graph(
            'y = Resize<mode="linear">(x, , by)', inputs="int8[1,1,6,6] x", outputs="int8[1,1,?,?] y", constants={"by": by(2, 2)}
        )
    )
    for name in ("x", "y"):
        rewrite.update_tensor(name, quantization=Quantization((0.5,), (3,)))
    before = rewrite.finish()
    assert byte_reals(before) is before
