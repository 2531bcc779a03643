# SPDX-License-Identifier: MIT
"""Rows of tensors in their lines, by random orders of bands and small layers; which layers bring and take rows."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import numpy
import pytest

from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators import builtin_operators
from aidge_build.plan.cascade.arrival import Arrival
from aidge_build.plan.cascade.departure import Departure
from aidge_build.plan.cascade.kernels import _stores_alike
from aidge_build.plan.cascade.order import order_of as pulled
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.row_table import Bands
from aidge_build.plan.cascade.rowed_graph import Graph
from aidge_build.plan.cascade.search import _follow
from aidge_build.plan.cascade.track import Steps, Track
from aidge_build.plan.cascade.unroll import walked
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model

WRITER, READER, OTHER = 0, 1, 2


def bands_of(random: Random, height: int) -> Bands:
    cuts = sorted(random.sample(range(1, height), random.randrange(min(height, 6))))
    return tuple(zip([0, *cuts], [*cuts, height], strict=True))


def windows_of(random: Random, height: int) -> Bands:
    """The rows that a reader's bands read: each begins and ends at or after the one before; rows may be left out."""
    ends = sorted(random.choices(range(1, height + 1), k=random.randrange(1, 7)))
    firsts = sorted(random.choices(range(height), k=len(ends)))
    return tuple((min(first, end - 1), end) for first, end in zip(firsts, ends, strict=True))


def order_of(random: Random, written: Bands, windows: Bands) -> list[int]:
    """A reader's band runs when its rows are written; a third layer runs at any time."""
    order: list[int] = []
    while order.count(WRITER) < len(written) or order.count(READER) < len(windows):
        done, read = order.count(WRITER), order.count(READER)
        able = [OTHER]
        able += [WRITER] if done < len(written) else []
        able += [READER] if read < len(windows) and windows[read][1] <= (written[done - 1][1] if done else 0) else []
        order.append(random.choice(able))
    return order


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_rows_that_are_still_read_are_in_the_line_and_the_line_has_room_for_what_is_written(seed, arrives):
    random = Random(seed)
    height = random.randrange(2, 14)
    written, windows = bands_of(random, height), windows_of(random, height)
    order = order_of(random, written, windows)
    steps = Steps.of(order, (written, windows, ((0, 1),) * order.count(OTHER)))
    table = SimpleNamespace(of_tensors={"t": numpy.array(windows)})
    reader = SimpleNamespace(table=lambda bands: table)
    output = SimpleNamespace(name="t", dims=(1, 1, height, 8))
    layer = Arrival(output) if arrives else SimpleNamespace(output=output, height=height)
    track = Track.of(steps, WRITER, layer, {READER: reader})

    assert len(steps) == len(order) == len(track.live) and len(track.base) == len(order) + 1
    moving, moved, most, base = [], 0, 0, [int(row) for row in track.base]
    for step in range(len(order) + 1):
        ran = [order[:step].count(layer) for layer in (WRITER, READER)]
        done, low = written[ran[0] - 1][1] if ran[0] else 0, min((first for first, _ in windows[ran[1] :]), default=height)
        assert (track.done[step], track.low[step]) == (done, low)
        kept = done > low
        if step and base[step] != base[step - 1]:
            assert base[step - 1] < base[step] and base[step - 1] + track.rows < written[ran[0]][1], "the next band has no room"
            assert order[step - 1] != OTHER, "rows move as soon as there is room"
            moving += [step - 1] * kept
            moved += (done - low) * kept
        assert not kept or base[step] <= low and done - base[step] <= track.rows
        if step == len(order):
            break
        reach = done - base[step] if kept else 0
        if order[step] == WRITER:
            first, end = written[ran[0]]
            most = max(most, end - min(first, low))
            assert base[step] <= min(first, low) and end - base[step] <= track.rows
            reach = end - base[step] if arrives or end > low else 0
        assert track.live[step] == reach
        assert order[step] != READER or base[step] <= windows[ran[1]][0] and windows[ran[1]][1] - base[step] <= reach
    assert (track.rows, [*track.moving], track.moved_rows) == (most, moving, moved)


