# SPDX-License-Identifier: MIT
"""Weights of few bits, as files of each format hold them, arrive as int8 weights with as few values, and are packed in flash."""

from __future__ import annotations

from dataclasses import replace

import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.contract.reference import cpu
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.compiled import request_of
from tests.operators.test_narrow_weights import KINDS, packed
from tests.tflite_files import Graph, write

NODE = helper.make_node
QONNX = "qonnx.custom_op.general"
OUTPUTS, DIMS = 32, (1, 16, 12, 12)
RANDOM = numpy.random.default_rng(2)
DATA = RANDOM.integers(-128, 128, DIMS).astype(numpy.int8)
SCALES = RANDOM.uniform(0.01, 0.02, OUTPUTS).astype("f4")


def integers(low: int, high: int) -> numpy.ndarray:
    values = RANDOM.integers(low, high + 1, (OUTPUTS, DIMS[1], 3, 3))
    values[:, 0, 0, :2] = low, high
    return values


def file(nodes: list, constants: list, floats: bool = False) -> bytes:
    """A model of a convolution whose weights are `f`, on int8 data, or on floats."""
    kind = TensorProto.FLOAT if floats else TensorProto.INT8
    ends = [] if floats else [NODE("DequantizeLinear", ["x", "in", "zx"], ["d"])]
    after = [NODE("Conv", ["x" if floats else "d", "f"], ["y" if floats else "c"], pads=[1] * 4)]
    after += [] if floats else [NODE("QuantizeLinear", ["c", "out", "zy"], ["y"])]
    more = {"in": numpy.float32(1 / 32), "zx": numpy.int8(3), "out": numpy.float32(0.25), "zy": numpy.int8(-2)}
    values = [
        one if isinstance(one, TensorProto) else numpy_helper.from_array(numpy.asarray(one[1]), one[0]) for one in constants
    ]
    values += [numpy_helper.from_array(numpy.asarray(value), name) for name, value in more.items()]
    given = [helper.make_tensor_value_info("x", kind, DIMS)]
    made = helper.make_graph([*nodes, *ends, *after], "g", given, [helper.make_tensor_value_info("y", kind, None)], values)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(QONNX, 1)]
    return helper.make_model(made, ir_version=10, opset_imports=opsets).SerializeToString()


def theirs(weights: numpy.ndarray) -> numpy.ndarray:
    """The convolution of the data with these float weights, by onnxruntime."""
    session = onnxruntime.InferenceSession(file([], [("f", weights)], floats=True), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": (DATA.astype("f4") - 3) / 32})
    return found


def stored_weights(view: GraphView) -> numpy.ndarray:
    (tensor,) = (view.tensor(node.inputs[1]) for node in view.nodes if node.type == "Conv2D")
    assert tensor.dtype.name == "int8"
    return numpy.asarray(tensor.data)


def is_packed(model: bytes, name: str) -> bool:
    request = request_of(model, name, replace(load_board("host"), libs=("ref",)))
    target, options = replace(request.target, packs_weights=True), replace(request.options, ram_budget=1 << 16)
    program = build_program(replace(request, target=target, options=options))
    return any(layer.copied for layer in program.layers)


@pytest.mark.parametrize(
    ("kind", "points", "span"),
    [
        ("INT4", 0, (-8, 7)),
        ("INT4", [0] * OUTPUTS, (-8, 7)),
        ("UINT4", 8, (-8, 7)),
        ("UINT4", [8] * OUTPUTS, (-8, 7)),
        ("INT2", 0, (-2, 1)),
        ("UINT2", [2] * OUTPUTS, (-2, 1)),
        ("UINT4", [6, 10] * (OUTPUTS // 2), (-10, 9)),
    ],
)
def test_onnx(kind, points, span):
    values, points = integers(*KINDS[kind]), numpy.array(points)
    scales, axis = (SCALES, {"axis": 0}) if points.ndim else (SCALES[0], {})
    nodes = [NODE("DequantizeLinear", ["w", "s", "z"], ["f"], **axis)]
    model = file(nodes, [packed(values, kind), packed(points, kind, "z"), ("s", scales)])
    view = simplify(import_onnx(model, "m", builtin_operators(), {}, {})[0])
    stored = stored_weights(view)
    column = points.reshape(-1, 1, 1, 1)
    assert numpy.array_equal(stored, values - column) and (stored.min(), stored.max()) == span
    wanted = numpy.rint(theirs((values - column).astype("f4") * scales.reshape(-1, 1, 1, 1)) / numpy.float32(0.25)) - 2
    found = cpu.run(view, {"x": DATA})["y"]
    different = found != numpy.clip(wanted, -128, 127)
    assert different.mean() < 0.001 and abs(found - wanted)[different].max(initial=0) <= 1  # middles between two levels
    assert is_packed(model, "m.onnx") == (span[1] - span[0] < 16)  # points of channels that do not cancel take more bits


@pytest.mark.parametrize("bits", [4, 3, 2, 1])
def test_qonnx(bits):
    most = max(1, (1 << bits - 1) - 1)
    values, scales = integers(-most, most), SCALES.reshape(-1, 1, 1, 1)
    values = numpy.where(values == 0, 1, values) if bits == 1 else values
    quantizer = NODE("BipolarQuant", ["w", "s"], ["f"], domain=QONNX)
    if bits > 1:
        quantizer = NODE("Quant", ["w", "s", "none", "b"], ["f"], domain=QONNX, signed=1, narrow=1, rounding_mode="ROUND")
    constants = [("w", values.astype("f4") * scales), ("s", scales), ("none", numpy.float32(0)), ("b", numpy.float32(bits))]
    model = file([quantizer], constants)
    view = simplify(import_onnx(model, "m", builtin_operators(), {}, {})[0])
    assert numpy.array_equal(stored_weights(view), values) and is_packed(model, "m.onnx")


def test_tflite():
    values = integers(-8, 7).transpose(0, 2, 3, 1)
    halves = values.reshape(-1, 2).astype(numpy.uint8) & 15
    graph = Graph()
    data = graph.input((1, 12, 12, 16), dtype="int8", scale=0.05, zero_point=-3)
    weights = graph.tensor(values.shape, "INT4", scale=SCALES, data=(halves[:, 0] | halves[:, 1] << 4).tobytes())
    bias = graph.constant(RANDOM.integers(-900, 900, OUTPUTS).astype(numpy.int32), scale=SCALES * numpy.float32(0.05))
    result = graph.output((1, 12, 12, OUTPUTS), dtype="int8", scale=0.3, zero_point=10)
    graph.node("CONV_2D", [data, weights, bias], [result], 1, (0, "int8", 0), (1, "int32", 1), (2, "int32", 1), (3, "int8", 0))
    model = write(graph)
    view = simplify(import_tflite(model, "m.tflite")[0])
    assert numpy.array_equal(numpy.sort(stored_weights(view), axis=None), numpy.sort(values, axis=None))
    assert is_packed(model, "m.tflite")
