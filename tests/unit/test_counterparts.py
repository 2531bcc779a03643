# SPDX-License-Identifier: MIT
"""Which tensor of the float model a layer of the firmware computes: by names through quantizers, else by nodes."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import KeptChannels, Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.measure.accuracy.counterparts import Counterpart, counterparts
from aidge_build.operators.activation import ReLU
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.reformat import Reformat
from tests.models import graph

SCALES = {"s": numpy.float32(0.1), "z": numpy.int8(3), "w": numpy.ones(3, numpy.float32)}
FLOATS = graph("a = Relu (x) b = Tanh (a) y = Neg (b)", inputs="float[1,3] x", outputs="float[1,3] y")
# As a quantizer writes it: a keeps its name, b has lost it, and what was y is now between two other tensors.
QUANTIZED = graph(
    """xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z)
    a = Relu (xd) aq = QuantizeLinear (a, s, z) ad = DequantizeLinear (aq, s, z)
    h = Tanh (ad) hq = QuantizeLinear (h, s, z) hd = DequantizeLinear (hq, s, z)
    o = Neg (hd) oq = QuantizeLinear (o, s, z) y = DequantizeLinear (oq, s, z)""",
    inputs="float[1,3] x",
    outputs="float[1,3] y",
    constants=SCALES,
)


def layer(output: str, *origin: str, dims=(1, 3), operator=ReLU(), kept=None, more=()) -> tuple[Node, list[Tensor]]:
    outputs = [Tensor(output, dims, DType.int8, kept=kept), *(Tensor(name, dims, DType.int8) for name in more)]
    return Node(f"n_{output}", operator, ("in",), tuple(tensor.name for tensor in outputs), origin), outputs


def found(*layers, quantized: GraphView = QUANTIZED, floats: GraphView = FLOATS) -> dict[str, str]:
    return {name: one.original for name, one in counterparts(layers, quantized, floats).items()}


def test_a_name_of_the_float_model_is_found_before_and_behind_its_quantizers():
    assert found(layer("a"), layer("aq"), layer("ad"), layer("xq")) == {"a": "a", "aq": "a", "ad": "a", "xq": "x"}


def test_an_output_that_lost_its_name_to_the_last_dequantizer_is_found():
    assert found(layer("o"), layer("oq")) == {"o": "y", "oq": "y"}


def test_a_tensor_without_a_name_of_the_float_model_is_found_by_the_last_of_its_nodes():
    names = [node.name for node in FLOATS.nodes]
    assert found(layer("hq", *names[:2])) == found(layer("hq", names[1], names[0])) == {"hq": "b"}
    assert found(layer("hq")) == found(layer("hq", "another")) == {}


def test_neither_conversions_nor_nodes_of_several_outputs_are_found_by_their_nodes():
    (_, second, _) = [node.name for node in FLOATS.nodes]
    for operator in (QuantizeLinear(0, DType.int8), DequantizeLinear(0), Reformat()):
        assert found(layer("new", second, operator=operator)) == {}
    assert found(layer("new", second, more=("other",))) == {}


def test_a_name_goes_before_a_node():
    last = FLOATS.nodes[-1].name
    assert found(layer("aq", last)) == {"aq": "a"}


def test_quantizers_of_constants_make_no_names_equal():
    constants = {**SCALES, "x": numpy.ones((1, 3), numpy.float32)}
    quantized = graph(
        "q = QuantizeLinear (w, s, z) d = DequantizeLinear (q, s, z) y = Add (d, u)",
        inputs="float[1,3] u",
        outputs="float[1,3] y",
        constants=constants,
    )
    floats = graph("y = Add (w, u)", inputs="float[1,3] u, float[3] w", outputs="float[1,3] y")
    assert found(layer("d", dims=(3,)), layer("y"), quantized=quantized, floats=floats) == {"y": "y"}


def image(dims: str) -> tuple[GraphView, GraphView]:
    text = {"inputs": f"float[{dims}] x", "outputs": f"float[{dims}] a"}
    floats = graph("a = Relu (x)", **text)
    return graph("a = Relu (x)", **text), floats


def test_channels_that_are_left_out_are_left_out_of_the_float_tensor():
    quantized, floats = image("1,4,2,2")
    node, outputs = layer("a", dims=(1, 2, 2, 2), kept=KeptChannels((0, 3), 4))
    assert counterparts([(node, outputs)], quantized, floats) == {"a": Counterpart("a", "a", (0, 3))}
    for dims, kept in (((1, 2, 2, 2), KeptChannels((0, 3), 5)), ((1, 3, 2, 2), KeptChannels((0, 3), 4)), ((1, 2, 2, 2), None)):
        assert found(layer("a", dims=dims, kept=kept), quantized=quantized, floats=floats) == {}


def test_axes_of_length_one_are_no_difference_and_another_order_is_one():
    quantized, floats = image("1,4,1,2")
    assert found(layer("a", dims=(1, 4, 2)), quantized=quantized, floats=floats) == {"a": "a"}
    assert found(layer("a", dims=(1, 2, 4)), quantized=quantized, floats=floats) == {}


def test_a_tensor_of_integers_in_the_float_model_is_no_counterpart():
    text = {"inputs": "int32[1,3] x", "outputs": "int32[1,3] a"}
    assert found(layer("a"), quantized=graph("a = Abs (x)", **text), floats=graph("a = Abs (x)", **text)) == {}
