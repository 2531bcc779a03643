# SPDX-License-Identifier: MIT
"""DynamicQuantizeLSTM is an LSTM whose weights stay bytes."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx

INPUTS, HIDDEN, STEPS = 6, 8, 5


def parameters(kind: str):
    """Weights, scales and zero points of both matrices."""
    random, found = numpy.random.default_rng(3), []
    many = 2 if kind.startswith("both") else 1
    for count in (INPUTS, HIDDEN):
        low = 0 if "uint8" in kind else -127
        weights = random.integers(low, low + 255, (many, count, 4 * HIDDEN)).astype(numpy.uint8 if low == 0 else numpy.int8)
        scales = random.uniform(0.002, 0.006, (many, 4 * HIDDEN) if "rows" in kind else many).astype(numpy.float32)
        points = numpy.full(scales.shape, 128 if low == 0 else 0, weights.dtype)
        found.append((weights, scales, points))
    return many, found


def model(kind: str, **attributes) -> bytes:
    many, ((w, sw, zw), (r, sr, zr)) = parameters(kind)
    bias = numpy.random.default_rng(4).normal(0, 0.2, (many, 8 * HIDDEN)).astype(numpy.float32)
    given = {"w": w, "r": r, "b": bias, "sw": sw, "zw": zw, "sr": sr, "zr": zr}
    names = ["x", "w", "r", "b", "", "", "", "", "sw", "zw", "sr", "zr"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft", hidden_size=HIDDEN,
        direction="bidirectional" if many == 2 else "forward", **attributes,
    )  # fmt: skip
    values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (STEPS, 1, INPUTS))]
    results = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "g", values, results, [numpy_helper.from_array(one, name) for name, one in given.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()


def imported(kind: str, **attributes):
    return import_onnx(model(kind, **attributes), "m", builtin_operators(), {}, {})[0]


def real_lstm(kind: str) -> bytes:
    """The float model with the same weights."""
    many, found = parameters(kind)
    bias = numpy.random.default_rng(4).normal(0, 0.2, (many, 8 * HIDDEN)).astype(numpy.float32)
    given = {"b": bias}
    for name, (weights, scales, points) in zip("wr", found):
        shape = (many, 1, -1)
        real = (weights.astype(numpy.float32) - points.reshape(shape).astype(numpy.float32)) * scales.reshape(shape)
        given[name] = numpy.ascontiguousarray(numpy.swapaxes(real, 1, 2))
    direction = "bidirectional" if many == 2 else "forward"
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=HIDDEN, direction=direction)
    values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (STEPS, 1, INPUTS))]
    results = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "g", values, results, [numpy_helper.from_array(one, name) for name, one in given.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


@pytest.mark.parametrize("kind", ["int8", "uint8", "rows", "both", "both uint8", "both rows"])
def test_it_is_the_float_model_with_these_weights(kind):
    x = numpy.random.default_rng(5).normal(size=(STEPS, 1, INPUTS)).astype(numpy.float32)
    wanted = cpu.run(import_onnx(real_lstm(kind), "m", builtin_operators(), {}, {})[0], {"x": x})["y"]
    simple = simplify(imported(kind))
    for view in (imported(kind), simple):
        assert numpy.allclose(cpu.run(view, {"x": x})["y"], wanted, rtol=1e-5, atol=1e-6)
    (node,) = [node for node in simple.nodes if node.type == "LSTM"]
    stored = {simple.tensor(name).dtype for name in node.inputs[1:3]}
    assert stored == {DType.float32 if kind == "both rows" else DType.int8}


def test_it_is_within_the_rounding_of_its_steps_of_onnxruntime():
    """Which rounds data and state to 8 bits."""
    onnxruntime = pytest.importorskip("onnxruntime")
    x = numpy.random.default_rng(5).normal(size=(STEPS, 1, INPUTS)).astype(numpy.float32)
    (theirs,) = onnxruntime.InferenceSession(model("rows"), providers=["CPUExecutionProvider"]).run(["y"], {"x": x})
    assert numpy.abs(cpu.run(imported("rows"), {"x": x})["y"] - theirs).max() < 0.03


def test_a_number_of_scales_that_fits_no_rows_is_refused():
    data = onnx.load_from_string(model("int8"))
    next(one for one in data.graph.initializer if one.name == "sw").CopyFrom(
        numpy_helper.from_array(numpy.ones(3, numpy.float32), "sw")
    )
    with pytest.raises(AidgeError, match="3 scales for 1 x 32 rows"):
        import_onnx(data.SerializeToString(), "m", builtin_operators(), {}, {})
