# SPDX-License-Identifier: MIT
"""Models of uint8 tensors get the fast int8 kernels: what `adapt_to_backend` chooses for a network of the usual operators."""

from __future__ import annotations

import numpy
import pytest
from helium_harness import FEATURES, library

from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.recipes import simplify
from tests.models import graph

RANDOM = numpy.random.default_rng(4)
LIBRARIES = {
    "cortexm": (frozenset({"dsp", "fpu"}), {"FlipSign", "Reformat", "Softmax", "Sigmoid"}),
    "helium": (FEATURES, {"FlipSign", "Reformat", "Softmax"}),
}


def quantized(name: str, result: str, scale: str = "s", zero_point: str = "z") -> str:
    """`result` through a uint8 tensor, as `name`."""
    return (
        f"{name}_q = QuantizeLinear({result}, {scale}, {zero_point}) {name} = DequantizeLinear({name}_q, {scale}, {zero_point}) "
    )


def network(dtype):
    """Convolutions, a sum, a product, a concatenation, pads, pools, a resize, a function, a fully connected layer."""
    text = "x = DequantizeLinear(xq, s, z) w = DequantizeLinear(wq, sw, zw) v = DequantizeLinear(vq, sw, zw) "
    text += "u = DequantizeLinear(uq, sw, zw) "
    text += "r0 = Conv<pads=[1,1,1,1]>(x, w) " + quantized("a", "r0")
    text += "r1 = Conv<pads=[1,1,1,1], group=8>(a, v) " + quantized("b", "r1")
    text += "r2 = Add(a, b) " + quantized("c", "r2", "s2") + "r3 = Mul(c, b) " + quantized("d", "r3", "s2")
    text += "r4 = Concat<axis=1>(d, a) " + quantized("e", "r4", "s2")
    text += "r5 = Pad(e, pads) " + quantized("f", "r5", "s2")
    text += "r6 = MaxPool<kernel_shape=[2,2], strides=[2,2]>(f) " + quantized("g", "r6", "s2")
    text += 'r7 = Resize<mode="nearest">(g, , scales) ' + quantized("h", "r7", "s2")
    text += "r8 = AveragePool<kernel_shape=[2,2], strides=[2,2]>(h) " + quantized("i", "r8", "s2")
    text += (
        "r9 = Sigmoid(i) " + quantized("j", "r9", "s3", "z3") + "r10 = GlobalAveragePool(j) " + quantized("k", "r10", "s3", "z3")
    )
    text += "r11 = Flatten(k) " + quantized("l", "r11", "s3", "z3") + "r12 = Gemm<transB=1>(l, u) yq = QuantizeLinear(r12, s2, z)"
    scales = {"s": 0.05, "s2": 0.07, "s3": 1 / 256, "sw": 0.01}
    constants = {name: numpy.float32(value) for name, value in scales.items()}
    constants |= {
        "z": dtype(118),
        "z3": dtype(0),
        "zw": numpy.int8(0),
        "pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1]),
        "scales": numpy.array([1, 1, 2, 2], numpy.float32),
    }
    constants |= {
        name: RANDOM.integers(-127, 128, dims).astype(numpy.int8)
        for name, dims in (("wq", (8, 4, 3, 3)), ("vq", (8, 1, 3, 3)), ("uq", (10, 16)))
    }
    return graph(text, inputs="uint8[1,4,8,8] xq", outputs="uint8[1,10] yq", constants=constants)


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_a_network_of_uint8_tensors_runs_in_the_int8_kernels_of_the_core(name):
    features, others = LIBRARIES[name]
    assignment = adapt_to_backend(simplify(network(numpy.uint8)), [library(name), library("ref")], Target(features=features))
    chosen = [(node.type, assignment.choices[node.name].kernel) for node in assignment.view.nodes]
    assert {kind for kind, kernel in chosen if kernel is not None and kernel.library == "ref"} <= others
    fast = [kind for kind, kernel in chosen if kernel is not None and kernel.library == name]
    assert {"Conv2D", "ConvDepthWise2D", "Add", "Mul", "Concat", "MaxPooling2D", "Resize", "AvgPooling2D", "FC"} <= set(fast)
