# SPDX-License-Identifier: MIT
"""The model file: one character in, the scores of the next one out. Keys and values of the last 128 characters are states."""

from __future__ import annotations

import json

import numpy
import onnx
from network import CHARACTERS, EPSILON, HEAD, HEADS, LAYERS, SLOPES, UNSEEN, WIDTH, WINDOW, Parameters
from onnx import TensorProto, helper, numpy_helper
from rounding import BLOCK, rounded, table


class Builder:
    """Nodes, constants and states of the graph."""

    def __init__(self, parameters: Parameters, bits: int):
        self.parameters, self.bits = parameters, bits
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs = [helper.make_tensor_value_info("character", TensorProto.INT64, [1])]
        self.outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CHARACTERS])]
        self.states: dict[str, str] = {}

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Adds a node, which is called like its output."""
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def constant(self, name: str, values: object, dtype: type = numpy.float32) -> str:
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(values, dtype), name))
        return name

    def state(self, name: str, dtype: int, dims: list[int]) -> None:
        """An input and the output that is its next value."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        self.outputs.append(helper.make_tensor_value_info(f"{name}_next", dtype, dims))
        self.states[f"{name}_next"] = name

    def linear(self, data: str, name: str, output: str, gain: float = 1.0) -> str:
        """A product with weights of a few bits, times a gain that the scales hold."""
        levels, scales = rounded(self.parameters[name], self.bits)
        blocks, _, columns = levels.shape
        field = 4 if self.bits == 3 else self.bits  # MatMulNBits has no 3 bits
        stored = (levels + 2 ** (field - 1)).astype(numpy.uint8).transpose(2, 0, 1).reshape(columns, blocks, -1, 8 // field)
        packed = (stored << numpy.arange(0, 8, field, dtype=numpy.uint8)).sum(axis=-1)
        constants = [
            self.constant(f"{name}.levels", packed, numpy.uint8),
            self.constant(f"{name}.scales", (scales[:, 0] * gain).T.reshape(-1)),
        ]
        sizes = {"K": blocks * BLOCK, "N": columns, "bits": field, "block_size": BLOCK}
        return self.node("MatMulNBits", [data, *constants], output, domain="com.microsoft", **sizes)

    def distances(self) -> None:
        """`place`: the row of the caches that this character gets. `distances` [HEADS, WINDOW]: what is added to the scores."""
        self.state("position", TensorProto.INT64, [1])
        self.node("Add", ["position", self.constant("one", [1], numpy.int64)], "position_next")
        last = self.constant("last", [WINDOW - 1], numpy.int64)
        self.node("BitwiseAnd", ["position", last], "row")
        self.node("Reshape", ["row", self.constant("index", [1, 1], numpy.int64)], "place")
        self.node("Sub", ["position", self.constant("rows", numpy.arange(WINDOW), numpy.int64)], "since")
        self.node("BitwiseAnd", ["since", last], "distance")
        self.node("LessOrEqual", ["distance", "position"], "seen")
        self.node("Cast", ["distance"], "far", to=TensorProto.FLOAT)
        self.node("Where", ["seen", "far", self.constant("unseen", [-UNSEEN])], "distant")
        self.node("Mul", ["distant", self.constant("slopes", -SLOPES[:, None])], "distances")

    def attention(self, layer: int, x: str) -> str:
        """The sum of x and what the heads read."""
        at = f"{layer}."
        y = self.node("RMSNormalization", [x, "gains"], f"{at}normal", epsilon=EPSILON)
        query = self.linear(y, f"{at}query", f"{at}queries", HEAD**-0.5)
        for name in ("key", "value"):
            self.linear(y, at + name, f"{at}new_{name}")
            self.state(f"{at}{name}s", TensorProto.FLOAT, [WINDOW, HEAD])
            self.node("ScatterND", [f"{at}{name}s", "place", f"{at}new_{name}"], f"{at}{name}s_next")
        self.node("Reshape", [query, "heads"], f"{at}by_head")
        self.node("Transpose", [f"{at}by_head"], f"{at}columns", perm=[1, 0])
        self.node("MatMul", [f"{at}keys_next", f"{at}columns"], f"{at}products")
        self.node("Transpose", [f"{at}products"], f"{at}alike", perm=[1, 0])
        self.node("Add", [f"{at}alike", "distances"], f"{at}near")
        self.node("Softmax", [f"{at}near"], f"{at}shares", axis=-1)
        self.node("MatMul", [f"{at}shares", f"{at}values_next"], f"{at}read")
        self.node("Reshape", [f"{at}read", "flat"], f"{at}joined")
        return self.node("Add", [x, self.linear(f"{at}joined", f"{at}output", f"{at}attended")], f"{at}attention")

    def feed_forward(self, layer: int, x: str) -> str:
        """The sum of x and two linear layers with relu(x)^2 between them."""
        at = f"{layer}."
        y = self.node("RMSNormalization", [x, "gains"], f"{at}normal_2", epsilon=EPSILON)
        self.node("Relu", [self.linear(y, f"{at}wide", f"{at}hidden")], f"{at}positive")
        self.node("Mul", [f"{at}positive", f"{at}positive"], f"{at}squares")
        return self.node("Add", [x, self.linear(f"{at}squares", f"{at}narrow", f"{at}thought")], f"{at}x")


def model(parameters: Parameters, bits: int) -> bytes:
    """The file."""
    made = Builder(parameters, bits)
    made.constant("gains", numpy.ones(WIDTH))
    made.constant("heads", [HEADS, HEAD], numpy.int64)
    made.constant("flat", [1, WIDTH], numpy.int64)
    made.distances()
    rows, scale = table(parameters["characters"])
    made.node("Gather", [made.constant("characters", rows, numpy.int8), "character"], "row_of_character")
    x = made.node("DequantizeLinear", ["row_of_character", made.constant("characters.scale", scale)], "x")
    for layer in range(LAYERS):
        x = made.feed_forward(layer, made.attention(layer, x))
    y = made.node("RMSNormalization", [x, "gains"], "normal", epsilon=EPSILON)
    made.linear(y, "scores", "scores")
    graph = helper.make_graph(made.nodes, "story", made.inputs, made.outputs, made.constants)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    file = helper.make_model(graph, opset_imports=opsets, producer_name="examples/story")
    file.ir_version = 10
    helper.set_model_props(file, {"aidge_build.states": json.dumps(made.states)})
    onnx.checker.check_model(file)
    return file.SerializeToString(deterministic=True)
