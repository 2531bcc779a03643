# SPDX-License-Identifier: MIT
"""An operator of each kind as somebody who adds one writes it: attributes, shape rule and gradient come with the kind."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.operators.kinds import Broadcast, ElementWise, ElementWiseBinary, ForAxis, ReduceAxis
from aidge_build.operators.register import operator
from aidge_build.prepare.training.check import findings


@operator("my.domain::Centered")
class Centered(ForAxis):
    """y = x - mean of the row."""

    def along_rows(self, rows):
        return rows - rows.mean(-1, keepdims=True)

    def rows_backward(self, gradient, rows, result):
        return gradient - gradient.mean(-1, keepdims=True)


@operator("my.domain::SumOfMagnitudes")
class SumOfMagnitudes(ReduceAxis):
    """y = sum of |x|."""

    @staticmethod
    def function(data, axis, keepdims):
        return numpy.abs(data).sum(axis, keepdims=keepdims)

    def derivative(self, data, result):
        return numpy.sign(data)


@operator("my.domain::Hypotenuse")
class Hypotenuse(Broadcast):
    """y = sqrt(a^2 + b^2)."""

    function = numpy.hypot

    def derivatives(self, first, second, result):
        return first / result, second / result


@operator("my.domain::Weighted")
class Weighted(ElementWiseBinary):
    """y = a * b^2."""

    function = staticmethod(lambda first, second: first * second * second)

    def derivatives(self, first, second, result):
        return second * second, 2 * first * second


@operator("my.domain::Broken")
class Broken(ElementWise):
    """y = x, says its author."""

    def forward(self, data):
        return data + data[:, :2]


OWN = {name: cls for cls in (Centered, SumOfMagnitudes, Hypotenuse, Weighted, Broken) for name in cls.onnx_names}
X = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)


def result(cls, *inputs, **attributes) -> numpy.ndarray:
    """What a graph with this one node computes; its dims are those that were inferred."""
    graph = net.Graph("one", operators=OWN)
    values = [graph.input("x", inputs[0].shape), *inputs[1:]]
    y = graph.output(net.builder_of(cls.onnx_names[0], cls)(*values, **attributes), "y")
    execution = prepare(graph.view())
    found = execution.forward(execution.context(), {"x": inputs[0]})["y"]
    assert found.shape == y.dims
    return found


@pytest.mark.parametrize("cls", [Centered, SumOfMagnitudes, Hypotenuse, Weighted])
def test_an_operator_of_each_kind_passes_the_tests_that_it_gets(cls):
    assert cls.samples() and findings(cls) == ()


def test_rows_lie_along_the_axis_that_the_node_names():
    for axis in (-3, 0):
        assert (result(Centered, X, axis=axis) == [[[-6.0]], [[6.0]]]).all()
    assert result(Centered, X)[0, 0].tolist() == [-1.5, -0.5, 0.5, 1.5]


def test_reduced_axes_stay_or_go_and_count_from_either_end():
    for axes in ([1, 2], [-2, -1], [-1, 1]):
        assert result(SumOfMagnitudes, -X, axes=axes).tolist() == [[[66.0]], [[210.0]]]
        assert result(SumOfMagnitudes, -X, axes=axes, keepdims=0).tolist() == [66.0, 210.0]


def test_two_inputs_are_broadcast_where_the_kind_says_so():
    assert result(Hypotenuse, 3 * numpy.ones((2, 1), numpy.float32), 4 * numpy.ones(3, numpy.float32)).tolist() == [[5.0] * 3] * 2
    with pytest.raises(AidgeError, match=r"the inputs have the dims \[2, 1\] and \[3\], want equal ones"):
        result(Weighted, numpy.ones((2, 1), numpy.float32), numpy.ones(3, numpy.float32))


def test_what_fails_in_an_operator_says_at_which_node():
    with pytest.raises(ValueError, match="could not be broadcast") as failed:
        result(Broken, numpy.ones((2, 3), numpy.float32))
    assert failed.value.__notes__ == ["at node 'Broken' (Broken)"]


@pytest.mark.parametrize(
    "cls, attributes, message",
    [
        (Centered, {"axis": 3}, "axis 3 is out of range for rank 3"),
        (SumOfMagnitudes, {"axes": [0, -4]}, "axes -4 is out of range for rank 3"),
        (SumOfMagnitudes, {"axes": [2, -1]}, r"axes \(2, -1\) name an axis twice"),
    ],
)
def test_axes_that_the_input_does_not_have_are_refused_when_the_node_is_made(cls, attributes, message):
    with pytest.raises(AidgeError, match=message):
        result(cls, X, **attributes)
