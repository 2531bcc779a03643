# SPDX-License-Identifier: MIT
"""Graphs under construction: one function per operator, made from the registry."""

from __future__ import annotations

import contextlib
import copy
import inspect

import numpy
import onnx
import pytest

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import attribute, operator
from aidge_build.prepare.net.compositions import COMPOSITIONS
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import same_meaning


def small() -> tuple[net.Graph, net.Value]:
    graph = net.Graph("small")
    x = graph.input("x", (1, 2, 6, 6))
    weights = graph.parameter("w", numpy.random.default_rng(0).normal(size=(4, 2, 3, 3)))
    return graph, net.MaxPool(net.Relu(net.Conv(x, weights, pads=[1, 1, 1, 1])), kernel_shape=[2, 2], strides=[2, 2])


def test_every_operator_has_a_function_with_its_inputs_attributes_and_meaning():
    names = {name.rpartition("::")[2] for name in builtin_operators()}
    assert {*net.builder_names(), "Constant"} == names, "a constant is graph.constant"
    for name in sorted({*net.builder_names()} - {*COMPOSITIONS}):
        function = getattr(net, name)
        assert function.__name__ == name and "Inputs:" in function.__doc__ and inspect.signature(function).parameters["name"]
    conv = inspect.signature(net.Conv).parameters
    assert list(conv)[:3] == ["X", "W", "B"] and conv["B"].default is None and conv["group"].default == 1
    assert inspect.signature(net.MeanSquaredError).parameters["reduction"].default == "mean"


def test_shapes_are_known_at_once():
    graph, y = small()
    assert (y.dims, y.dtype) == ((1, 4, 3, 3), DType.float32)
    first, second = net.Split(net.Reshape(y, [1, -1]), [12, 24], axis=1, outputs=2)
    assert (first.dims, second.dims) == ((1, 12), (1, 24))


def test_an_attribute_that_is_a_type_may_be_given_as_one():
    graph = net.Graph("cast")
    x = graph.input("x", (2,))
    assert net.Cast(x, to=DType.int8).dtype is DType.int8
    graph.output(net.Cast(x, to=onnx.TensorProto.INT16), "y")
    assert graph.view().tensor("y").dtype is DType.int16


def test_the_graph_as_onnx_is_valid_and_means_the_same():
    graph, y = small()
    graph.output(net.Add(net.Mul(y, 2.5), numpy.ones((4, 1, 1), numpy.float32)), "y")
    data = graph.onnx()
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    assert data == graph.onnx()
    view, _ = import_onnx(data, "small", builtin_operators(), {}, {})
    assert view.outputs == ("y",) and same_meaning(graph.view(), view)


def test_a_copy_continues_in_another_way_and_nodes_copy():
    graph, y = small()
    other = graph.copy("other")
    graph.output(net.Sigmoid(y))
    other.output(net.Tanh(other.value(y.name)))
    assert [view.nodes[-1].type for view in (graph.view(), other.view())] == ["Sigmoid", "Tanh"]
    node = graph.view().nodes[0]
    again = copy.deepcopy(node)
    assert again.operator == node.operator and again.with_(name="more").inputs == node.inputs


def test_new_values_of_parameters_reach_the_file():
    graph, y = small()
    graph.output(y)
    graph.set_parameters({"w": numpy.zeros((4, 2, 3, 3)), "unknown": numpy.zeros(1)})
    view, _ = import_onnx(graph.onnx(), "small", builtin_operators(), {}, {})
    assert not view.tensor("w").data.any()
    with pytest.raises(AidgeError, match=r"the parameter 'w' has the dims \[4, 2, 3, 3\], not \[2\]"):
        graph.set_parameters({"w": numpy.zeros(2)})


