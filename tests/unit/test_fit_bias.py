# SPDX-License-Identifier: MIT
"""Biases that the file states in float, or in other units than the integer sums have: the layer stays one of integers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from tests.models import graph, same_meaning, types

F = numpy.float32


def layer(bias, scale=None, zero_point=None, sx=0.05, sw=(0.01, 0.0173), sy=0.3, after="", weights=None, stored="int8"):
    """A quantized layer of one input channel and two outputs, on all 256 values of the input."""
    dequantized = "" if scale is None else f"bf = DequantizeLinear<axis=0>(b, sb{', zb' if zero_point is not None else ''})"
    weights = numpy.array([[[[93]]], [[[-127]]]], numpy.int8) if weights is None else weights
    return graph(
        f"""xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) {dequantized}
        a = Conv(xf, wf, {"b" if scale is None else "bf"}) {after or "c = Identity(a)"} y = QuantizeLinear(c, sy, zy)""",
        inputs="int8[1,1,16,16] x",
        outputs=f"{stored}[1,2,16,16] y",
        constants={
            "sx": F(sx),
            "zx": numpy.int8(3),
            "w": weights,
            "sw": numpy.array(sw, F),
            "zw": numpy.zeros(2, numpy.int8),
            "b": bias,
            **({"sb": scale} if scale is not None else {}),
            **({"zb": zero_point} if zero_point is not None else {}),
            "sy": F(sy),
            "zy": numpy.array(-7, stored),
        },
        opset=21,
    )


def all_values(view):
    return cpu.run(view, {"x": numpy.arange(-128, 128).astype(numpy.int8).reshape(1, 1, 16, 16)})["y"].astype(int)


def exact_values(bias, sx=0.05, sw=(0.01, 0.0173), sy=0.3):
    """The real number, rounded once; and how far from the middle between two levels it lies."""
    x = (numpy.arange(-128, 128) - 3).reshape(1, 1, 16, 16) * numpy.float64(F(sx))
    w = numpy.array([93, -127]).reshape(1, 2, 1, 1) * numpy.array(sw, F).astype(numpy.float64).reshape(1, 2, 1, 1)
    levels = (x * w + bias.astype(numpy.float64).reshape(1, 2, 1, 1)) / numpy.float64(F(sy)) - 7
    return numpy.clip(numpy.rint(levels), -128, 127).astype(int), numpy.abs(levels - numpy.floor(levels) - 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_a_float_bias_gives_every_value_that_real_numbers_give(seed):
    random = numpy.random.default_rng(seed)
    bias = random.normal(size=2).astype(F) * F(10.0 ** random.integers(-4, 2))
    after = simplify(layer(bias))
    assert types(after) == ["Conv2D"]
    wanted, distance = exact_values(bias)
    found = all_values(after)
    assert (found == wanted)[distance > 1e-4].all() and numpy.abs(found - wanted).max() <= 1


@pytest.mark.parametrize("relative", [1e-7, 1e-6, 1e-5, 1e-4, 0.5])
def test_a_bias_in_other_units_keeps_the_layer_in_integers(relative):
    scales = {"sx": 0.0511, "sw": (0.0131, 0.0173)}  # which put no sum in the middle between two levels
    stated = (F(scales["sx"]) * numpy.array(scales["sw"], F) * F(1 + relative)).astype(F)
    before = layer(numpy.array([7311, -20480], numpy.int32), stated, **scales)
    after = simplify(before)
    assert types(after) == ["Conv2D"] and same_meaning(before, after)


def test_a_bias_of_bytes_with_a_zero_point_becomes_int32():
    before = layer(numpy.array([-5, 77], numpy.int8), numpy.array([0.01, 0.02], F), numpy.array([3, -2], numpy.int8))
    after = simplify(before)
    assert types(after) == ["Conv2D"] and same_meaning(before, after)


@pytest.mark.parametrize(("whole", "stored"), [((7311, -20480), "int8"), ((1_731_100, -2_048_000), "int16")])
def test_whole_units_in_float_leave_the_weights_as_they_are(whole, stored):
    """An int16 output shows any fraction: only the rounding of float32, up to a sixteenth of these units, is left out."""
    units = numpy.float64(F(0.05)) * numpy.array((0.01, 0.0173), F)
    after = simplify(layer((whole * units).astype(F), stored=stored))
    _, weights, bias = (after.tensor(name) for name in after.nodes[0].inputs)
    assert weights.dtype is DType.int8 and tuple(bias.data) == whole


def test_a_fraction_that_no_sum_can_show_is_left_out():
    bias = (numpy.array([100.4, -3.3]) * numpy.float64(F(0.05)) * numpy.array((0.01, 0.0173), F)).astype(F)
    before = layer(bias, sy=2.0**20)  # whatever is added up, the result is the zero point
    _, weights, fitted = (simplify(before).tensor(name) for name in simplify(before).nodes[0].inputs)
    assert weights.dtype is DType.int8 and fitted.data.tolist() == [100, -3]


def test_a_fraction_that_shows_is_kept_in_finer_units():
    """With scales of powers of two sums lie in the middle between two levels: half a unit decides."""
    for fraction in (0.25, -0.25, 2.0**-9, -(2.0**-9)):
        bias = numpy.array([fraction, fraction], F) * F(2.0**-10)
        before = layer(bias, sx=2.0**-5, sw=(2.0**-5, 2.0**-5), sy=2.0**-4)
        after = simplify(before)
        assert types(after) == ["Conv2D"] and after.tensor(after.nodes[0].inputs[1]).dtype is DType.int16
        wanted, _ = exact_values(bias, 2.0**-5, (2.0**-5, 2.0**-5), 2.0**-4)
        assert (all_values(after) == wanted).all() and same_meaning(before, after)


def test_a_bias_that_int32_does_not_hold_leaves_the_layer_in_float():
    assert "QuantizeLinear" in types(simplify(layer(numpy.array([1.0, 3e7], F))))
    assert "QuantizeLinear" in types(simplify(layer(numpy.array([1.0, numpy.nan], F))))
    for units, kind in ((2.0**31, "QuantizeLinear"), (2.0**31 - 2**7, "Conv2D")):
        assert types(simplify(layer(numpy.array([units, 0], F) * F(2.0**-10), sx=2.0**-5, sw=(2.0**-5, 1)))).pop() == kind


def test_a_clamp_between_layer_and_quantization_counts():
    bias = numpy.array([0.123, -0.456], F)
    before = layer(bias, after="c = Relu(a)")
    after = simplify(before)
    wanted, distance = exact_values(bias)
    assert (all_values(after) == numpy.maximum(wanted, -7))[distance > 1e-4].all() and types(after) == ["Conv2D"]


def weights_of_a_wide_layer(inputs: int, bias: float = 0.5, zero_point: int = 0, largest: int = 127, kind: str = "int8"):
    """(their type, the factor that made them finer) of a fully connected layer with so many inputs."""
    constants = {
        "s": F(2.0**-5),
        "z": numpy.int8(0),
        "w": numpy.full((inputs, 1), largest, kind),
        "zw": numpy.array(zero_point, kind),
        "b": numpy.array([bias * 2.0**-10], F),
        "sy": F(2.0**-4),
    }
    nodes = "xf = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s, zw) a = Gemm(xf, wf, b) y = QuantizeLinear(a, sy, z)"
    after = simplify(graph(nodes, inputs=f"int8[1,{inputs}] x", outputs="int8[1,1] y", constants=constants, opset=21))
    weights = after.tensor(after.nodes[0].inputs[1])
    return weights.dtype, int(numpy.abs(weights.data.astype(int)).max()) // abs(largest - zero_point)


@pytest.mark.parametrize("inputs, factor", [(1024, 2**7), (1040, 2**6), (33_000, 4), (34_000, 2), (66_000, 2), (67_000, 1)])
def test_weights_get_as_fine_as_int32_sums_allow(inputs, factor):
    assert weights_of_a_wide_layer(inputs) == (DType.int16 if factor > 1 else DType.int8, factor)


@pytest.mark.parametrize(("bias", "factor"), [(1021.5, 2**7), (1022.5, 2**6)])
def test_the_sums_of_the_finest_weights_and_the_next_whole_bias_stay_below_2_to_the_31(bias, factor):
    """The largest sum without bias is 1032 * 128 * 127, which is 1024 less than 2^24."""
    assert weights_of_a_wide_layer(1032, bias) == (DType.int16, factor)


@pytest.mark.parametrize(
    ("kind", "largest", "zero_point", "factor"),
    [("int8", 127, -128, 2**7), ("int16", 511, 0, 2**6), ("int16", 512, 0, 2**5), ("int16", -512, 0, 2**6)],
)
def test_weights_get_as_fine_as_int16_allows(kind, largest, zero_point, factor):
    assert weights_of_a_wide_layer(10, 0.5, zero_point, largest, kind) == (DType.int16, factor)
