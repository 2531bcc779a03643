# SPDX-License-Identifier: MIT
"""Dims that are not known yet: the nodes behind them wait for `bind`, and whoever needs a dim is told so."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType

WEIGHTS = numpy.random.default_rng(2).normal(size=(4, 3, 3, 3)).astype(numpy.float32)


def network(dims) -> net.Graph:
    graph = net.Graph("open")
    x = graph.input("x", dims)
    weights = graph.parameter("w", WEIGHTS)
    hidden = net.Relu(net.Conv(x, weights, pads=(1, 1, 1, 1)))
    graph.output(net.Add(net.MaxPool(hidden, kernel_shape=(2, 2), strides=(2, 2)), 1.5), "y")
    return graph


@pytest.mark.parametrize(
    "dims, sizes",
    [
        (("N", 3, "H", 10), {"N": 2, "H": 8}),
        ((2, 3, None, 10), {"x": (2, 3, 8, 10)}),
        ((None, None, None, None), {"x": [2, 3, 8, 10]}),
        (None, {"x": (2, 3, 8, 10)}),
        (("N", 3, 8, 10), {"N": numpy.int64(2)}),
    ],
)
def test_a_graph_that_is_bound_later_is_the_graph_that_was_built_with_its_sizes(dims, sizes):
    open_graph, closed = network(dims), network((2, 3, 8, 10))
    assert open_graph.value("y").is_open
    bound = open_graph.bind(sizes)
    assert str(bound.view()) == str(closed.view()) and bound.onnx() == closed.onnx()
    assert bound.parameters().keys() == {"w"} and not bound.value("y").is_open
    inputs = {"x": numpy.random.default_rng(3).normal(size=(2, 3, 8, 10)).astype(numpy.float32)}
    assert numpy.array_equal(cpu.run(bound.view(), inputs)["y"], cpu.run(closed.view(), inputs)["y"])


def test_sizes_may_come_one_after_the_other():
    half = network(("N", 3, "H", 10)).bind({"H": 8})
    assert half.value("y").is_open and half.bind({"N": 1}).value("y").dims == (1, 4, 4, 5)


@pytest.mark.parametrize("needs", [lambda g: g.view(), lambda g: g.onnx(), lambda g: g.value("y").dims, lambda g: g.tensor("x")])
def test_who_needs_a_dim_that_is_not_known_is_told_which_one_and_what_to_do(needs):
    with pytest.raises(AidgeError, match=r"not known yet: input 'x' \[N, 3, \?, 10\]\. Hint: graph.bind\(\{\"N\": 4\}\)"):
        needs(network(("N", 3, None, 10)))


def test_shapes_that_do_not_depend_on_an_open_dim_are_known():
    graph = net.Graph()
    graph.input("x", ("N", 3))
    assert net.Relu(graph.input("z", (2, 3))).dims == (2, 3)


def test_a_node_that_does_not_fit_is_found_when_it_is_bound():
    with pytest.raises(AidgeError, match="'Conv' .*the input has 5 channels"):
        network(("N", "C", 8, 10)).bind({"N": 1, "C": 5})


def test_an_unknown_operator_is_found_at_once():
    graph = net.Graph()
    with pytest.raises(AidgeError, match="no operator is registered for Nothing"):
        graph.node("Nothing", [graph.input("x", None)], {})


@pytest.mark.parametrize(
    "sizes, reason",
    [
        ({"M": 3}, "no dim and no open input is called 'M'. Tried: N; x"),
        ({"x": (1, 4, 8, 10)}, r"the input 'x' has the dims \[N, 3, 8, 10\], not \[1, 4, 8, 10\]"),
        ({"x": (1, 3, 8)}, "not \\[1, 3, 8\\]"),
        ({"N": (1, 2)}, r"a dim is a number, not \(1, 2\)"),
        ({"N": -1}, "a dim of the input 'x' is -1"),
        ({"x": "big"}, "are a list of sizes, not 'big'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, reason):
    with pytest.raises(AidgeError, match=reason):
        network(("N", 3, 8, 10)).bind(sizes)


@pytest.mark.parametrize("dims", [5, "N", (1, 2.5), (True, 2), (1, ""), (-1, 2)])
def test_dims_that_are_none_are_refused_in_one_line(dims):
    with pytest.raises(AidgeError, match="the input 'x'"):
        net.Graph().input("x", dims)


def test_an_input_keeps_its_type_and_a_name_is_taken_once():
    graph = net.Graph()
    graph.input("x", ("N",), DType.int8)
    assert graph.bind({"N": 3}).value("x").dtype is DType.int8
    with pytest.raises(AidgeError, match="the graph has a tensor 'x' already"):
        graph.input("x", (3,))


def test_a_copy_of_an_open_graph_is_continued_on_its_own():
    graph = network(("N", 3, 8, 10))
    other = graph.copy("other")
    other.output(net.Relu(other.value("y")), "z")
    assert other.bind({"N": 1}).value("z").dims == (1, 4, 4, 5)
    assert repr(graph.value("y")) == "y: dims not known yet"
    with pytest.raises(AidgeError, match="has no tensor 'z'"):
        graph.value("z")
