# SPDX-License-Identifier: MIT
"""Variables of .tflite files are states: read before they are assigned, kept from one inference to the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.slide_states import slide_states
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.command import aidge_build
from tests.refusals import own_words
from tests.tflite_files import Graph, write

DIMS = (1, 3, 2)


class Streaming:
    """A graph with variables; methods return tensors."""

    def __init__(self) -> None:
        self.graph = Graph()

    def handle(self, name: str, container: str = "") -> int:
        made = self.graph.tensor((), "RESOURCE")
        self.graph.node("VAR_HANDLE", [], [made], 111, *([(0, "text", container)] if container else []), (1, "text", name))
        return made

    def read(self, handle: int, dims=DIMS, dtype="float32", **more) -> int:
        made = self.graph.tensor(dims, dtype, **more)
        self.graph.node("READ_VARIABLE", [handle], [made], 112)
        return made

    def assign(self, handle: int, value: int) -> None:
        self.graph.node("ASSIGN_VARIABLE", [handle, value], [], 113)

    def add(self, one: int, other: int, made: int | None = None) -> int:
        made = self.graph.tensor(DIMS) if made is None else made
        self.graph.node("ADD", [one, other], [made], 11, (0, "int8", 0))
        return made

    def start(self, number: int = 1) -> None:
        self.graph.node("CALL_ONCE", [], [], 103, (0, "int32", number))


def running_sum(first_graph: int | None = None) -> Streaming:
    """out = 2 x (old + x), old + x is the next old; a graph that gives the first value runs once."""
    made = Streaming()
    if first_graph is not None:
        made.start(first_graph)
    value, handle = made.graph.input(DIMS, name="x"), made.handle("sum")
    total = made.add(made.read(handle), value)
    made.assign(handle, total)
    made.add(total, made.read(handle), made.graph.output(DIMS, name="y"))
    return made


def first_value(values: numpy.ndarray) -> Graph:
    """The graph that runs once and assigns a constant to the variable."""
    made = Streaming()
    made.assign(made.handle("sum"), made.graph.constant(values))
    return made.graph


def outputs(data: bytes, count: int = 4) -> numpy.ndarray:
    view, _ = import_tflite(data, "net.tflite")
    assert view.given == ("x",) and view.handed_out == ("y",)
    values = numpy.arange(count * 6, dtype=numpy.float32).reshape(count, *DIMS)
    return run_in_order(view, {"x": values})["y"]


SUMS = 2 * numpy.arange(24, dtype=numpy.float32).reshape(4, *DIMS).cumsum(axis=0)


def test_a_variable_begins_with_zeros_and_what_is_read_behind_an_assignment_is_the_new_value():
    assert numpy.array_equal(outputs(write(running_sum().graph)), SUMS)


def test_the_graph_that_runs_once_gives_the_first_value():
    made, first = running_sum(1), numpy.arange(6, dtype=numpy.float32).reshape(DIMS) - 2.5
    assert numpy.array_equal(outputs(write([made.graph, first_value(first)])), SUMS + 2 * first)


def test_a_variable_that_nobody_assigns_is_a_constant():
    made = Streaming()
    made.start()
    value, handle = made.graph.input(DIMS, name="x"), made.handle("sum")
    made.add(made.read(handle), value, made.graph.output(DIMS, name="y"))
    first = numpy.full(DIMS, 7, numpy.float32)
    view, _ = import_tflite(write([made.graph, first_value(first)]), "net.tflite")
    assert view.states == () and numpy.array_equal(run_in_order(view, {"x": first[None]})["y"][0], 2 * first)


def test_variables_are_told_apart_by_name_and_container():
    made = Streaming()
    value = made.graph.input(DIMS, name="x")
    one, other = made.handle("v", "a"), made.handle("v", "b")
    old = made.read(one)
    made.add(old, made.read(other), made.graph.output(DIMS, name="y"))
    made.assign(other, old)
    made.assign(made.handle("v", "a"), value)
    values = numpy.arange(24, dtype=numpy.float32).reshape(4, *DIMS)
    late = numpy.concatenate([numpy.zeros((2, *DIMS), numpy.float32), values])
    assert numpy.array_equal(outputs(write(made.graph)), late[1:5] + late[:4])


def test_an_image_keeps_the_order_of_the_file_and_a_quantized_variable_begins_with_its_zero_point():
    made, kind = Streaming(), {"dtype": "int8", "scale": 0.5, "zero_point": -3}
    value, handle = made.graph.input((1, 2, 2, 3), name="x", **kind), made.handle("image")
    old = made.read(handle, (1, 2, 2, 3), **kind)
    made.graph.node("MAX_POOL_2D", [old], [made.graph.output((1, 1, 1, 3), name="y", **kind)], 5, *POOL)
    made.assign(handle, value)
    view, _ = import_tflite(write(made.graph), "net.tflite")
    values = numpy.arange(24, dtype=numpy.int8).reshape(2, 1, 2, 2, 3).transpose(0, 1, 4, 2, 3)
    found = run_in_order(view, {"x": values})["y"].reshape(2, 3)
    assert found.tolist() == [[-3] * 3, [9, 10, 11]]


POOL = ((0, "int8", 1), (1, "int32", 1), (2, "int32", 1), (3, "int32", 2), (4, "int32", 2), (5, "int8", 0))


def without_handle() -> list[Graph]:
    made = Streaming()
    made.graph.input(DIMS, name="x")
    made.read(made.graph.tensor((), "RESOURCE"))
    return [made.graph]


def of_two_kinds() -> list[Graph]:
    made = running_sum()
    handle = made.handle("sum")
    made.assign(handle, made.graph.constant(numpy.zeros((1, 3, 3), numpy.float32)))
    return [made.graph]


def handed_on() -> list[Graph]:
    made = running_sum()
    made.add(made.handle("sum"), 0)
    return [made.graph]


def never_given() -> list[Graph]:
    made = Streaming()
    made.add(made.read(made.handle("v")), made.graph.input(DIMS, name="x"), made.graph.output(DIMS, name="y"))
    return [made.graph]


def once(number: int, *graphs: Graph) -> list[Graph]:
    return [running_sum(number).graph, *graphs]


def computed_once() -> Graph:
    made = Streaming()
    made.add(made.graph.input(DIMS), 0)
    return made.graph


REFUSED: dict[str, tuple[Callable[[], list[Graph]], str]] = {
    "no handle": (without_handle, "node 0 (READ_VARIABLE): its variable has no VAR_HANDLE before it"),
    "two kinds": (of_two_kinds, "variable 'sum' is read as FLOAT32[1, 3, 2], what is assigned is FLOAT32[1, 3, 3]"),
    "handed on": (handed_on, "it reads the variable 'sum' itself"),
    "never given a value": (never_given, "variable 'v' is read, but nothing gives it a value"),
    "no such graph": (lambda: once(7), "it names subgraph 7, there are 1"),
    "computed at the start": (
        lambda: once(1, computed_once()),
        "the graph that it calls holds node 0 (ADD): only constants can be a variable's first value",
    ),
    "a first value of another size": (
        lambda: once(1, first_value(numpy.zeros((1, 3, 3), numpy.float32))),
        "variable 'sum' is float32[1, 3, 2], its first value is float32[1, 3, 3]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_state_is_refused_in_one_line(name):
    graphs, words = REFUSED[name]
    with pytest.raises(AidgeError) as refused:
        import_tflite(write(graphs()), "net.tflite")
    assert words in own_words(refused.value)


def test_the_firmware_remembers_as_numpy_does(tmp_path):
    made = running_sum(1)
    data = write([made.graph, first_value(numpy.arange(6, dtype=numpy.float32).reshape(DIMS))])
    (tmp_path / "net.tflite").write_bytes(data)
    numpy.savez(tmp_path / "io.npz", x=numpy.ones((5, *DIMS), numpy.float32))
    result = aidge_build("verify", tmp_path / "net.tflite", "--io-data", tmp_path / "io.npz", "--layers")
    assert result.exit_code == 0, result


def test_a_window_of_a_streaming_layer_is_the_state_itself():
    made = Streaming()
    value, old = made.graph.input((1, 1, 1, 8), name="x"), made.read(made.handle("frames"), (1, 4, 1, 8))
    window, kept = made.graph.tensor((1, 5, 1, 8)), made.graph.tensor((1, 4, 1, 8))
    made.graph.node("CONCATENATION", [old, value], [window], 10, (0, "int32", 1), (1, "int8", 0))
    bounds = [made.graph.constant(numpy.array(each, numpy.int32)) for each in ([0, 1, 0, 0], [1, 5, 1, 8], [1, 1, 1, 1])]
    made.graph.node("STRIDED_SLICE", [window, *bounds], [kept], 32, (0, "int32", 0), (1, "int32", 0))
    made.assign(made.handle("frames"), kept)
    weights = made.graph.constant(numpy.random.default_rng(0).normal(size=(6, 5, 1, 8)).astype(numpy.float32))
    operands = [window, weights, made.graph.constant(numpy.zeros(6, numpy.float32))]
    result = made.graph.output((1, 1, 1, 6), name="y")
    made.graph.node("CONV_2D", operands, [result], 1, (0, "int8", 1), (1, "int32", 1), (2, "int32", 1), (3, "int8", 0))
    view, _ = import_tflite(write(made.graph), "net.tflite")
    slid = slide_states(simplify(view))
    assert [node.type for node in slid.nodes if not node.operator.views] == ["Slide", "FC"]
    frames = {"x": numpy.random.default_rng(1).normal(size=(9, *view.tensor("x").dims)).astype(numpy.float32)}
    assert numpy.allclose(run_in_order(slid, frames)["y"], run_in_order(view, frames)["y"], atol=1e-5)