def test_an_input_of_which_no_row_comes_needs_no_line():
    arrival = Arrival(Tensor("x", (1, 1, 4, 8), DType.int8))
    track = Track.of(Steps.of([OTHER, OTHER], ((), (), ((0, 1), (1, 2)))), WRITER, arrival, {})
    assert (track.rows, track.moved_rows, [*track.live], [*track.base]) == (0, 0, [0, 0], [0, 0, 0])


def node(name: str, output: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, outputs=(output,))


LAYER = SimpleNamespace(in_parts=False, output=Tensor("y", (1, 1, 4, 8), DType.int8))
NODES = (node("first", "t"), node("last", "y"))
BUFFERS = {"x": "x", "t": "t", "y": "y", "view": "y"}


def departs(layer: object, *, departing: str = "y", first: int = 0, last: int = 2, readers: dict | None = None) -> bool:
    graph = Graph(SimpleNamespace(layer=lambda _: layer), frozenset(), BUFFERS, frozenset(), "", departing)
    found = graph.departure(NODES, first, last, readers or {"x": {"first"}, "t": {"last"}})
    assert found is None or found.name != "last"
    return found is not None


def test_an_output_leaves_by_rows_if_these_layers_write_its_rows_and_no_other_layer_touches_it():
    assert departs(LAYER) and departs(LAYER, first=1)
    assert not departs(LAYER, departing="") and not departs(LAYER, last=1)
    assert not departs(None)
    assert not departs(SimpleNamespace(in_parts=True, output=LAYER.output))
    assert not departs(SimpleNamespace(in_parts=False, output=Tensor("y", (1, 8), DType.int8)))
    assert departs(LAYER, readers={"y": {"first"}})
    assert not departs(LAYER, readers={"y": {"after"}}) and not departs(LAYER, readers={"view": {"first"}})


def test_an_input_arrives_by_rows_if_the_first_layers_alone_read_it_under_one_name():
    tensors = {name: Tensor(name, (1, 1, 4, 8), DType.int8) for name in ("x", "again")}
    tensors["flat"] = Tensor("flat", (1, 32), DType.int8)
    kernels = SimpleNamespace(assignment=SimpleNamespace(view=SimpleNamespace(tensor=tensors.__getitem__)))

    def arrival(readers: dict[str, set[str]], first: int = 0, arriving: str = "x") -> str:
        graph = Graph(kernels, frozenset(), {"x": "x", "again": "x", "flat": "flat", "t": "t"}, frozenset(), arriving)
        found = graph.arrival(NODES, first, readers)
        return found.output.name if found else ""

    assert arrival({"x": {"first"}, "t": {"last"}}) == "x" == arrival({"x": {"first", "last"}})
    assert arrival({"again": {"first"}}) == "again" and arrival({"x": {"first"}, "again": {"last"}}) == ""
    assert arrival({"x": {"first"}}, first=1) == "" == arrival({"x": {"first", "after"}}) == arrival({"t": {"last"}})
    assert arrival({"x": {"first"}}, arriving="") == "" == arrival({"flat": {"first"}}, arriving="flat")


def layers_of(text: str, inputs: str, outputs: str) -> list[RowLayer]:
    view, _ = import_onnx(model(text, inputs=inputs, outputs=outputs), "n", builtin_operators(), {}, {})
    found = [RowLayer.of(NodeView.of(view, node)) for node in view.nodes]
    return [layer for layer in found if layer is not None]


POOL = "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]>"


@pytest.mark.parametrize("width, rows, is_aligned", [(3, 1, False), (3, 2, False), (3, 4, True), (4, 1, True), (2, 1, False)])
def test_rows_of_bytes_are_aligned_if_each_band_begins_at_a_multiple_of_four(width, rows, is_aligned):
    shape = f"uint8[1,1,16,{width}]"
    layers = layers_of(f"a = {POOL}(x) y = Identity(a)", f"{shape} x", f"{shape} y")[:1]
    walk = walked([Arrival(layers[0].inputs[0]), *layers], frozenset({"y", "a"}), {layers[0].name: rows}, frozenset())
    assert walk is not None and walk.is_aligned is is_aligned


