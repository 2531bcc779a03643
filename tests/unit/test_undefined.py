# SPDX-License-Identifier: MIT
"""Functions of int8 values that have no result for some of them are said, not refused."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Add
from aidge_build.operators.unary import Sqrt
from aidge_build.prepare.adaptation.assignment import Assignment, Choice
from aidge_build.prepare.adaptation.undefined import undefined_notices
from tests.compiled import program_of
from tests.exactness.operator_cases import Case


@pytest.mark.parametrize(
    ("kind", "zero_point", "count"), [("Sqrt", 0, 128), ("Sqrt", -128, 0), ("Log", 0, 128), ("Log", 100, 228)]
)
def test_a_function_without_a_result_for_some_bytes_is_compiled_and_says_for_how_many(kind, zero_point, count):
    program = program_of(
        Case(kind, ((4,),)).model((per_tensor(0.1, zero_point), per_tensor(0.1, 3))), "m.onnx", load_board("host")
    )
    said = [notice for notice in program.notices if "NaN" in notice]
    assert [notice.partition(" of the 256")[0].split()[-1] for notice in said] == ([str(count)] if count else [])
    assert all(kind in notice for notice in said)
    lowest = numpy.full(4, -128, numpy.int8)
    (result,) = (cpu.run(program.view, {"x0": lowest})[name] for name in program.view.outputs)
    assert result.tolist() == [3 if count else {"Sqrt": 3}[kind]] * 4


def test_an_operator_with_a_result_for_every_byte_says_nothing():
    program = program_of(
        Case("Reciprocal", ((4,),)).model((per_tensor(0.1, 0), per_tensor(0.1, 3))), "m.onnx", load_board("host")
    )
    assert not [notice for notice in program.notices if "NaN" in notice]


ALONG = Quantization((0.1, 0.2), (0, 0), 0)


@pytest.mark.parametrize(
    ("operator", "source", "result", "count"),
    [
        (Sqrt(), per_tensor(0.1, 5), per_tensor(0.1, 3), 133),
        (Sqrt(), None, per_tensor(0.1, 3), 0),
        (Sqrt(), ALONG, per_tensor(0.1, 3), 0),
        (Sqrt(), per_tensor(0.1, 5), None, 0),
        (Add(), per_tensor(0.1, 5), per_tensor(0.1, 3), 0),
    ],
)
def test_only_functions_of_one_stored_value_with_one_scale_are_counted(operator, source, result, count):
    dtype = DType.int8 if result else DType.float32
    tensors = {"x": Tensor("x", (2, 2), DType.int8, quantization=source), "y": Tensor("y", (2, 2), dtype, quantization=result)}
    view = GraphView("net", (Node("one", operator, ("x",), ("y",)),), tensors, ("x",), ("y",))
    said = undefined_notices(Assignment(view, {"one": Choice("kernel", "")}))
    assert [line.partition(" of the 256")[0] for line in said] == ([f"node 'one' (Sqrt): {count}"] if count else [])
