# SPDX-License-Identifier: MIT
"""uint8 tensors become int8 ones: where it applies, what keeps its type, and that the meaning stays."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.dtype import DType
from aidge_build.operators.flip_sign import flipped
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.signed_tensors import signed_tensors
from tests.models import graph, same_meaning, types

RANDOM = numpy.random.default_rng(2)


def convolution(weights: numpy.ndarray, zero_points, inputs="uint8[1,3,6,7] x", outputs="uint8[1,4,6,7] y", between: str = ""):
    scales = numpy.linspace(0.01, 0.02, 4).astype(numpy.float32)
    return graph(
        f"""xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) a = Conv<pads=[1,1,1,1]>(xf, wf)
        {between or "y = QuantizeLinear(a, sy, zy)"}""",
        inputs=inputs,
        outputs=outputs,
        constants={
            "sx": numpy.float32(0.05),
            "zx": numpy.uint8(120),
            "w": weights,
            "sw": scales,
            "zw": numpy.array(zero_points, weights.dtype),
            "sy": numpy.float32(0.1),
            "zy": numpy.uint8(128),
        },
    )


def unsigned_weights(low: int = 0, high: int = 256) -> numpy.ndarray:
    return RANDOM.integers(low, high, (4, 3, 3, 3)).astype(numpy.uint8)


def test_graph_inputs_and_outputs_keep_their_type_and_everything_between_is_int8():
    before = convolution(unsigned_weights(), [128] * 4)
    after = simplify(before)
    assert types(after) == ["FlipSign", "Conv2D", "FlipSign"]
    assert after.tensor("x").dtype is after.tensor("y").dtype is DType.uint8
    (node,) = [node for node in after.nodes if node.type == "Conv2D"]
    data, weights = (after.tensor(name) for name in node.inputs[:2])
    assert (data.dtype, data.quantization.zero_point) == (DType.int8, 120 - 128)
    assert weights.dtype is DType.int8 and weights.quantization.zero_points == (0,) * 4
    assert after.tensor("y").quantization.zero_point == 128
    assert same_meaning(before, after)


def test_an_input_that_only_views_read_is_converted_behind_them():
    before = graph(
        "x = Transpose<perm=[0,3,1,2]>(n) xf = DequantizeLinear(x, sx, zx) a = MaxPool<kernel_shape=[2,2]>(xf) "
        "b = LeakyRelu(a) y = QuantizeLinear(b, sx, zx)",
        inputs="uint8[1,6,7,3] n",
        outputs="uint8[1,3,5,6] y",
        constants={"sx": numpy.float32(0.05), "zx": numpy.uint8(120)},
    )
    after = simplify(before)
    assert types(after)[:2] == ["Transpose", "FlipSign"] and after.tensor("n").dtype is DType.uint8
    assert same_meaning(before, after)


def test_an_input_that_is_handed_out_through_a_view_keeps_its_type():
    before = graph(
        "y = Transpose<perm=[0,2,1]>(x) f = DequantizeLinear(x, s, z) g = Relu(f) v = QuantizeLinear(g, s, z)",
        inputs="uint8[1,4,3] x",
        outputs="uint8[1,3,4] y, uint8[1,4,3] v",
        constants={"s": numpy.float32(0.05), "z": numpy.uint8(120)},
    )
    assert same_meaning(before, simplify(before)) and simplify(before).tensor("y").dtype is DType.uint8


def test_weights_that_fit_without_their_zero_points_lose_them_channel_by_channel():
    before = convolution(unsigned_weights(90, 200), [90, 100, 128, 190])
    after = simplify(before)
    (node,) = [node for node in after.nodes if node.type == "Conv2D"]
    assert after.tensor(node.inputs[1]).quantization.zero_points == (0,) * 4
    assert same_meaning(before, after)


def test_weights_that_need_nine_bits_without_their_zero_points_become_int16():
    before = convolution(unsigned_weights(), [90, 100, 128, 190])
    after = simplify(before)
    (node,) = [node for node in after.nodes if node.type == "Conv2D"]
    weights = after.tensor(node.inputs[1])
    assert weights.dtype is DType.int16 and weights.quantization.zero_points == (0,) * 4
    assert weights.data.min() < -128 and weights.data.max() > 127
    assert same_meaning(before, after)


def test_quantize_and_dequantize_beside_an_int8_tensor_state_the_new_zero_point():
    before = graph(
        "q = QuantizeLinear(x, s, z) r = DequantizeLinear(q, s, z) a = LeakyRelu(r) b = QuantizeLinear(a, s, z) "
        "c = MaxPool<kernel_shape=[2,2]>(b) d = DequantizeLinear(c, s, z) y = Cos(d)",
        inputs="float[1,2,4,4] x",
        outputs="float[1,2,3,3] y",
        constants={"s": numpy.float32(0.02), "z": numpy.uint8(7)},
    )
    after = simplify(before)
    assert all(tensor.dtype is not DType.uint8 for tensor in after.tensors.values() if not tensor.is_constant)
    assert "FlipSign" not in types(after) and same_meaning(before, after)


@pytest.mark.parametrize("zero_point", ["", ", z"])
def test_a_missing_zero_point_of_uint8_is_minus_128_of_int8(zero_point):
    before = graph(
        f"q = QuantizeLinear(x, s{zero_point}) r = DequantizeLinear(q, s{zero_point}) y = Relu(r)",
        inputs="float[5] x",
        outputs="float[5] y",
        constants={"s": numpy.float32(0.02), "z": numpy.uint8(0)},
    )
    after = signed_tensors(simplify(before))
    assert all(tensor.dtype is not DType.uint8 for tensor in after.tensors.values() if not tensor.is_constant)
    assert same_meaning(before, after)


def test_an_output_that_only_quantize_linear_writes_stays_as_it_is():
    before = graph(
        "y = QuantizeLinear(x, s, z)",
        inputs="float[5] x",
        outputs="uint8[5] y",
        constants={"s": numpy.float32(0.02), "z": numpy.uint8(7)},
    )
    assert types(simplify(before)) == ["QuantizeLinear"]


def test_plain_integers_stay_unsigned():
    before = graph("y = Add(x, z)", inputs="uint8[5] x, uint8[5] z", outputs="uint8[5] y")
    assert types(simplify(before)) == ["Add"] and simplify(before).tensor("y").dtype is DType.uint8


def test_flipping_the_sign_twice_gives_the_same_bytes():
    every = numpy.arange(256).astype(numpy.uint8)
    assert flipped(every).tolist() == list(range(-128, 128)) and numpy.array_equal(flipped(flipped(every)), every)
