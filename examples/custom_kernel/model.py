# SPDX-License-Identifier: MIT
"""Writes a network behind eight thermistors, whose curve is an operator of our own:   python model.py model/thermal.onnx"""

from __future__ import annotations

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SENSORS = 8
CURVE = [-20.0, 95.0, -60.0, 25.0]  # degrees Celsius of a voltage from 0 to 1


def model() -> onnx.ModelProto:
    """The mean temperature, the hottest place above it, and the slope from the first sensor to the last."""
    slope = numpy.linspace(-1, 1, SENSORS)
    weights = numpy.stack([numpy.full(SENSORS, 1 / SENSORS), slope / (slope**2).sum()], axis=1).astype(numpy.float32)
    nodes = [
        helper.make_node("Polynomial", ["volts"], ["degrees"], "curve", domain="com.example", coefficients=CURVE),
        helper.make_node("MatMul", ["degrees", "weights"], ["trend"], "trend"),
        helper.make_node("ReduceMax", ["degrees"], ["hottest"], "hottest", axes=[1], keepdims=1),
        helper.make_node("Concat", ["trend", "hottest"], ["thermal"], "thermal", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "thermal",
        [helper.make_tensor_value_info("volts", TensorProto.FLOAT, [1, SENSORS])],
        [helper.make_tensor_value_info("thermal", TensorProto.FLOAT, [1, 3])],
        [numpy_helper.from_array(weights, "weights")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    made = helper.make_model(graph, opset_imports=opsets, producer_name="examples/custom_kernel")
    made.ir_version = 8
    return made


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        file.write(model().SerializeToString(deterministic=True))
