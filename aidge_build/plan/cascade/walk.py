# SPDX-License-Identifier: MIT
"""A walk through the bands of a cascade: the rows that are kept in each step, that move, and that are read again. It has numbers
only, because searches try thousands of cascades; the steps are made when they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy

from aidge_build.plan.cascade.bands import Rowed, readers_of
from aidge_build.plan.cascade.cascade import BandStep, Line, Rows, Shift, Stock, Work
from aidge_build.plan.cascade.departure import Departure
from aidge_build.plan.cascade.order import order_of
from aidge_build.plan.cascade.row_layer import ROW_AXIS, RowLayer, row_bytes
from aidge_build.plan.cascade.row_table import Bands
from aidge_build.plan.cascade.track import Steps, Track
from aidge_build.plan.schedule.schedule import ALIGNMENT


class Walk:
    """The layers in these bands; `kept` are the tensors that are kept as rows, with the layers that write them."""

    def __init__(self, layers: Sequence[Rowed], kept: Mapping[str, Rowed], bands: Mapping[str, Bands]):
        self.layers, self.kept, self.bands = layers, kept, bands
        self.numbers = {layer.name: number for number, layer in enumerate(layers)}
        self.readers = readers_of(layers)
        self.run = Steps.of(order_of(layers, bands, kept), [bands[layer.name] for layer in layers])
        self.tracks = {
            name: Track.of(self.run, self.numbers[layer.name], layer, self._readers(name)) for name, layer in kept.items()
        }

    def _readers(self, tensor: str) -> dict[int, Rowed]:
        return {self.numbers[layer.name]: layer for layer in self.readers[tensor]}

    def times(self, layer: Rowed) -> int:
        """Returns in how many steps the layer runs: the last rows that arrive may be unread."""
        return len(self.run.at[self.numbers[layer.name]])

    @cached_property
    def lines(self) -> dict[str, Line]:
        """The rows that are kept of the tensors between the layers."""
        reached = self._reached()
        return {
            name: Line(name, layer.height, self.tracks[name].rows, row_bytes(layer.output), reached[name])
            for name, layer in self.kept.items()
        }

    def _reached(self) -> dict[str, dict[str, int]]:
        """Returns how far the rows of each line reach while each layer runs. A step in which rows arrive counts for the layer
        that runs next; a step in which rows leave does not count, because its rows were there when they were written."""
        if not self.tracks:
            return {}
        called, live = self._runs(RowLayer), numpy.stack([track.live for track in self.tracks.values()])
        live[:, self._runs(Departure)] = 0
        before = numpy.cumsum(called) - called  # calls before each step: what arrives has the number of the next one
        most = numpy.maximum.reduceat(live, numpy.flatnonzero(numpy.diff(before, prepend=-1)), axis=1)[:, : numpy.sum(called)]
        runs = self.run.order[called]
        by_layer = numpy.argsort(runs, kind="stable")
        numbers, begins = numpy.unique(runs[by_layer], return_index=True)
        names = [self.layers[number].name for number in numbers.tolist()]
        table = numpy.maximum.reduceat(most[:, by_layer], begins, axis=1).tolist()
        return {
            tensor: {name: count for name, count in zip(names, counts, strict=True) if count}
            for tensor, counts in zip(self.tracks, table, strict=True)
        }

    def _runs(self, kind: type) -> numpy.ndarray:
        """Returns in which steps such a layer runs, bool [steps]."""
        return numpy.array([isinstance(layer, kind) for layer in self.layers])[self.run.order]

    @cached_property
    def given(self) -> dict[str, int]:
        """The number of rows of each tensor that existed before the cascade, if no layer needs all its rows at once."""
        heights, whole = dict[str, int](), {layer.output.name for layer in self.layers}
        for layer in self.layers:
            for position, tensor in enumerate(layer.inputs):
                if tensor is None:
                    continue
                if self._read(layer, position) is None:
                    whole.add(tensor.name)
                else:
                    heights[tensor.name] = tensor.dims[ROW_AXIS]
        return {name: height for name, height in heights.items() if name not in whole}

    @cached_property
    def stocks(self) -> dict[str, dict[str, Stock]]:
        """The rows of whole tensors that are live while each layer runs."""
        called = [(number, layer.name) for number, layer in enumerate(self.layers) if isinstance(layer, RowLayer)]
        found: dict[str, dict[str, Stock]] = {}
        for tensor, height in self.given.items():
            low = self.run.low(tensor, height, self._readers(tensor))
            found[tensor] = {name: Stock(int(numpy.min(low[self.run.at[number]])), height, height) for number, name in called}
        for writer, layer in enumerate(self.layers):
            if not isinstance(layer, RowLayer) or layer.in_parts or layer.output.name in self.kept:
                continue
            done = self.run.done(writer)
            for number, name in called:
                last = int(numpy.max(done[self.run.at[number] + (number == writer)]))  # its own rows are there while it runs
                if last:
                    found.setdefault(layer.output.name, {})[name] = Stock(0, last, layer.height)
        return found

    @cached_property
    def work(self) -> Work:
        """The work in addition to the layers."""
        moved = sum(self.tracks[name].moved_rows * line.row_bytes for name, line in self.lines.items())
        called = {layer.name: self.bands[layer.name] for layer in self.layers if isinstance(layer, RowLayer)}
        waits = sum(self.times(layer) for layer in self.layers if not isinstance(layer, RowLayer))
        return Work(called, moved, {name: self._read_again(name) for name in called}, waits)

    def _read_again(self, name: str) -> int:
        """Returns the bytes of rows in lines that the layer reads again, over all bands."""
        layer, again = self.layers[self.numbers[name]], 0
        for position, tensor in enumerate(layer.inputs):
            if tensor is not None and tensor.name in self.lines and (rows := self._read(layer, position)) is not None:
                again += int(numpy.sum(numpy.maximum(0, rows[:-1, 1] - rows[1:, 0]))) * self.lines[tensor.name].row_bytes
        return again

    def _read(self, layer: Rowed, position: int) -> numpy.ndarray | None:
        """Returns the rows of an input that each band reads; None if each band reads all rows."""
        return layer.table(self.bands[layer.name]).of_inputs[position]

    @property
    def is_aligned(self) -> bool:
        """Whether all rows that a kernel gets begin at an address that is aligned like a tensor."""
        tensors = (tensor for layer in self.layers for tensor in (*layer.inputs, layer.output) if tensor is not None)
        wide = {tensor.name: row_bytes(tensor) for tensor in tensors if tensor.rank > ROW_AXIS}
        return all(slots * wide[name] % ALIGNMENT == 0 for name, slots in self.slots().items() if name in wide)

    def slots(self) -> dict[str, int]:
        """Returns, for each tensor, a number of rows that divides every slot at which the rows for a kernel begin."""
        found: dict[str, int] = {}

        def add(tensor: str, rows: numpy.ndarray, number: int) -> None:
            track = self.tracks.get(tensor)
            places = rows if track is None else rows - track.base[self.run.at[number]]
            found[tensor] = int(numpy.gcd.reduce(places, initial=found.get(tensor, 0)))

        for number, layer in enumerate(self.layers):
            if not isinstance(layer, RowLayer):
                continue
            if not layer.in_parts:
                add(layer.output.name, numpy.array(self.bands[layer.name])[:, 0], number)
            for position, tensor in enumerate(layer.inputs):
                if tensor is not None and (rows := self._read(layer, position)) is not None:
                    add(tensor.name, rows[:, 0], number)
        return found

    def steps(self) -> tuple[BandStep, ...]:
        """Returns the steps with the places of their rows."""
        moves = self._shifts()
        found, done = [], [0] * len(self.layers)
        for step, number in enumerate(self.run.order.tolist()):
            layer = self.layers[number]
            first, last = self.bands[layer.name][done[number]]
            done[number] += 1
            node = layer.name if isinstance(layer, RowLayer) else ""
            band = layer.band(first, last)
            assert band is not None
            reads = tuple(
                None if tensor is None or rows is None else self._rows(step, tensor.name, *rows)
                for tensor, rows in zip(layer.inputs, band.reads, strict=True)
            )
            writes = Rows(layer.output.name, 0, 1, 0) if layer.in_parts else self._rows(step, layer.output.name, first, last)
            found.append(BandStep(node, first, last, reads, writes, tuple(moves.get(step, ()))))
        return tuple(found)

    def _rows(self, step: int, tensor: str, first: int, last: int) -> Rows:
        track = self.tracks.get(tensor)
        return Rows(tensor, first, last, first if track is None else first - int(track.base[step]))

    def _shifts(self) -> dict[int, list[Shift]]:
        """Returns the rows that move after each step to make room for the next bands: in lines that the step reads, then in the
        line that it writes."""
        found: dict[int, dict[str, Shift]] = {}
        for name, track in self.tracks.items():
            for step in track.moving.tolist():
                low, done, base = (int(counts[step + 1]) for counts in (track.low, track.done, track.base))
                before = int(track.base[step])
                found.setdefault(step, {})[name] = Shift(Rows(name, low, done, low - before), low - base)
        ordered = {}
        for step, shifts in found.items():
            layer = self.layers[int(self.run.order[step])]
            touched = [*(tensor.name for tensor in layer.inputs if tensor is not None), layer.output.name]
            ordered[step] = [shifts[name] for name in dict.fromkeys(touched) if name in shifts]
        return ordered


def steps_of(layers: Sequence[Rowed], kept: Mapping[str, Rowed], bands: Mapping[str, Bands]) -> tuple[BandStep, ...]:
    """Returns the steps of such a walk, which is computed again: so its numbers need not be kept until the steps are used."""
    return Walk(layers, kept, bands).steps()
