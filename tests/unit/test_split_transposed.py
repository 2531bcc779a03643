# SPDX-License-Identifier: MIT
"""Transposed convolutions become convolutions and moves, with the same values."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.split_transposed import split_transposed
from tests.models import graph, same_meaning, types

RANDOM = numpy.random.default_rng(4)


VIEWS = ["Reshape", "Transpose", "Reshape"]
PER_CHANNEL = (2.0 ** numpy.array([-7, -6])).astype(numpy.float32)


def transposed(attributes, kernel, spatial=(4, 5), scales=numpy.float32(2.0**-7), zero_point=0, inputs=4, made=2, groups=1):
    """Scales are powers of two, so that the sums of float32 are exact, and rounded as those of integers."""
    axes = ",".join("?" * len(spatial))
    bias_scales = (numpy.float32(0.125) * (numpy.tile(scales, groups) if numpy.ndim(scales) else scales)).astype(numpy.float32)
    return graph(
        f"""xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=1>(w, sw, zw) bf = DequantizeLinear<axis=0>(b, sb, zb)
        a = ConvTranspose<{attributes}>(xf, wf, bf) y = QuantizeLinear(a, sy, zy)""",
        inputs=f"int8[2,{inputs},{','.join(map(str, spatial))}] x",
        outputs=f"int8[2,?,{axes}] y",
        constants={
            "sx": numpy.float32(0.125),
            "zx": numpy.int8(-5),
            "w": RANDOM.integers(-128, 128, (inputs, made, *kernel)).astype(numpy.int8),
            "sw": scales,
            "zw": numpy.full(numpy.shape(scales), zero_point, numpy.int8),
            "b": RANDOM.integers(-999, 999, made * groups).astype(numpy.int32),
            "sb": bias_scales,
            "zb": numpy.zeros(bias_scales.shape, numpy.int32),
            "sy": numpy.float32(0.5),
            "zy": numpy.int8(9),
        },
    )


@pytest.mark.parametrize(
    "attributes, kernel, moves",
    [
        ("strides=[2,2]", (2, 2), ["DepthToSpace"]),
        ("strides=[3,3]", (3, 3), ["DepthToSpace"]),
        ("strides=[2,2], pads=[1,1,1,1]", (4, 4), ["DepthToSpace", "Slice"]),
        ("strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]", (3, 3), ["DepthToSpace", "Slice"]),
        ("strides=[2,2], pads=[0,1,1,0]", (3, 5), ["DepthToSpace", "Slice"]),
        ("strides=[2,2]", (1, 3), ["DepthToSpace", "Slice"]),
        ("strides=[3,3], output_padding=[2,1]", (1, 2), ["DepthToSpace"]),
        ("strides=[1,1]", (3, 2), []),
        ("strides=[1,1], pads=[1,1,1,0]", (3, 2), ["Slice"]),
        ("strides=[2,3]", (2, 3), VIEWS),
        ("strides=[2,1], pads=[1,0,0,1]", (3, 4), [*VIEWS, "Slice"]),
        ("strides=[2]", (2,), VIEWS),
        ("strides=[4], pads=[2,2]", (8,), [*VIEWS, "Slice"]),
    ],
)
@pytest.mark.parametrize("scales, zero_point", [(numpy.float32(2.0**-7), 0), (PER_CHANNEL, 0), (numpy.float32(2.0**-7), 11)])
def test_a_quantized_transposed_convolution_is_a_convolution_of_integers_and_moves(attributes, kernel, moves, scales, zero_point):
    spatial = (4, 5)[: len(kernel)]
    before = transposed(attributes, kernel, spatial, scales=scales, zero_point=zero_point)
    after = simplify(before)
    assert types(after) == [f"Conv{len(kernel)}D", *moves]
    assert same_meaning(before, after)


@pytest.mark.parametrize(
    "attributes, kernel, spatial",
    [
        ("strides=[2,2], dilations=[2,2]", (2, 2), (4, 5)),
        ("strides=[2,2], pads=[0,0,3,3]", (2, 2), (4, 5)),
        ("strides=[2,2,2]", (2, 2, 2), (2, 3, 2)),
    ],
)
def test_other_transposed_convolutions_stay(attributes, kernel, spatial):
    view = transposed(attributes, kernel, spatial)
    assert types(split_transposed(view)) == types(view)


@pytest.mark.parametrize(
    "attributes, kernel, moves",
    [
        ("strides=[2,2], pads=[1,1,1,1]", (4, 4), ["DepthToSpace", "Slice"]),
        ("strides=[2,3]", (3, 3), [*VIEWS, "Slice"]),
        ("strides=[1,1]", (3, 2), []),
        ("strides=[4], pads=[2,2]", (8,), [*VIEWS, "Slice"]),
    ],
)
@pytest.mark.parametrize("scales, zero_point", [(PER_CHANNEL, 0), (numpy.float32(2.0**-7), 11)])
@pytest.mark.parametrize("inputs, made", [(6, 2), (3, 2), (3, 1)])
def test_the_phases_of_a_channel_are_neighbours_where_there_are_groups(
    attributes, kernel, moves, scales, zero_point, inputs, made
):
    scales = scales[:made] if numpy.ndim(scales) else scales
    before = transposed(f"group=3, {attributes}", kernel, (4, 5)[: len(kernel)], scales, zero_point, inputs, made, 3)
    after = simplify(before)
    depthwise = "DepthWise" if inputs == 3 and not moves and made == 1 else ""
    assert types(after) == [f"Conv{depthwise}{len(kernel)}D", *moves]
    assert same_meaning(before, after)


def in_float(attributes, kernel, inputs=3):
    constants = {"w": RANDOM.normal(size=(inputs, 2, *kernel)).astype(numpy.float32), "b": numpy.float32([0.5, -1])}
    axes = ",".join("?" * len(kernel))
    spatial = ",".join(map(str, (4, 5)[: len(kernel)]))
    text = f"y = ConvTranspose<{attributes}>(x, w, b)"
    return graph(text, inputs=f"float[1,{inputs},{spatial}] x", outputs=f"float[1,2,{axes}] y", constants=constants)


@pytest.mark.parametrize(
    "attributes, kernel, moves",
    [
        ("strides=[2,2]", (2, 2), ["DepthToSpace"]),
        ("strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]", (3, 3), ["DepthToSpace", "Slice"]),
        ("strides=[2,3]", (4, 3), VIEWS),
        ("strides=[4], pads=[2,2]", (8,), [*VIEWS, "Slice"]),
    ],
)
def test_one_of_floats_is_a_convolution_of_floats_and_moves(attributes, kernel, moves):
    before = in_float(attributes, kernel)
    after = simplify(before)
    assert types(after) == [f"Conv{len(kernel)}D", *moves]
    assert same_meaning(before, after)


def test_one_of_floats_stays_where_weights_of_zero_would_be_half_of_all_or_more():
    assert types(simplify(in_float("strides=[2,2]", (1, 3)))) == ["ConvTranspose2D"]
