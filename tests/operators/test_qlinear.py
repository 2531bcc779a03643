# SPDX-License-Identifier: MIT
"""Operators of the domain com.microsoft: imported, expanded by the recipes, compared with onnxruntime, and as generated C."""

from __future__ import annotations

from functools import cache

import numpy
import onnx
import pytest
from onnx import compose, helper, numpy_helper

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.firmware import execute
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import program_of

F = numpy.float32
DIMS = (1, 3, 4, 4)
WEIGHTS = numpy.random.default_rng(2).integers(-60, 60, (16, 5))
# Inputs in order: dims of what moves, or the values of a constant; scales begin with s. Zero points (z) and weights (w) are of
# the case's type and count from its middle: 128 is added for uint8.
PAIR = [("x", DIMS), ("sx", F(0.05)), ("zx", 3), ("w", DIMS), ("sw", F(0.03)), ("zw", 0), ("sy", F(0.04)), ("zy", 2)]
ONE = [("x", DIMS), ("sx", F(0.05)), ("zx", 3), ("sy", F(0.02)), ("zy", 1)]
GEMM = [
    ("x", (6, 16)),
    ("sx", F(0.05)),
    ("zx", 3),
    ("w", WEIGHTS),
    ("sw", F(0.03)),
    ("zw", 0),
    ("bias", numpy.arange(-2000, 3000, 1000)),
    ("sy", F(1.5)),
    ("zy", 2),
]
CASES = {
    "QLinearAdd": (PAIR, {}, DIMS),
    "QLinearMul": (PAIR, {}, DIMS),
    "QLinearSigmoid": (ONE, {}, DIMS),
    "QLinearLeakyRelu": (ONE, {"alpha": 0.1}, DIMS),
    "QLinearSoftmax": (
        [("x", (6, 16)), ("sx", F(0.05)), ("zx", 3), ("sy", F(1 / 256)), ("zy", -128)],
        {"axis": 1, "opset": 13},
        (6, 16),
    ),
    "QLinearGlobalAveragePool": (ONE, {"channels_last": 0}, (1, 3, 1, 1)),
    "QLinearAveragePool": (ONE, {"kernel_shape": [2, 2], "strides": [2, 2]}, (1, 3, 2, 2)),
    "QLinearConcat": (
        [("sy", F(0.06)), ("zy", 1), ("x", DIMS), ("sx", F(0.05)), ("zx", 3), ("w", DIMS), ("sw", F(0.03)), ("zw", 0)],
        {"axis": 1},
        (1, 6, 4, 4),
    ),
    "QGemm": (GEMM, {}, (6, 5)),
}


def made(kind: str, dtype: str) -> onnx.ModelProto:
    """A model of one node."""
    parameters, attributes, dims = CASES[kind]
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    middle = 128 if dtype == "uint8" else 0
    types = {"s": F, "b": numpy.int32, "z": dtype, "w": dtype}
    constants = [
        numpy_helper.from_array((numpy.array(value) + (middle if name[0] in "zw" else 0)).astype(types[name[0]]), name)
        for name, value in parameters
        if not isinstance(value, tuple)
    ]
    moving = [helper.make_tensor_value_info(name, element, value) for name, value in parameters if isinstance(value, tuple)]
    node = helper.make_node(kind, [name for name, _ in parameters], ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", moving, [helper.make_tensor_value_info("y", element, dims)], constants)
    return helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    )


def random_inputs(view, dtype: str) -> dict[str, numpy.ndarray]:
    limits, random = numpy.iinfo(dtype), numpy.random.default_rng(1)
    return {name: random.integers(limits.min, limits.max + 1, view.tensor(name).dims).astype(dtype) for name in view.inputs}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", sorted(CASES))
def test_a_qlinear_operator_is_within_one_level_of_onnxruntime(kind, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    data = made(kind, dtype).SerializeToString()
    view, _ = import_onnx(data, "m", builtin_operators(), {}, {})
    inputs, simple = random_inputs(view, dtype), simplify(view)
    assert not any(node.type.startswith(("QLinear", "QGemm")) for node in simple.nodes)
    (theirs,) = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, inputs)
    assert len(numpy.unique(theirs)) > 1
    for graph in (view, simple):
        ours = cpu.run(graph, inputs)["y"].astype(int)
        distance = numpy.abs(ours - theirs)
        assert distance.max() <= 1 and (distance > 0).mean() <= 0.2, distance.max()


@pytest.mark.parametrize("name", ["sx", "zx", "sy", "zy"])
@pytest.mark.parametrize("kind", ["QGemm", "QLinearAdd"])
def test_a_list_of_scales_of_data_is_refused(kind, name, monkeypatch):
    parameters, attributes, dims = CASES[kind]
    several = [(one, [value] * 6 if one == name else value) for one, value in parameters]
    monkeypatch.setitem(CASES, kind, (several, attributes, dims))
    with pytest.raises(AidgeError, match=r"has the dims \[6\], wants one number"):
        import_onnx(made(kind, "int8").SerializeToString(), "m", builtin_operators(), {}, {})


@cache
def all_in_one(dtype: str) -> bytes:
    """Every case side by side in one model."""
    first, *rest = [compose.add_prefix(made(kind, dtype), f"{kind}_") for kind in sorted(CASES)]
    for model in rest:
        first = compose.merge_models(first, model, io_map=[])
    return first.SerializeToString()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_generated_code_equals_the_numpy_backend_on_every_qlinear_operator(dtype, tmp_path):
    board = load_board("host")
    program = program_of(all_in_one(dtype), "all.onnx", board)
    inputs = random_inputs(program.view, dtype)
    found = execute(program, board, {name: values[None] for name, values in inputs.items()}, tmp_path).outputs
    wanted = cpu.run(program.view, inputs)
    assert len(program.view.outputs) == len(CASES)
    for name in program.view.outputs:
        assert found[name][0].tolist() == wanted[name].tolist(), name
