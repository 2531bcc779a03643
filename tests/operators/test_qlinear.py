# SPDX-License-Identifier: MIT
"""Operators of the domain com.microsoft: imported, expanded by the recipes, and compared with onnxruntime."""

from __future__ import annotations

import numpy
import pytest
from onnx import helper, numpy_helper

from aidge_build.backend import cpu
from aidge_build.importers.onnx_importer import import_onnx
from aidge_build.operators import builtin_operators
from aidge_build.recipes import simplify

F, Z = numpy.float32, {"int8": numpy.int8, "uint8": numpy.uint8}
PAIR = [("x", None), ("sx", F(0.05)), ("zx", 3), ("w", None), ("sw", F(0.03)), ("zw", 0), ("sy", F(0.04)), ("zy", 2)]
ONE = [("x", None), ("sx", F(0.05)), ("zx", 3), ("sy", F(0.02)), ("zy", 1)]
CASES = {
    "QLinearAdd": (PAIR, {}, (1, 3, 4, 4)), "QLinearMul": (PAIR, {}, (1, 3, 4, 4)),
    "QLinearSigmoid": (ONE, {}, (1, 3, 4, 4)), "QLinearLeakyRelu": (ONE, {"alpha": 0.1}, (1, 3, 4, 4)),
    "QLinearGlobalAveragePool": (ONE, {"channels_last": 0}, (1, 3, 1, 1)),
    "QLinearAveragePool": (ONE, {"kernel_shape": [2, 2], "strides": [2, 2]}, (1, 3, 2, 2)),
    "QLinearConcat": ([("sy", F(0.06)), ("zy", 1), ("x", None), ("sx", F(0.05)), ("zx", 3), ("w", None), ("sw", F(0.03)), ("zw", 0)],
                      {"axis": 1}, (1, 6, 4, 4)),
}


def made(kind: str, dtype: str, parameters, attributes, dims):
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    names = [name for name, _ in parameters]
    constants = [numpy_helper.from_array(numpy.array(value if name[0] == "s" else Z[dtype](value)), name)
                 for name, value in parameters if value is not None]
    moving = [helper.make_tensor_value_info(name, element, [1, 3, 4, 4]) for name in ("x", "w") if name in names]
    node = helper.make_node(kind, names, ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", moving, [helper.make_tensor_value_info("y", element, dims)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 8
    return model.SerializeToString()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", sorted(CASES))
def test_a_qlinear_operator_is_within_one_level_of_onnxruntime(kind, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    data = made(kind, dtype, *CASES[kind])
    view, _ = import_onnx(data, "m", builtin_operators(), {}, {})
    limits = numpy.iinfo(dtype)
    inputs = {name: numpy.random.default_rng(1).integers(limits.min, limits.max + 1, (1, 3, 4, 4)).astype(dtype) for name in view.inputs}
    simple = simplify(view)
    assert not any(node.type.startswith("QLinear") for node in simple.nodes)
    (theirs,) = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, inputs)
    for graph in (view, simple):
        ours = cpu.run(graph, inputs)["y"].astype(int)
        distance = numpy.abs(ours - theirs)
        assert distance.max() <= 1 and (distance > 0).mean() <= 0.2, distance.max()
