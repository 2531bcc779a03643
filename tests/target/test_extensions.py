# SPDX-License-Identifier: MIT
"""A board, an operator with its kernel, and a library are added in a folder of the user's own: no existing file changes."""

from __future__ import annotations

import json

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from tests.command import aidge_build

BOARD = """# SPDX-License-Identifier: MIT
extends = "mps2-an386"
title = "Toy board"
libs = ["toy", "ref"]
"""
OPERATOR = '''# SPDX-License-Identifier: MIT
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import attribute, operator


@operator("toy.domain::TimesPlusOne")
class TimesPlusOne(ElementWise):
    """y = factor * x + 1."""

    factor: float = attribute(1.0)

    def forward(self, data):
        return data * self.factor + 1
'''
KERNEL = """# SPDX-License-Identifier: MIT
import numpy

from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.graph.dtype import dtype

FLOATS = IOSpec(dtype.float32, SAME)


@kernel("TimesPlusOne", ImplSpec((FLOATS,), (FLOATS,)))
class TimesPlusOne(KernelNode):
    def call(self):
        factor = Constant("factor", numpy.array([self.operator.factor], numpy.float32))
        return Call("toy_times_plus_one", ("times_plus_one.h",), (Input(), Output(), factor, Literal(self.outputs[0].elements)))
"""
HEADER = """/* SPDX-License-Identifier: 0BSD */
static void toy_times_plus_one(const float *input, float *output, const float *factor, int32_t count)
{
    for (int32_t index = 0; index < count; index++)
        output[index] = input[index] * factor[0] + 1.0f;
}
"""


@pytest.fixture
def project(tmp_path):
    """A folder with a board, a library that brings an operator, and a model that uses it."""
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards" / "toyboard.toml").write_text(BOARD)
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "library.toml").write_text('name = "toy"\n')
    (tmp_path / "toy" / "times_plus_one_operator.py").write_text(OPERATOR)
    (tmp_path / "toy" / "times_plus_one.py").write_text(KERNEL)
    (tmp_path / "toy" / "times_plus_one.h").write_text(HEADER)
    node = helper.make_node("TimesPlusOne", ["x"], ["y"], name="toy", domain="toy.domain", factor=2.5)
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    model = helper.make_model(
        helper.make_graph([node], "toy", value[:1], value[1:]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("toy.domain", 1)],
    )
    model.ir_version = 8
    onnx.save(model, tmp_path / "toy.onnx")
    numpy.savez(tmp_path / "io.npz", x=numpy.arange(12, dtype=numpy.float32).reshape(2, 2, 3))
    return tmp_path


def test_a_board_an_operator_and_a_library_of_ones_own_work_together(project):
    result = aidge_build(
        "verify",
        project / "toy.onnx",
        "--io-data",
        project / "io.npz",
        "--board",
        "toyboard",
        "--board-path",
        project / "boards",
        "--kernel-path",
        project / "toy",
        "--json",
        "--keep",
        project / "kept",
    )
    assert result.exit_code == 0, result.stderr
    assert result.json["layers"][0]["kernel"] == "toy times_plus_one" and result.json["board"] == "toyboard"
    outputs = numpy.frombuffer((project / "kept" / "output.bin").read_bytes(), numpy.float32)
    assert outputs.tolist() == [2.5 * x + 1 for x in range(12)]


def test_what_was_added_is_listed(project):
    kernels = aidge_build("kernels", "--kernel-path", project / "toy", "--json").json
    assert "toy" in [library["name"] for library in kernels["libraries"]]
    operators = aidge_build("ops", "--kernel-path", project / "toy", "--json").json["operators"]
    (types,) = [row["dtypes"] for row in operators if row["type"] == "TimesPlusOne"]
    assert types["toy"] == ["float32"] and types["ref"] == ["int8"], "every element-wise operator is a table between int8 tensors"


def test_what_was_added_is_a_dependency_of_the_build(project):
    out = project / "generated"
    result = aidge_build(
        "compile",
        project / "toy.onnx",
        "--name",
        "toy",
        "--out",
        out,
        "--board",
        "toyboard",
        "--board-path",
        project / "boards",
        "--kernel-path",
        project / "toy",
        "--depfile",
        out / "toy.d",
        "--stamp",
        out / "toy.stamp",
    )
    assert result.exit_code == 0, result.stderr
    depfile = (out / "toy.d").read_text()
    for name in (
        "toyboard.toml",
        "times_plus_one.h",
        "times_plus_one.py",
        "times_plus_one_operator.py",
        "toy.onnx",
        "mps2-an386.toml",
    ):
        assert name in depfile
    assert json.loads((out / "toy.plan.json").read_text())["layers"][0]["library"] == "toy"


def test_without_the_library_the_operator_is_unknown(project):
    result = aidge_build("explain", project / "toy.onnx", "--lib", "ref")
    assert result.exit_code == 2 and "toy.domain::TimesPlusOne" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
