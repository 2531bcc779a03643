# SPDX-License-Identifier: MIT
"""Layers that are cut by channels compute the same bits, from the constants and channels that each group needs."""

from __future__ import annotations

import functools

import numpy
import pytest

from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.check import check_rewrite
from aidge_build.prepare.recipes.split_outputs import group_of, split_outputs
from aidge_build.run.verify.vectors import random_vectors
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model
from tests.row_models import quantized

RANDOM = numpy.random.default_rng(3)
WEIGHTS = {
    "w": RANDOM.integers(-127, 128, (10, 6, 3, 3)).astype(numpy.int8),
    "d": RANDOM.integers(-127, 128, (6, 1, 3, 3)).astype(numpy.int8),
    "m": RANDOM.integers(-127, 128, (6, 10)).astype(numpy.int8),
    "v": RANDOM.normal(size=(10, 6)).astype(numpy.float32),
    "b": RANDOM.normal(size=10).astype(numpy.float32),
    "g": RANDOM.normal(size=7).astype(numpy.float32),
    "scale": numpy.float32(1 / 32),
    "zero": numpy.int8(3),
    "even": numpy.int8(0),
    "each": (RANDOM.random(10) / 200 + 0.001).astype(numpy.float32),
    "zeros": numpy.zeros(10, numpy.int8),
}
IMAGE, BYTES = "[1,6,5,7]", "d_x = DequantizeLinear(x, scale, zero)"
# text, inputs, outputs, the type of the layer that is cut, channels of its output
CASES = {
    "a convolution with a scale for each channel": (
        f"{BYTES} d_w = DequantizeLinear<axis = 0>(w, each, zeros) {quantized('y', 'Conv(d_x, d_w, b)')}",
        f"int8{IMAGE} x",
        "int8[1,10,3,5] y",
        "Conv2D",
        10,
    ),
    "a depthwise convolution": (
        f"{BYTES} d_d = DequantizeLinear(d, scale, even) {quantized('y', 'Conv<group = 6>(d_x, d_d)')}",
        f"int8{IMAGE} x",
        "int8[1,6,3,5] y",
        "ConvDepthWise2D",
        6,
    ),
    "a fully connected layer": ("y = Gemm<transB = 1>(x, v, b)", "float[2,6] x", "float[2,10] y", "FC", 10),
    "a product of bytes": (
        f"{BYTES} d_m = DequantizeLinear(m, scale, even) {quantized('y', 'MatMul(d_x, d_m)')}",
        "int8[3,4,6] x",
        "int8[3,4,10] y",
        "FC",
        10,
    ),
    "a product of what is computed": ("y = MatMul(x, z)", "float[2,9,6] x, float[2,6,4] z", "float[2,9,4] y", "MatMul", 9),
    "an element-wise layer": ("y = Sigmoid(x)", f"float{IMAGE} x", f"float{IMAGE} y", "Sigmoid", 6),
    "a quantization": ("y = QuantizeLinear(x, scale, zero)", f"float{IMAGE} x", f"int8{IMAGE} y", "QuantizeLinear", 6),
    "a softmax": ("y = Softmax<axis = 3>(x)", f"float{IMAGE} x", f"float{IMAGE} y", "Softmax", 6),
    "a normalization": (
        "y = LayerNormalization<axis = 3>(x, g)",
        f"float{IMAGE} x",
        f"float{IMAGE} y",
        "LayerNormalization",
        6,
    ),
}


@functools.cache
def view_of(case: str):
    text, inputs, outputs, *_ = CASES[case]
    used = {
        name: value
        for name, value in WEIGHTS.items()
        if name in text.replace("(", " ").replace(",", " ").replace(")", " ").split()
    }
    view, _ = import_onnx(model(text, inputs=inputs, outputs=outputs, constants=used), "net", builtin_operators(), {}, {})
    return simplify(view)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [4, 1])
def test_groups_give_the_bits_of_the_layer(case, most):
    *_, kind, channels = CASES[case]
    view = view_of(case)
    (node,) = [node for node in view.nodes if node.type == kind]
    cut = check_rewrite(view, split_outputs(view, {node.name: most}), "cutting")
    groups = [one for one in cut.nodes if one.type == kind]
    sizes = [cut.tensor(one.outputs[0]).dims[group_of(view, node, most).axis] for one in groups]
    assert [one.name for one in groups] == [f"{node.name}_group_{number + 1}" for number in range(len(groups))]
    assert sizes == [min(most, channels - first) for first in range(0, channels, most)] and len(sizes) > 1
    assert all(one.origin == node.origin for one in cut.nodes if one.name not in {other.name for other in view.nodes})
    vectors = random_vectors(view, 3, seed=1)
    wanted, got = run_in_order(view, vectors), run_in_order(cut, vectors)
    assert all(numpy.array_equal(wanted[name], got[name]) for name in wanted)


def test_what_is_not_named_stays_and_what_has_no_groups_too():
    view = view_of("a convolution with a scale for each channel")
    assert split_outputs(view, {}) is view and split_outputs(view, {"nobody": 4}) is view
    text = "y = Softmax<axis = 1>(x)"
    whole, _ = import_onnx(model(text, inputs=f"float{IMAGE} x", outputs=f"float{IMAGE} y"), "net", builtin_operators(), {}, {})
    (node,) = whole.nodes
    assert group_of(whole, node, 2) is None and split_outputs(whole, {node.name: 2}) is whole


def test_grouped_convolutions_have_no_groups_of_channels():
    weights = RANDOM.normal(size=(6, 3, 1, 1)).astype(numpy.float32)
    text = "y = Conv<group = 2>(x, w)"
    data = model(text, inputs=f"float{IMAGE} x", outputs=f"float{IMAGE} y", constants={"w": weights})
    view, _ = import_onnx(data, "net", builtin_operators(), {}, {})
    assert group_of(view, view.nodes[0], 2) is None
