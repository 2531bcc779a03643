# SPDX-License-Identifier: MIT
"""Writes hello.onnx, a network of 9 numbers that says whether exactly one of two inputs is on:   python model.py hello.onnx"""

from __future__ import annotations

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# hidden = max(0, [a + b, a + b - 1]); result = hidden[0] - 2 hidden[1]
PARAMETERS = {
    "weights1": [[1, 1], [1, 1]],
    "bias1": [0, -1],
    "weights2": [[1], [-2]],
    "bias2": [0],
}


def model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gemm", ["switches", "weights1", "bias1"], ["sums"], "hidden"),
        helper.make_node("Relu", ["sums"], ["on"], "rectified"),
        helper.make_node("Gemm", ["on", "weights2", "bias2"], ["lamp"], "result"),
    ]
    graph = helper.make_graph(
        nodes,
        "hello",
        [helper.make_tensor_value_info("switches", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("lamp", TensorProto.FLOAT, [1, 1])],
        [numpy_helper.from_array(numpy.array(values, numpy.float32), name) for name, values in PARAMETERS.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="examples/hello")
    made.ir_version = 8
    onnx.checker.check_model(made)
    return made


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        file.write(model().SerializeToString(deterministic=True))
