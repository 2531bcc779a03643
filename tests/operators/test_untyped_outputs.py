# SPDX-License-Identifier: MIT
"""Outputs that a file names without a type, as whoever cuts a model appends them, have the type of what computes them."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import TensorProto, ValueInfoProto, helper

from aidge_build.base.errors import AidgeError
from aidge_build.operators import builtin_operators
from aidge_build.prepare.quantization import quantized
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model

RANDOM = numpy.random.default_rng(2)
CUT = model(
    "a = Conv(x, w) b = Relu(a) i = ArgMax<axis = 1>(b) y = Flatten(b)",
    inputs="float[1,2,4,4] x",
    outputs="float[1,12] y",
    constants={"w": RANDOM.normal(size=(3, 2, 3, 3)).astype(numpy.float32)},
)


def cut(*names: str, undefined: bool = False, file: bytes = CUT) -> bytes:
    """The model with these outputs, without a type or with the undefined one."""
    found = onnx.load_from_string(file)
    del found.graph.output[:]
    for name in names:
        found.graph.output.append(helper.make_tensor_value_info(name, 0, None) if undefined else ValueInfoProto(name=name))
    return found.SerializeToString()


@pytest.mark.parametrize("undefined", [False, True])
def test_an_output_without_a_declared_type_has_the_type_of_what_computes_it(undefined):
    view, _ = import_onnx(cut("b", "i", "y", undefined=undefined), "cut.onnx", builtin_operators(), {}, {})
    found = [(view.tensor(name).dtype.name, view.tensor(name).dims) for name in view.outputs]
    assert found == [("float32", (1, 3, 2, 2)), ("int64", (1, 1, 2, 2)), ("float32", (1, 12))]


def test_a_model_that_was_cut_is_quantized():
    made = quantized(cut("b"), {"x": RANDOM.normal(size=(8, 1, 2, 4, 4)).astype(numpy.float32)})
    assert made.outputs["b"].sqnr > 25


def test_labels_of_text_and_maps_need_no_declared_type():
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            coefficients=[1.0, -1.0, 0.5, 0.25],
            intercepts=[0.0, 0.5],
            classlabels_strings=["cat", "dog"],
        ),
        helper.make_node("ZipMap", ["scores"], ["map"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])
    graph = helper.make_graph(nodes, "g", [given], [ValueInfoProto(name="label"), ValueInfoProto(name="map")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    file = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    view, _ = import_onnx(file, "classes.onnx", builtin_operators(), {}, {})
    assert view.tensor("label").names == view.tensor("map").names == ("cat", "dog")
    assert view.tensor("map").dtype.name == "float32"


def test_an_input_needs_a_type():
    found = onnx.load_from_string(CUT)
    found.graph.input[0].ClearField("type")
    with pytest.raises(AidgeError, match="graph input 'x': its type is nothing"):
        import_onnx(found.SerializeToString(), "cut.onnx", builtin_operators(), {}, {})
