# SPDX-License-Identifier: MIT
"""Layers of stored bytes with a float result add up integers: their weights stay bytes, and the last layer of a file is one."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.meaning import require_same_meaning
from tests.models import graph, types

F = numpy.float32
RANDOM = numpy.random.default_rng(12)
CONSTANTS = {
    "sx": F(0.05),
    "zx": numpy.int8(-7),
    "w": RANDOM.integers(-128, 128, (4, 3, 3, 3)).astype(numpy.int8),
    "sw": F([0.01, 0.02, 0.03, 0.005]),
    "zw": numpy.zeros(4, numpy.int8),
    "b": F([0.5, -1.25, 3.0, 1e-3]),
    "v": RANDOM.integers(-128, 128, (6, 5)).astype(numpy.int8),
}
READ = "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw)"


def convolution(
    text=f"{READ} y = Conv<pads=[1,1,1,1]>(xf, wf, b)", inputs="int8[1,3,5,4] x", outputs="float[1,4,5,4] y", **other
):
    return graph(text, inputs=inputs, outputs=outputs, constants={**CONSTANTS, **other}, opset=21)


def product(text="xf = DequantizeLinear(x, sx, zx) vf = DequantizeLinear(v, sv, zx) y = Gemm<transB=1>(xf, vf)", **other):
    return graph(text, inputs="int8[2,5] x", outputs="float[2,6] y", constants={**CONSTANTS, "sv": F(0.02), **other})


def only_node(view, kind):
    (node,) = [node for node in view.nodes if node.type == kind]
    return node, [view.tensor(name) for name in node.inputs]


def test_a_convolution_whose_result_is_an_output_keeps_its_weights_and_data_as_bytes():
    before = convolution()
    after = simplify(before)
    node, inputs = only_node(after, "DynamicConv")
    assert types(after) == ["DynamicConv"]
    assert [tensor.dtype for tensor in inputs] == [DType.int8, DType.int8, DType.int8, *[DType.float32] * 3]
    assert inputs[2].data == -7 and inputs[3].data == F(0.05)
    assert inputs[4].data.tolist() == CONSTANTS["sw"].tolist() and inputs[5].data.tolist() == CONSTANTS["b"].tolist()
    require_same_meaning(before, after, "simplify", exact=False)


def test_the_values_are_exact_sums_scaled_once():
    view, values = product(), RANDOM.integers(-128, 128, (2, 5)).astype(numpy.int8)
    found = cpu.run(simplify(view), {"x": values})["y"]
    sums = (values.astype(int) + 7) @ (CONSTANTS["v"].astype(int) + 7).T
    assert (found == sums.astype(F) * (F(0.05) * F(0.02))).all()


@pytest.mark.parametrize(
    "text, bounds, groups",
    [
        (f"{READ} a = Conv(xf, wf) y = Relu(a)", (0.0, numpy.inf), 1),
        (f"{READ} a = Conv(xf, wf) y = Clip(a, low, high)", (0.0, 6.0), 1),
        (f"{READ} y = Conv<group=2>(xf, wf)", (-numpy.inf, numpy.inf), 2),
    ],
)
def test_clamps_and_groups_stay(text, bounds, groups):
    channels = 3 * groups
    before = convolution(text, f"int8[1,{channels},5,4] x", "float[1,4,3,2] y", low=F(0), high=F(6))
    node, _ = only_node(simplify(before), "DynamicConv")
    assert (node.operator.minimum, node.operator.maximum, node.operator.groups) == (*bounds, groups)
    require_same_meaning(before, simplify(before), "simplify", exact=False)


def test_clamps_of_products_stay():
    before = product(
        "xf = DequantizeLinear(x, sx, zx) vf = DequantizeLinear(v, sv, zx) a = Gemm<transB=1>(xf, vf) y = Clip(a, low, high)",
        low=F(-0.5),
        high=F(0.75),
    )
    node, _ = only_node(simplify(before), "DynamicFC")
    assert (node.operator.minimum, node.operator.maximum) == (-0.5, 0.75)
    require_same_meaning(before, simplify(before), "simplify", exact=False)


def test_unsigned_data_and_weights_and_a_stored_bias_are_read_as_what_they_mean():
    before = convolution(
        "xf = DequantizeLinear(x, sx, ux) wf = DequantizeLinear(u, su, zu) bf = DequantizeLinear(i, si) y = Conv(xf, wf, bf)",
        "uint8[1,3,5,4] x",
        "float[1,4,3,2] y",
        ux=numpy.uint8(9),
        u=RANDOM.integers(0, 256, (4, 3, 3, 3)).astype(numpy.uint8),
        su=F(0.01),
        zu=numpy.uint8(100),
        i=numpy.int32([5, -3000, 70, 0]),
        si=F(0.0005),
    )
    node, inputs = only_node(simplify(before), "DynamicConv")
    assert [tensor.dtype for tensor in inputs[:3]] == [DType.uint8, DType.int16, DType.uint8]
    assert inputs[4].data.tolist() == [F(0.01)] * 4 and inputs[5].data.tolist() == (F([5, -3000, 70, 0]) * F(0.0005)).tolist()
    require_same_meaning(before, simplify(before), "simplify", exact=False)


def test_a_result_that_is_quantized_stays_with_the_layer():
    text = f"{READ} a = Conv(xf, wf) y = QuantizeLinear(a, sx, zx)"
    assert types(simplify(convolution(text, outputs="int8[1,4,3,2] y"))) == ["Conv2D"]


@pytest.mark.parametrize(
    "text, inputs",
    [
        (f"{READ} y = Conv(xf, wf, c)", "int8[1,3,5,4] x, float[4] c"),
        ("xf = DequantizeLinear(x, sx, zx) y = Conv(xf, c)", "int8[1,3,5,4] x, float[4,3,3,3] c"),
        ("xf = DequantizeLinear(x, sx, zx) y = Conv(xf, real)", "int8[1,3,5,4] x"),
        ("xf = DequantizeLinear<axis=1>(x, s3, z3) wf = DequantizeLinear(w, sx) y = Conv(xf, wf)", "int8[1,3,5,4] x"),
        ("wf = DequantizeLinear(w, sx) y = Conv(x, wf)", "float[1,3,5,4] x"),
        ("xf = DequantizeLinear(x, sx) wf = DequantizeLinear<axis=1>(w, s3, z3) y = Conv(xf, wf)", "int8[1,3,5,4] x"),
        ("xf = DequantizeLinear(x, c) wf = DequantizeLinear(w, sx) y = Conv(xf, wf)", "int8[1,3,5,4] x, float c"),
        ("xf = DequantizeLinear(x, sx) wf = DequantizeLinear(w, sx) y = Conv(xf, wf)", "int16[1,3,5,4] x"),
    ],
)
def test_what_is_computed_or_has_other_scales_stays_float(text, inputs):
    constants = {"s3": F([0.1, 0.2, 0.3]), "z3": numpy.zeros(3, numpy.int8), "real": F(CONSTANTS["w"]) + F(0.5)}
    view = convolution(text, inputs, "float[1,4,3,2] y", **constants)
    assert types(simplify(view))[-1] == "Conv2D"


@pytest.mark.parametrize("taps, kind", [(66311, "DynamicFC"), (66312, "FC")])
def test_sums_that_int32_might_not_hold_stay_float(taps, kind):
    """taps * 127 * 255 reaches 2^31 - 1 between the two."""
    view = graph(
        "xf = DequantizeLinear(x, sx, zx) vf = DequantizeLinear(v, sx) y = Gemm<transB=1>(xf, vf)",
        inputs=f"int8[1,{taps}] x",
        outputs="float[1,1] y",
        constants={"sx": F(0.5), "zx": numpy.int8(-128), "v": numpy.full((1, taps), 127, numpy.int8)},
    )
    assert types(simplify(view))[-1] == kind
