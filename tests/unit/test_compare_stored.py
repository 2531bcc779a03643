# SPDX-License-Identifier: MIT
"""Trees behind Cast and DequantizeLinear compare the integers themselves, and give the same values."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.forests import MODES, random_model

ORDERED = MODES[:4]
TYPES = {
    TensorProto.INT8: numpy.int8,
    TensorProto.UINT8: numpy.uint8,
    TensorProto.INT16: numpy.int16,
    TensorProto.INT32: numpy.int32,
    TensorProto.INT64: numpy.int64,
}


def behind(
    before: str, element: int, modes=MODES, to: int = TensorProto.FLOAT, rows: int = 40, scale=0.013, grid=(), nan: bool = False
) -> bytes:
    """Trees behind a Cast or a DequantizeLinear of this element type; `nan`: with a threshold that is NaN."""
    random = numpy.random.default_rng(element)
    model = random_model(
        random, count=2, trees=6, modes=modes, grid=grid or [-1.0, -0.3, 0.0, 0.0121, 0.3, 0.7, 1.3, 400.0, -400.0]
    )
    if nan:
        model.attributes["nodes_values"][1::2] = [float("nan")] * (len(model.attributes["nodes_values"]) // 2)
    forest = onnx.load_from_string(model.file(rows))
    trees = forest.graph.node[0]
    trees.input[0] = "real"
    constants = []
    if before == "Cast":
        node = helper.make_node("Cast", ["x"], ["real"], to=to)
    else:
        node = helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["real"], axis=1)
        scales = numpy.float32(scale)
        constants = [onnx.numpy_helper.from_array(scales, "scale")]
        constants.append(onnx.numpy_helper.from_array(numpy.full(scales.shape, 3, TYPES[element]), "zero"))
    given = helper.make_tensor_value_info("x", element, [rows, model.features])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph([node, trees], "forest", [given], list(forest.graph.output), constants)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def both(model: bytes, dtype: type):
    """The nodes behind the recipes, and whether both graphs give the same values."""
    view = import_onnx(model, "forest", builtin_operators(), {}, {})[0]
    simple = simplify(view)
    random = numpy.random.default_rng(0)
    low, high = (-200, 200) if numpy.iinfo(dtype).max > 300 else (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    rows = random.integers(low, high + 1, view.tensor("x").dims).astype(dtype)
    values = [run(graph, {"x": rows})["z"].tolist() for graph in (view, simple)]
    return [node.type for node in simple.nodes], values[0] == values[1] and len(set(map(tuple, values[0]))) > 3


@pytest.mark.parametrize("element", TYPES)
def test_trees_compare_integers_that_were_cast(element):
    assert both(behind("Cast", element, grid=[-90.0, -3.5, 0.0, 5.2, 77.0, 150.0]), TYPES[element]) == (
        ["TreeEnsembleRegressor"],
        True,
    )


@pytest.mark.parametrize("element", [TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16])
def test_trees_compare_stored_values(element):
    found = both(behind("DequantizeLinear", element, ORDERED), TYPES[element])
    assert found == (["TreeEnsembleRegressor"], True)


def test_thresholds_that_are_values_keep_what_is_equal():
    grid = [float(numpy.float32(stored - 3) * numpy.float32(0.013)) for stored in range(-128, 128, 17)]
    for mode in ORDERED:
        assert both(behind("DequantizeLinear", TensorProto.INT8, [mode], 200, grid=grid), numpy.int8)[1]


def test_nothing_is_below_or_above_nan():
    for mode in ORDERED:
        assert both(behind("DequantizeLinear", TensorProto.INT8, [mode], nan=True), numpy.int8) == (
            ["TreeEnsembleRegressor"],
            True,
        )


@pytest.mark.parametrize("modes, scale", [(MODES, 0.013), (ORDERED, (0.013, 0.02, 0.013))], ids=["equality", "scales"])
def test_what_does_not_keep_the_order_of_one_scale_stays(modes, scale):
    kinds, is_same = both(behind("DequantizeLinear", TensorProto.INT8, modes, scale=scale), numpy.int8)
    assert is_same and "DequantizeLinear" in kinds


@pytest.mark.parametrize("element, to", [(TensorProto.INT64, TensorProto.INT32), (TensorProto.DOUBLE, TensorProto.FLOAT)])
def test_a_cast_that_is_not_from_integers_to_float32_stays(element, to):
    simple = simplify(import_onnx(behind("Cast", element, to=to), "forest", builtin_operators(), {}, {})[0])
    assert [node.type for node in simple.nodes] == ["Cast", "TreeEnsembleRegressor"]