def test_a_layer_with_an_output_that_stays_whole_runs_as_soon_as_its_rows_are_there():
    """So these rows need not be kept for it."""
    bands = {name: ((0, 1), (1, 2), (2, 3)) for name in ("writer", "side", "last")}
    table = SimpleNamespace(of_tensors={"t": numpy.array(bands["side"])})
    nothing = SimpleNamespace(of_tensors={})
    layers = [
        SimpleNamespace(name=name, output=SimpleNamespace(name=output), in_parts=False, table=lambda _, made=made: made)
        for name, output, made in (("writer", "t", nothing), ("side", "s", table), ("last", "y", table))
    ]
    assert pulled(layers, bands, {"t": layers[0]}) == [0, 2, 1] * 3
    assert pulled(layers, {**bands, "side": ((0, 3),)}, {"t": layers[0]}) != [0, 2, 1] * 3


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_line_reaches_as_far_as_its_rows_do_while_layers_run_and_rows_that_left_do_not_count(rows):
    shape = "float[1,1,12,5]"
    layers = layers_of(f"a = {POOL}(x) b = Neg(a) c = Abs(b) y = {POOL}(c)", f"{shape} x", f"{shape} y")
    arrival, departure = Arrival(layers[0].inputs[0]), Departure(layers[-1])
    walk = walked([arrival, *layers, departure], frozenset(), dict.fromkeys((layer.name for layer in layers), rows), frozenset())
    assert walk is not None and set(walk.lines) == {"x", "a", "b", "c", "y"}
    for tensor, line in walk.lines.items():
        reached: dict[str, int] = {}
        waiting = 0
        for step, number in enumerate(walk.run.order):
            layer, live = walk.layers[number], int(walk.tracks[tensor].live[step])
            if isinstance(layer, Arrival):
                waiting = max(waiting, live)
            elif isinstance(layer, RowLayer):
                reached[layer.name], waiting = max(reached.get(layer.name, 0), waiting, live), 0
        assert line.reached == {name: count for name, count in reached.items() if count}
    assert list(walk.lines["y"].reached) == [layers[-1].name]


def test_a_cascade_of_the_output_follows_the_cascade_of_the_input_if_there_is_one():
    one, other = (SimpleNamespace(first=first, last=last) for first, last in ((0, 3), (3, 5)))
    assert _follow((one,), (other,)) and _follow((), (one,)) and not _follow((other,), (one,))
    assert not _follow((SimpleNamespace(first=0, last=4),), (other,))


@pytest.mark.parametrize(
    "dims, reads, writes, are_alike",
    [
        ((1, 2, 4, 8), None, None, True),
        ((1, 2, 4, 8), channels_last(4), None, False),
        ((1, 2, 4, 8), None, channels_last(4), False),
        ((1, 2, 4, 8), row_major(4), row_major(4), True),
        ((1, 1, 4, 8), channels_last(4), channels_last(4), True),
    ],
)
def test_a_kernel_takes_parts_of_tensors_as_they_are_stored(dims, reads, writes, are_alike):
    tensor, weights = Tensor("x", dims, DType.int8), constant("w", numpy.zeros((2, 2, 4, 4), numpy.int8))
    specs = {
        position: SimpleNamespace(format_for=lambda rank, wanted=wanted: wanted) for position, wanted in ((0, reads), (1, writes))
    }
    specs[2] = SimpleNamespace(format_for=lambda rank: channels_last(4))
    kernel = SimpleNamespace(
        spec=SimpleNamespace(input_spec=lambda index: specs[2 if index else 0], output_spec=lambda index: specs[1])
    )
    view = SimpleNamespace(inputs=(tensor, weights, None), outputs=(tensor,))
    assert _stores_alike(kernel, view) is are_alike
