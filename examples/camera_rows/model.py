# SPDX-License-Identifier: MIT
"""Writes stripes.onnx, a network that says how the stripes of a picture run:   python model.py stripes.onnx

Made by hand: eight edge filters, two for each of four directions, smoothed, and their sums compared. `python samples.py` draws
pictures.
"""

from __future__ import annotations

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 64
DIRECTIONS = ("level", "rising", "upright", "falling")


def edges() -> numpy.ndarray:
    """[8, 1, 3, 3]: how bright one side is beside the other, and the other beside the one."""
    x, y = numpy.meshgrid((-1, 0, 1), (-1, 0, 1))
    found = [y, x + y, x, x - y]
    filters = [sign * numpy.sign(one) * (2 - numpy.abs(x * y)) / 6 for one in found for sign in (1, -1)]
    return numpy.array(filters, numpy.float32)[:, None]


def model() -> onnx.ModelProto:
    smooth = numpy.tile(numpy.outer([1, 2, 1], [1, 2, 1]) / 16, (8, 1, 1, 1)).astype(numpy.float32)
    mixed = numpy.eye(8, dtype=numpy.float32).reshape(8, 8, 1, 1)
    summed = numpy.kron(numpy.eye(4), [[1], [1]]).astype(numpy.float32)  # both filters of a direction
    constants = {"edges": edges(), "smooth": smooth, "mixed": mixed, "summed": summed}
    nodes = [
        helper.make_node("Conv", ["picture", "edges"], ["found"], "edge", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["found"], ["bright"], "one_side"),
        helper.make_node(
            "Conv", ["bright", "smooth"], ["calm"], "calm", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], group=8
        ),
        helper.make_node("Conv", ["calm", "mixed"], ["same"], "mix", kernel_shape=[1, 1]),
        helper.make_node("GlobalAveragePool", ["same"], ["mean"], "mean"),
        helper.make_node("Flatten", ["mean"], ["flat"], "flat"),
        helper.make_node("MatMul", ["flat", "summed"], ["scores"], "scores"),
    ]
    graph = helper.make_graph(
        nodes,
        "stripes",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 1, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="examples/camera_rows")
    made.ir_version = 8
    onnx.checker.check_model(made)
    return made


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        file.write(model().SerializeToString(deterministic=True))
