# SPDX-License-Identifier: MIT
"""Cascades as facts: their steps compute every row of every layer once, from rows that are there, in the bytes that they say."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy
import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import NodeView
from aidge_build.graph.format import channels_last
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.plan.cascade.cascade import BandStep, Cascade, Rows
from aidge_build.plan.cascade.moves import RowMoves
from aidge_build.plan.cascade.row_layer import RowLayer, row_bytes
from aidge_build.plan.cascade.unroll import cascade_of, walked
from aidge_build.plan.memory.replay import Span, replay
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.cascade_nets import RowNetwork
from tests.models import model


def layers_of(view: GraphView) -> list[RowLayer]:
    """The layers of a graph whose images are stored with their channels last; those at its ends only change the order."""
    found = []
    for node in view.nodes[1:-1]:
        seen = NodeView.of(view, node)
        stored = [
            tensor if tensor is None or tensor.is_constant or tensor.rank < 3 else tensor.with_(format=channels_last(tensor.rank))
            for tensor in (*seen.inputs, *seen.outputs)
        ]
        layer = RowLayer.of(replace(seen, inputs=tuple(stored[:-1]), outputs=(stored[-1],)))
        assert layer is not None, node
        found.append(layer)
    return found


def unroll(layers: list[RowLayer], whole: frozenset[str], rows: dict[str, int], *ahead: str) -> Cascade | None:
    walk = walked(layers, whole, rows, frozenset(ahead))
    return None if walk is None else cascade_of(walk, frozenset(ahead))


def slots(rows: Rows) -> slice:
    return slice(rows.slot, rows.slot + rows.last - rows.first)


class Machine:
    """Follows the steps of a cascade. What no layer may rely on holds other numbers: rows of a line beyond those that it says it
    needs in a step, and rows of whole tensors that are dead or not written yet."""

    def __init__(self, layers: list[RowLayer], cascade: Cascade, values: dict[str, numpy.ndarray]):
        self.layers, self.cascade, self.values = {layer.name: layer for layer in layers}, cascade, values
        self.memory: dict[str, numpy.ndarray] = {}
        for name, whole in values.items():
            line = cascade.lines.get(name)
            rows = whole.shape[2] if line is None else line.rows
            self.memory[name] = numpy.full((*whole.shape[:2], rows, *whole.shape[3:]), numpy.nan, whole.dtype)
        made = {layer.output.name for layer in layers}
        for name in set(values) - made:
            self.memory[name] = values[name].copy()
        self.multiply_accumulates = 0
        self.computed = {layer.output.name: 0 for layer in layers}

    def run(self) -> None:
        for step in self.cascade.steps:
            layer = self.layers[step.node]
            band = layer.band(step.first, step.last)
            seen = layer.view(step.first, step.last, (step.last - step.first,) * 2)
            given = [
                tensor.data if tensor.is_constant else self._read(tensor.name, rows)
                for tensor, rows in zip(layer.seen.inputs, step.reads, strict=True)
            ]
            (result,) = evaluate(band.operator, given, seen.inputs, seen.outputs)
            self.multiply_accumulates += seen.multiply_accumulates
            self._write(step.writes, result)
            self._spoil(step.node)
            for shift in step.shifts:
                self._move(shift.rows, shift.target)

    def _read(self, name: str, rows: Rows | None) -> numpy.ndarray:
        if rows is None:
            return self.memory[name]
        found = self.memory[name][:, :, slots(rows)]
        assert found.shape[2] == rows.last - rows.first
        assert numpy.array_equal(found, self.values[name][:, :, rows.first : rows.last]), (name, rows)
        return found

    def _write(self, rows: Rows, result: numpy.ndarray) -> None:
        assert rows.first == self.computed[rows.tensor], "each row once, in order"
        self.computed[rows.tensor] = rows.last
        assert 0 <= rows.slot and slots(rows).stop <= self.memory[rows.tensor].shape[2]
        self.memory[rows.tensor][:, :, slots(rows)] = result

    def _spoil(self, node: str) -> None:
        for name, line in self.cascade.lines.items():
            self.memory[name][:, :, line.reached.get(node, 0) :] = numpy.nan
        for name, stocks in self.cascade.stocks.items():
            if name in self.values and (stock := stocks.get(node)) is not None:
                self.memory[name][:, :, : stock.first] = numpy.nan
                self.memory[name][:, :, stock.last :] = numpy.nan

    def _move(self, rows: Rows, target: int) -> None:
        memory = self.memory[rows.tensor]
        for row in range(rows.last - rows.first):
            memory[:, :, target + row] = memory[:, :, rows.slot + row]


def cascaded(seed: int, rows: int, layers: int = 7, kept: int = 0) -> tuple[list[RowLayer], Cascade, Machine]:
    network = RowNetwork(seed, layers)
    view, _ = import_onnx(network.file(), "net.onnx", builtin_operators(), {}, {})
    values = {"x0": numpy.transpose(network.values(1), (0, 3, 1, 2))}
    found = layers_of(view)
    for layer in found:
        given = [
            tensor.data if tensor is not None and tensor.is_constant else values.get(tensor.name) for tensor in layer.seen.inputs
        ]
        (values[layer.output.name],) = evaluate(layer.seen.operator, given, layer.seen.inputs, layer.seen.outputs)
    whole = frozenset({found[-1].output.name, *(layer.output.name for layer in found[:kept])})
    cascade = unroll(found, whole, dict.fromkeys((layer.name for layer in found), rows))
    assert cascade is not None
    moving = {name: value for name, value in values.items() if value is not None}
    return found, cascade, Machine(found, cascade, moving)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_the_steps_compute_every_row_once_from_rows_that_are_there(seed, rows):
    layers, cascade, machine = cascaded(seed, rows)
    machine.run()
    assert machine.computed == {layer.output.name: layer.height for layer in layers}
    assert machine.multiply_accumulates == sum(layer.seen.multiply_accumulates for layer in layers)
    last = layers[-1].output.name
    assert numpy.array_equal(machine.memory[last], machine.values[last])


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_counted_of_a_cascade_before_its_steps_are_made_is_what_the_steps_do(seed, rows):
    layers, cascade, _ = cascaded(seed, rows, kept=seed % 2)
    moved, again, reached = 0, dict.fromkeys(cascade.nodes, 0), dict[tuple[str, int], int]()
    for step in cascade.steps:
        moved += sum((shift.rows.last - shift.rows.first) * cascade.lines[shift.rows.tensor].row_bytes for shift in step.shifts)
        for position, read in enumerate(step.reads):
            if read is not None and read.tensor in cascade.lines:
                seen = max(0, reached.get((step.node, position), read.first) - read.first)
                again[step.node] += seen * cascade.lines[read.tensor].row_bytes
                reached[step.node, position] = read.last
    assert (cascade.work.shifted_bytes, cascade.work.bytes_read_again, cascade.work.waits) == (moved, again, 0)
    for layer in layers:
        run = tuple((step.first, step.last) for step in cascade.steps if step.node == layer.name)
        assert cascade.bands_of(layer.name) == run and cascade.rows_of[layer.name] == max(last - first for first, last in run)


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_aligned_where_all_rows_that_a_kernel_gets_begin_at_a_multiple_of_four_bytes(seed):
    layers, cascade, _ = cascaded(seed, 1 + seed % 3)
    walk = walked(layers, frozenset({layers[-1].output.name}), {layer.name: 1 + seed % 3 for layer in layers})
    places: dict[str, int] = {}
    for step in cascade.steps:
        for rows in (step.writes, *step.reads):
            if rows is not None:
                places[rows.tensor] = gcd(places.get(rows.tensor, 0), rows.slot)
    assert {name: slots for name, slots in walk.slots().items() if slots} == {name: at for name, at in places.items() if at}
    tensors = {tensor.name: tensor for layer in layers for tensor in (*layer.inputs, layer.output) if tensor is not None}
    assert walk.is_aligned == all(at * row_bytes(tensors[name]) % 4 == 0 for name, at in places.items())


@pytest.mark.parametrize("seed", range(6))
def test_a_layer_that_is_ahead_begins_with_a_row_more_and_nothing_else_changes(seed):
    layers, usual, machine = cascaded(seed, 2)
    grown = 0
    for layer in layers[:-1]:
        found = unroll(layers, frozenset({layers[-1].output.name}), dict.fromkeys(usual.nodes, 2), layer.name)
        assert found is not None and found.ahead == {layer.name}
        if layer.name in {name for name in usual.nodes if layer.output.name in usual.lines}:
            (_, before), (_, after) = usual.bands_of(layer.name)[0], found.bands_of(layer.name)[0]
            grown += (after - before) % 2 == 1
        follower = Machine(layers, found, machine.values)
        follower.run()
        assert follower.computed == {one.output.name: one.height for one in layers}
        assert numpy.array_equal(follower.memory[layers[-1].output.name], machine.values[layers[-1].output.name])
    assert grown


@pytest.mark.parametrize("seed", range(6))
def test_what_others_read_too_is_there_as_a_whole_and_its_rows_are_written_before_they_are_read(seed):
    layers, cascade, machine = cascaded(seed, 2, kept=3)
    assert not {layer.output.name for layer in layers[:3]} & set(cascade.lines)
    machine.run()
    for layer in (*layers[:3], layers[-1]):
        assert numpy.array_equal(machine.memory[layer.output.name], machine.values[layer.output.name])


def test_layers_are_no_cascade_where_one_needs_all_of_what_another_one_takes_in_by_parts():
    text = "p = GlobalAveragePool(x) y = Mul(x, p)"
    view, _ = import_onnx(
        model(text, inputs="float[1,1,8,4] x", outputs="float[1,1,8,4] y"), "net.onnx", builtin_operators(), {}, {}
    )
    layers = [RowLayer.of(NodeView.of(view, node)) for node in view.nodes]
    assert None not in layers and layers[0].in_parts
    assert unroll(layers, frozenset({"y"}), {layer.name: 2 for layer in layers}) is None


def test_each_band_reads_whole_tensors_and_the_last_part_of_an_input_gives_the_output():
    ends = {"inputs": "float[1,1,8,4] x, float[1,1,1,4] s", "outputs": "float[1,1,1,1] p"}
    view, _ = import_onnx(model("a = Add(x, s) p = GlobalAveragePool(a)", **ends), "net.onnx", builtin_operators(), {}, {})
    layers = [RowLayer.of(NodeView.of(view, node)) for node in view.nodes]
    cascade = unroll(layers, frozenset({"p"}), {layer.name: 2 for layer in layers})
    spans = {name: Span("the arena", at, 128) for name, at in (("x", 0), ("a", 128), ("p", 256), ("sums", 384), ("s", 512))}
    nodes = {layer.name: layer.seen.node for layer in layers}
    moves = RowMoves(cascade, nodes, spans, {"x": 8, "a": 8}, {layers[1].name: spans["sums"]}).moves
    assert ["s" in move.reads for move in moves if move.name == layers[0].name] == [True] * 4
    assert ["p" in move.writes for move in moves if move.name == layers[1].name] == [False, False, False, True]


def test_a_tensor_that_one_layer_needs_as_a_whole_stays_whole_for_a_layer_that_reads_its_rows():
    text = "c = Conv(x, w) n = Neg(w)"
    ends = {"inputs": "float[1,1,8,4] x, float[1,1,3,3] w", "outputs": "float[1,1,6,2] c, float[1,1,3,3] n"}
    view, _ = import_onnx(model(text, **ends), "net.onnx", builtin_operators(), {}, {})
    layers = [RowLayer.of(NodeView.of(view, node)) for node in view.nodes]
    for order in (layers, layers[::-1]):
        walk = walked(order, frozenset({"c", "n"}), {layer.name: 1 for layer in layers})
        assert walk is not None and walk.given == {"x": 8}


def replayed(layers: list[RowLayer], cascade: Cascade) -> None:
    """Replays the steps with every tensor at a place of its own, one behind the other."""
    spans, reached = {}, 0
    tensors = {tensor.name: tensor for layer in layers for tensor in (*layer.seen.inputs, *layer.seen.outputs) if tensor.rank > 2}
    tensors = {name: tensor for name, tensor in tensors.items() if not tensor.is_constant}
    for name, tensor in tensors.items():
        size = cascade.lines[name].size_bytes if name in cascade.lines else tensor.size_bytes
        spans[name] = Span("the arena", reached, size)
        reached += size
    heights = {name: tensor.dims[2] for name, tensor in tensors.items()}
    found = RowMoves(cascade, {layer.name: layer.seen.node for layer in layers}, spans, heights, {})
    inputs, outputs = ["x0"], [layers[-1].output.name]
    replay(found.moves, {**spans, **found.rows}, {"the arena": reached}, found.unwritten, inputs, outputs)


def changed(cascade: Cascade, number: int, **changes) -> Cascade:
    steps = list(cascade.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(cascade, steps=tuple(steps))


def wrong(cascade: Cascade) -> list[Cascade]:
    """The same with one step left out, or with one place in a line wrong."""

    def elsewhere(rows: Rows | None, by: int) -> Rows | None:
        return replace(rows, slot=rows.slot + by) if rows is not None and rows.tensor in cascade.lines else rows

    found = []
    for number, step in enumerate(cascade.steps):
        found.append(replace(cascade, steps=(*cascade.steps[:number], *cascade.steps[number + 1 :])))
        for by in (-1, 1):
            found.append(changed(cascade, number, reads=tuple(elsewhere(rows, by) for rows in step.reads)))
            found.append(changed(cascade, number, writes=elsewhere(step.writes, by)))
            for place, shift in enumerate(step.shifts):
                moved = (*step.shifts[:place], replace(shift, target=shift.target + by), *step.shifts[place + 1 :])
                found.append(changed(cascade, number, shifts=moved))
        if step.shifts:
            found.append(changed(cascade, number, shifts=step.shifts[1:]))
    return [each for each in found if each != cascade]


def is_read(step: BandStep, cascade: Cascade) -> bool:
    """Whether some later step reads a row that this one writes."""
    later = cascade.steps[cascade.steps.index(step) :]
    wanted = range(step.writes.first, step.writes.last)
    return any(
        rows is not None and rows.tensor == step.writes.tensor and rows.first < wanted.stop and wanted.start < rows.last
        for each in later
        for rows in each.reads
    )


@pytest.mark.requirement("PLAN02")
@pytest.mark.parametrize("seed", [1, 5, 8])
def test_the_replay_refuses_a_step_that_is_missing_and_rows_that_lie_elsewhere(seed):
    layers, cascade, _ = cascaded(seed, 1, layers=4)
    replayed(layers, cascade)
    caught, harmless = 0, []
    for other in wrong(cascade):
        try:
            replayed(layers, other)
            harmless.append(other)
        except CheckFailed:
            caught += 1
    assert caught > 50
    for other in harmless:  # only what nobody reads may be missing or lie elsewhere
        left = [step for step, mine in zip(cascade.steps, other.steps, strict=False) if step != mine][:1]
        assert all(not is_read(step, cascade) for step in left)
