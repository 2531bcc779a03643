# SPDX-License-Identifier: MIT
"""Channels that pruning left without a scale: what is dequantized by 0 is 0, as onnxruntime and LiteRT compute it."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from tests.compiled import program_of
from tests.models import graph, model
from tests.quantization.networks import ours, theirs

RANDOM = numpy.random.default_rng(6)
F = numpy.float32
SCALES = {"xs": F(0.05), "xz": numpy.int8(-3), "ys": F(0.11), "yz": numpy.int8(5)}
QUANTIZED = "xf = DequantizeLinear(x, xs, xz) wf = DequantizeLinear<axis = 0>(w, ws, wz) {} y = QuantizeLinear(a, ys, yz)"
DEQUANTIZED = "bf = DequantizeLinear<axis = 0>(b, bs) "
LAYERS = {
    "convolution": (QUANTIZED.format("a = Conv(xf, wf)"), "[1,4,5,5]", "[1,6,3,3]", (6, 4, 3, 3)),
    "bias": (QUANTIZED.format(f"{DEQUANTIZED} a = Conv(xf, wf, bf)"), "[1,4,5,5]", "[1,6,3,3]", (6, 4, 3, 3)),
    "depthwise": (QUANTIZED.format("c = Conv<group = 6>(xf, wf) a = Relu(c)"), "[1,6,5,5]", "[1,6,3,3]", (6, 1, 3, 3)),
    "fully connected": (QUANTIZED.format("a = Gemm<transB = 1>(xf, wf)"), "[2,4]", "[2,6]", (6, 4)),
    "operator of the file": ("y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz)", "[1,4,5,5]", "[1,6,3,3]", (6, 4, 3, 3)),
}


def integers(*dims: int) -> numpy.ndarray:
    return RANDOM.integers(-90, 91, dims).astype(numpy.int8)


@pytest.mark.parametrize("scale", [0.0, 1e-40])
@pytest.mark.parametrize("name", LAYERS)
def test_a_channel_of_weights_without_a_scale_is_its_bias_alone_whatever_it_stores(name, scale):
    nodes, given, result, dims = LAYERS[name]
    scales = RANDOM.uniform(0.003, 0.01, 6).astype(F)
    scales[[1, 4]] = scale
    constants = SCALES | {"w": integers(*dims), "ws": scales, "wz": numpy.zeros(6, numpy.int8)}
    if "bf" in nodes:
        constants |= {"b": RANDOM.integers(-900, 900, 6).astype(numpy.int32), "bs": (scales * F(0.05)).astype(F)}
    file = model(nodes, inputs=f"int8{given} x", outputs=f"int8{result} y", constants=constants)
    inputs = {"x": integers(*map(int, given[1:-1].split(",")))}
    found = ours(file, inputs)["y"]
    assert numpy.array_equal(found, theirs(file, inputs)["y"]) and (found[:, 1] == 5).all()
    assert program_of(file, "pruned.onnx", load_board("host")).layers


def test_what_is_computed_and_dequantized_by_0_is_0():
    nodes = "a = DequantizeLinear(x, s, z) y = Add(a, f) u = DequantizeLinear(x, s, z)"
    words = {"inputs": "int8[2,4] x, float[2,4] f", "outputs": "float[2,4] y, float[2,4] u"}
    file = model(nodes, constants={"s": F(0), "z": numpy.int8(3)}, **words)
    inputs = {"x": integers(2, 4), "f": RANDOM.normal(size=(2, 4)).astype(F)}
    found, wanted = ours(file, inputs), theirs(file, inputs)
    assert all(numpy.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    "nodes", ["y = QuantizeLinear(x, s, z)", "q = QuantizeLinear(x, t, z) y = DequantizeLinear<axis = 0>(q, s, z)"]
)
def test_a_scale_of_0_without_a_meaning_is_refused(nodes):
    kind, one = ("int8", numpy.int8(0)) if "q =" not in nodes else ("float", numpy.zeros(2, numpy.int8))
    scale = F(0) if "q =" not in nodes else numpy.array([0, 1], F)
    constants = {"s": scale, "z": one} | ({"t": numpy.ones(2, F)} if "q =" in nodes else {})
    nodes = nodes.replace("QuantizeLinear(x, t", "QuantizeLinear<axis = 0>(x, t")
    with pytest.raises(AidgeError, match="the scale 's' holds 0.0, wants positive finite numbers"):
        graph(nodes, inputs="float[2,3] x", outputs=f"{kind}[2,3] y", constants=constants)
