# SPDX-License-Identifier: MIT
"""Lifetimes: which bytes must be kept from which step to which."""

from __future__ import annotations

from aidge_build.backend.adapt import adapt_to_backend
from aidge_build.backend.match import Target
from aidge_build.backend.spec import Demands
from aidge_build.export.library import load_library
from aidge_build.schedule.schedule import make_schedule
from tests.models import graph

LIBRARY = load_library({"library.toml": b'name = "toy"', "kernels.py": b"""
from aidge_build.backend.spec import IOSpec, ImplSpec
from aidge_build.export.node import ExportNode, kernel
@kernel(["Relu", "ReLU", "Add", "Reformat"], ImplSpec((IOSpec(),), (IOSpec(),)))
class Any(ExportNode): pass
"""}, "toy")


def schedule(text, scratch=0, **signature):
    assignment = adapt_to_backend(graph(text, **signature), (LIBRARY,), Target())
    return make_schedule(assignment, lambda node: Demands(scratch if node.type == "Add" else 0))


def spans(result):
    return {buffer.name: (buffer.first, buffer.last) for buffer in result.buffers}


def test_a_tensor_lives_from_its_producer_to_its_last_reader():
    result = schedule("a = Relu(x) b = Relu(a) y = Add(a, b)", inputs="float[2] x", outputs="float[2] y")
    assert spans(result) == {"x": (0, 1), "a": (0, 3), "b": (1, 3), "y": (2, 3)}


def test_inputs_live_from_the_start_and_outputs_to_the_end():
    result = schedule("a = Relu(x) y = Relu(x) b = Add(a, z)", inputs="float[2] x, float[2] z", outputs="float[2] y, float[2] b")
    assert spans(result)["z"] == (0, 3) and spans(result)["y"] == (1, 3)
    assert {buffer.name for buffer in result.buffers if buffer.kind == "io"} == {"x", "z", "y", "b"}


def test_a_view_shares_the_buffer_of_its_source_and_extends_its_life():
    result = schedule("a = Relu(x) v = Flatten(a) b = Relu(a) y = Add(v, b)", inputs="float[1,2] x", outputs="float[1,2] y")
    assert result.buffer_of["v"] == "a" and "v" not in spans(result)
    assert spans(result)["a"] == (0, 3)


def test_a_view_of_an_input_lies_with_the_input():
    result = schedule("v = Flatten(x) y = Relu(v)", inputs="float[1,2] x", outputs="float[1,2] y")
    assert result.buffer_of["v"] == "x"


def test_an_output_that_is_a_view_gives_its_name_to_the_buffer():
    result = schedule("a = Relu(x) y = Flatten(a)", inputs="float[1,2] x", outputs="float[1,2] y")
    assert result.buffer_of["a"] == "y" and spans(result)["y"] == (0, 1)


def test_scratch_lives_during_its_node_alone():
    result = schedule("a = Relu(x) b = Add(a, x) y = Relu(b)", inputs="float[2] x", outputs="float[2] y", scratch=64)
    (scratch,) = [buffer for buffer in result.buffers if buffer.kind == "scratch"]
    assert (scratch.first, scratch.last, scratch.size_bytes) == (1, 2, 64)
