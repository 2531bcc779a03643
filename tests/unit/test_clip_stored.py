# SPDX-License-Identifier: MIT
"""Clip of stored integers, as quantizations of fewer bits are written: constants are folded, and clamps reach the layers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.clip_stored import clip_stored
from tests.models import graph, same_meaning, types

RANDOM = numpy.random.default_rng(4)
F = numpy.float32


def clipped(low, high, dtype=numpy.int8, scale=F(0.0517), zero_point=3, output="float[2,50] y", last="DequantizeLinear(c, s, z)"):
    type_name = numpy.dtype(dtype).name
    return graph(
        f"q = QuantizeLinear(x, s, z) c = Clip(q, low, high) y = {last}",
        inputs="float[2,50] x",
        outputs=output.replace("TYPE", type_name),
        constants={"s": scale, "z": dtype(zero_point), "low": dtype(low), "high": dtype(high)},
    )


@pytest.mark.parametrize(
    "low, high, dtype, zero_point",
    [
        (-127, 127, numpy.int8, 0),
        (-8, 7, numpy.int8, 0),
        (5, 90, numpy.int8, 3),
        (1, 254, numpy.uint8, 128),
    ],
)
def test_a_clip_behind_quantize_becomes_one_of_real_numbers(low, high, dtype, zero_point):
    before = clipped(low, high, dtype, zero_point=zero_point)
    after = clip_stored(before)
    assert types(after) == ["QuantizeLinear", "DequantizeLinear", "Clip", "QuantizeLinear", "DequantizeLinear"]
    assert same_meaning(before, after)
    operator = after.nodes[2].operator
    assert (operator.minimum, operator.maximum) == tuple(float(F(end - zero_point) * F(0.0517)) for end in (low, high))


@pytest.mark.parametrize("low, high", [(-128, 127), (-126, 127), (-128, 126)])
def test_a_clip_at_the_ends_of_the_type_changes_nothing(low, high):
    before = clipped(low, high)
    after = clip_stored(before)
    assert ("Clip" in types(after)) == ((low, high) != (-128, 127)) and same_meaning(before, after)


def test_bounds_in_the_wrong_order_give_the_higher_one_as_before():
    before = clipped(20, -20)
    assert same_meaning(before, simplify(before))


def test_a_scale_whose_multiples_are_hardly_floats_keeps_its_meaning():
    before = clipped(-8, 7, scale=F(1e-45), zero_point=0)
    assert same_meaning(before, clip_stored(before))


def test_a_graph_output_and_a_clip_of_floats_stay():
    before = clipped(-8, 7, output="TYPE[2,50] y", last="Clip(c, low, high)")
    assert types(clip_stored(before))[-1] == "Clip"
    floats = graph(
        "y = Clip(x, low, high)",
        inputs="float[2,50] x",
        outputs="float[2,50] y",
        constants={"low": F(-1), "high": F(2)},
    )
    assert types(clip_stored(floats)) == ["Clip"]


def test_scales_of_several_channels_stay():
    before = graph(
        "q = QuantizeLinear<axis=0>(x, s, z) c = Clip(q, low, high) y = DequantizeLinear<axis=0>(c, s, z)",
        inputs="float[2,50] x",
        outputs="float[2,50] y",
        constants={"s": F([0.5, 0.25]), "z": numpy.int8([0, 0]), "low": numpy.int8(-8), "high": numpy.int8(7)},
    )
    assert types(clip_stored(before)) == types(before)


def test_a_layer_whose_weights_and_output_have_seven_levels_is_computed_in_integers():
    before = graph(
        """xq = QuantizeLinear(x, s, z) xc = Clip(xq, low, high) xf = DequantizeLinear(xc, s, z)
        wq = QuantizeLinear(w, sw, z) wc = Clip(wq, low, high) wf = DequantizeLinear(wc, sw, z)
        a = Conv(xf, wf) q = QuantizeLinear(a, s, z) c = Clip(q, low, high) y = DequantizeLinear(c, s, z)""",
        inputs="float[1,4,6,6] x",
        outputs="float[1,5,?,?] y",
        constants={
            "s": F(0.17),
            "sw": F(0.05),
            "z": numpy.int8(0),
            "low": numpy.int8(-7),
            "high": numpy.int8(7),
            "w": RANDOM.normal(0, 0.2, (5, 4, 3, 3)).astype(F),
        },
    )
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Clip", "Conv2D", "DequantizeLinear"] and same_meaning(before, after)
    convolution = after.nodes[2]
    assert abs(after.tensor(convolution.inputs[1]).data).max() == 7
    assert (convolution.operator.minimum, convolution.operator.maximum) == (float(F(-7) * F(0.17)), float(F(7) * F(0.17)))
