# SPDX-License-Identifier: MIT
"""Lifetimes: which bytes must be kept from which step to which, and which outputs take over the bytes of an input."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.library import load_library
from aidge_build.contract.spec import Demands
from aidge_build.plan.memory.buffer import Buffer, Overlap, Window
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.schedule.copies import ConstantCopy, arrays_in_line
from aidge_build.plan.schedule.in_place import Chain
from aidge_build.plan.schedule.schedule import make_schedule
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target
from tests.models import graph

LIBRARY = load_library(
    {
        "library.toml": b'name = "toy"',
        "kernels.py": b"""
from aidge_build.contract.spec import IOSpec, ImplSpec
from aidge_build.contract.node import KernelNode, kernel
@kernel(["Relu", "ReLU", "Add", "Reformat", "Concat"], ImplSpec((IOSpec(),), (IOSpec(),)))
class Any(KernelNode): pass
""",
    },
    "toy",
)


def schedule(text, demands=lambda node: Demands(), reuse="plain", io_outside=True, **signature):
    assignment = adapt_to_backend(graph(text, **signature), (LIBRARY,), Target())
    return make_schedule(assignment, demands, reuse, io_outside=io_outside)


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
    result = schedule(
        "a = Relu(x) b = Add(a, x) y = Relu(b)",
        lambda node: Demands(64 if node.type == "Add" else 0),
        inputs="float[2] x",
        outputs="float[2] y",
    )
    (scratch,) = [buffer for buffer in result.buffers if buffer.kind == "scratch"]
    assert (scratch.first, scratch.last, scratch.size_bytes) == (1, 2, 64)


def test_the_better_order_is_taken_and_reported():
    text = (
        "p = Concat<axis=0>(x, x, x, x) q = Concat<axis=0>(x, x, x, x) s = Slice(p, from, to) t = Slice(q, from, "
        "to) y = Add(s, t)"
    )
    library = load_library(
        {"library.toml": b'name = "toy"', "kernels.py": LIBRARY.files["kernels.py"].replace(b'"Concat"', b'"Concat", "Slice"')},
        "toy",
    )
    view = graph(text, inputs="float[8] x", outputs="float[8] y", constants={"from": numpy.array([0]), "to": numpy.array([8])})
    assignment = adapt_to_backend(view, (library,), Target())
    result = make_schedule(assignment, lambda node: Demands(), "plain", io_outside=True)
    assert [node.outputs[0] for node in result.steps] == ["p", "s", "q", "t", "y"]
    assert (result.order.peak_bytes, result.order.proved_optimal) == (32 + 128 + 32, True)


def in_place(*positions):
    return lambda node: Demands(in_place=positions) if node.type in ("ReLU", "Relu", "Add") else Demands()


def test_the_last_reader_may_work_in_place():
    result = schedule(
        "a = Relu(x) b = Relu(a) c = Relu(b) y = Relu(c)", in_place(0), "shared", inputs="float[2] x", outputs="float[2] y"
    )
    assert (result.buffer_of["b"], result.buffer_of["c"]) == ("a", "a")
    assert spans(result) == {"x": (0, 1), "a": (0, 4), "y": (3, 4)}


def test_without_sharing_nothing_is_in_place():
    result = schedule("a = Relu(x) b = Relu(a) y = Relu(b)", in_place(0), "plain", inputs="float[2] x", outputs="float[2] y")
    assert not result.in_place and set(spans(result)) == {"x", "a", "b", "y"}


def test_what_is_read_later_is_not_overwritten():
    result = schedule(
        "a = Relu(x) b = Relu(a) c = Relu(b) y = Add(c, a)", in_place(0), "shared", inputs="float[2] x", outputs="float[2] y"
    )
    assert result.buffer_of["b"] == "b" and result.buffer_of["c"] == "b"


def test_what_is_read_through_a_view_later_is_not_overwritten():
    result = schedule(
        "a = Relu(x) v = Flatten(a) b = Relu(a) c = Relu(b) y = Add(c, v)",
        in_place(0),
        "shared",
        inputs="float[1,2] x",
        outputs="float[1,2] y",
    )
    assert result.buffer_of["b"] == "b"


def test_an_operand_that_is_also_read_where_it_may_not_be_overwritten_is_kept():
    text, signature = "a = Relu(x) b = Add(a, a) y = Relu(b)", {"inputs": "float[2] x", "outputs": "float[2] y"}
    assert schedule(text, lambda node: Demands(in_place=(0,) if node.type == "Add" else ()), "shared", **signature).in_place == {}
    assert list(
        schedule(
            text, lambda node: Demands(in_place=(0, 1) if node.type == "Add" else ()), "shared", **signature
        ).in_place.values()
    ) == ["a"]


def test_the_firmwares_inputs_and_outputs_are_never_shared():
    signature = {"inputs": "float[2] x", "outputs": "float[2] y"}
    assert schedule("y = Relu(x)", in_place(0), "shared", **signature).in_place == {}
    inside = schedule("y = Relu(x)", in_place(0), "shared", io_outside=False, **signature)
    assert inside.buffer_of["y"] == "x" and [buffer.kind for buffer in inside.buffers] == ["io"]


def test_a_graph_output_is_not_overwritten():
    result = schedule(
        "a = Relu(x) y = Relu(a)", in_place(0), "shared", io_outside=False, inputs="float[2] x", outputs="float[2] a, float[2] y"
    )
    assert result.buffer_of["a"] == "x" and result.buffer_of["y"] == "y"


def test_a_smaller_result_frees_the_rest_of_the_bytes():
    demands = lambda node: Demands(in_place=(0,) if node.type == "Concat" else ())  # noqa: E731
    result = schedule(
        "a = Relu(x) b = Concat<axis=0>(a) c = Relu(b) y = Relu(c)", demands, "shared", inputs="float[2] x", outputs="float[2] y"
    )
    assert result.buffer_of["b"] == "a" and result.buffers[1].windows == ()
    chain = Chain(("a", "b"), (100, 40), ((0, 2), (1, 5)))
    assert chain.buffer(4, "activation").windows == (Window(0, 2, 0, 100), Window(2, 5, 0, 40))


def test_an_overlap_that_a_kernel_allows_saves_bytes():
    demands = lambda node: Demands(overlap=((0, 16),) if node.type in ("ReLU", "Relu") else ())  # noqa: E731
    result = schedule("a = Relu(x) b = Relu(a) y = Relu(b)", demands, "shared", inputs="float[64] x", outputs="float[64] y")
    assert result.overlaps == (Overlap("b", "a", 16),)
    found = plan([buffer for buffer in result.buffers if buffer.kind != "io"], overlaps=result.overlaps)
    check(found, found_buffers := [placement.buffer for placement in found.placements])
    assert len(found_buffers) == 2 and found.peak_bytes == found.lower_bound_bytes == 16 + 256
    assert (found.offset_of("b"), found.offset_of("a")) == (0, 16)


@pytest.mark.parametrize(
    "sizes, alignment, size_bytes", [((5, 4, 7), 4, 20), ((16,), 8, 16), ((3, 30), 16, 48), ((1, 1, 1), 1, 3)]
)
def test_copied_constants_follow_each_other_in_one_buffer_until_their_layer_has_run(sizes, alignment, size_bytes):
    arrays = arrays_in_line([(2 * index, size) for index, size in enumerate(sizes)], alignment)
    assert [(one.position, one.size_bytes) for one in arrays] == [(2 * index, size) for index, size in enumerate(sizes)]
    ends = [0, *(one.offset_bytes + one.size_bytes for one in arrays)]
    assert all(one.offset_bytes % alignment == 0 and 0 <= one.offset_bytes - end < alignment for one, end in zip(arrays, ends))
    copy = ConstantCopy("conv", 3, 5, arrays, alignment)
    assert copy.buffer == Buffer("constants of conv", size_bytes, alignment, 3, 6, "copy") and copy.saved == 0


@pytest.mark.parametrize("reuse", ["plain", "shared"])
def test_a_schedule_prints_as_text(reuse):
    text = str(schedule("a = Relu(x) y = Relu(a)", in_place(0), reuse, inputs="float[2] x", outputs="float[2] y"))
    assert "0: Relu" in text or "0: a" in text or "ReLU" in text