def test_an_output_may_be_read_under_its_old_name_and_have_two_names():
    graph = net.Graph("outputs")
    first = net.Relu(graph.input("x", (2,)))
    graph.output(first, "scores")
    second = net.Relu(first)
    graph.output(first, "again")
    graph.output(second)
    view = graph.view()
    assert view.outputs == ("scores", "again", second.name) and first.dims == (2,)
    assert [node.inputs for node in view.nodes] == [("x",), ("scores",), ("scores",)]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (
            lambda g, y: net.Conv(y, numpy.ones((4, 2, 3, 3), numpy.float32)),
            r"^node 'Conv_2' \(Conv, number 3\): the input has 4 channels",
        ),
        (lambda g, y: net.Conv(y, y, padz=1), r"^Conv: got an unexpected keyword argument 'padz'. Hint: help\(net.Conv\)"),
        (lambda g, y: net.MaxPool(y), "^MaxPool: missing a required argument: 'kernel_shape'"),
        (lambda g, y: net.Relu(numpy.ones(3)), "^Relu: no input is a value of a graph"),
        (
            lambda g, y: net.RMSNormalization(y, y),
            r"^RMSNormalization came with opset 23, .* Hint: net.Graph\('small', opset=23\)",
        ),
        (lambda g, y: net.Add(y, net.Graph().input("z", (1,))), "is no value of this graph"),
        (lambda g, y: g.input("w", (1,)), "the graph has a tensor 'w' already"),
        (lambda g, y: g.view(), "the graph has no output"),
        (lambda g, y: net.Relu(y, outputs=2), "2 outputs; Relu has 1|it has 1 outputs, not 2"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_stands(wrong, message):
    with pytest.raises(AidgeError, match=message):
        wrong(*small())
    with pytest.raises(AttributeError, match="has no attribute 'Rellu'"):
        net.Rellu


def test_a_new_element_wise_operator_is_ten_lines_and_can_be_built_with_imported_and_run():
    @operator("toy.domain::Scaled")
    class Scaled(ElementWise):
        """y = gain * x."""

        gain: float = attribute(2.0)

        def forward(self, data):
            return self.gain * data

        def derivative(self, data, result):
            return self.gain

    graph = net.Graph("toy", operators={"toy.domain::Scaled": Scaled})
    build = net.builder_of("toy.domain::Scaled", Scaled)
    assert str(inspect.signature(build)) == "(data: 'Value', *, gain: 'float' = 2.0, outputs: 'int' = 1, name: 'str' = '')"
    graph.output(build(graph.input("x", (2,)), gain=3), "y")
    view, _ = import_onnx(graph.onnx(), "toy", {"toy.domain::Scaled": Scaled}, {}, {})
    assert cpu.run(view, {"x": numpy.array([1, 2], numpy.float32)})["y"].tolist() == [3, 6]
    with pytest.raises(AidgeError, match="unknown attribute 'gian'"):
        graph.node("toy.domain::Scaled", [graph.value("x")], {"gian": 3.0})


@pytest.mark.parametrize(
    "text, message",
    [
        ("class A: 'y = x.'", "is no subclass of Operator"),
        ("class A(ElementWise): pass", "A has no docstring"),
        ("class A(ElementWise):\n 'y = x.'\n a: dict = attribute(None)", "attribute a has the type dict"),
        ("class A(Operator): 'y = x.'", "A has no shape rule"),
    ],
)
def test_an_operator_that_cannot_be_registered_is_refused_at_once(text, message):
    from aidge_build.operators.base import Operator

    with pytest.raises(AidgeError, match=message):
        names = {"operator": operator, "attribute": attribute, "ElementWise": ElementWise, "Operator": Operator}
        exec(f"@operator('A')\n{text}", names)


def test_no_builder_ends_with_anything_but_a_node_or_a_refusal():
    wrong = ["text", (), [[1], [1, 2]], -7, {"a": 1}, numpy.array(["a"]), float("nan"), 10**30, None]
    for name in sorted({*net.builder_names(), *COMPOSITIONS}):
        build = getattr(net, name)
        keywords = [{}, *({key: value} for key in ("outputs", *attributes_of(build)) for value in wrong)]
        for values in ([], ["x"], ["x", "i"], ["i", "x", "i"], ["x"] * 9, *(["x", one] for one in wrong)):
            for given in keywords if values == ["x"] else keywords[:1]:
                graph = net.Graph("wrong")
                known = {"x": graph.input("x", (2, 3)), "i": graph.input("i", (0,), DType.int64)}
                with contextlib.suppress(AidgeError):
                    build(*(known[one] if isinstance(one, str) and one in known else one for one in values), **given)


def attributes_of(build) -> list[str]:
    return [entry.name for entry in inspect.signature(build).parameters.values() if entry.kind is entry.KEYWORD_ONLY]
