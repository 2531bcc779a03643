# SPDX-License-Identifier: MIT
"""From layers to the steps of a cascade: which band of which layer comes when, and where its rows lie.

Each band of the last layer asks for the rows that it reads, the layers that write them for theirs, and so on (pull). Bands begin
where the first band of the next layer makes it, so that what a band reads was written by whole bands, and no row waits in vain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aidge_build.cascade.arrival import Arrival
from aidge_build.cascade.cascade import BandStep, Cascade, Line, Rows, Shift, Stock
from aidge_build.cascade.departure import Departure
from aidge_build.cascade.row_layer import ROW_AXIS, RowLayer, row_bytes

MOST_STEPS = 20_000
Rowed = RowLayer | Arrival | Departure


def unroll(
    layers: Sequence[Rowed], whole: frozenset[str], rows: Mapping[str, int], ahead: frozenset[str] = frozenset()
) -> Cascade | None:
    """The cascade of these layers in bands of so many `rows` each, or as few more as a layer needs; None where there is none.
    Those `ahead` begin with a row more than the layers that read them need first.
    Tensors in `whole` are kept as they are: others read them. An `Arrival` is the first of the layers: its bands are what the
    layers that read it ask for next. A `Departure` is the last one: its bands are those of the layer that writes the rows."""
    if _wants_whole(layers):
        return None
    inner = _inner(layers, whole)
    readers = {name: [layer for layer in layers if _reads(layer, name)] for name in inner}
    bands = _bands(layers, readers, rows, ahead)
    if bands is None or sum(map(len, bands.values())) > MOST_STEPS:
        return None
    walk = _Walk(layers, inner, readers, bands)
    walk.all()
    return replace(walk.cascade(), ahead=ahead)


def _inner(layers: Sequence[Rowed], whole: frozenset[str]) -> dict[str, Rowed]:
    """The layer that writes each tensor of which only rows are needed."""
    read = {tensor.name for layer in layers for tensor in layer.inputs if tensor is not None}
    return {
        layer.output.name: layer
        for layer in layers
        if not layer.in_parts and layer.output.name in read and layer.output.name not in whole
    }


def _wants_whole(layers: Sequence[Rowed]) -> bool:
    """Whether one of the layers needs all of what another one makes: that is complete only at the end."""
    made = {layer.output.name for layer in layers}
    return any(
        tensor is not None and tensor.name in made and tensor.name not in (layer.reads(0, layer.height) or {})
        for layer in layers
        for tensor in layer.inputs
    )


def _reads(layer: Rowed, tensor: str) -> bool:
    return any(given is not None and given.name == tensor for given in layer.inputs)


def _bands(
    layers: Sequence[Rowed], readers: Mapping[str, Sequence[Rowed]], rows: Mapping[str, int], ahead: frozenset[str]
) -> dict[str, tuple[tuple[int, int], ...]] | None:
    """The bands of each layer; None where a layer cannot be cut there."""
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for layer in reversed(layers):
        if isinstance(layer, Arrival):
            wanted = _step(layer, readers[layer.output.name], found)
        else:
            wanted = rows[layer.writer.name if isinstance(layer, Departure) else layer.name]
        size = min(-(-wanted // layer.multiple) * layer.multiple, layer.height)
        needed = 0
        for reader in readers.get(layer.output.name, ()) if not layer.in_parts else ():
            first = reader.reads(*found[reader.name][0])
            assert first is not None
            needed = max(needed, first[layer.output.name][1])
        needed += layer.name in ahead
        for start in dict.fromkeys((needed % size or size, size)):
            edges = [0, *range(min(start, layer.height), layer.height, size), layer.height]
            cut = tuple(zip(edges, edges[1:], strict=False))
            if all(layer.band(*band) is not None for band in cut):
                found[layer.name] = cut
                break
        else:
            return None
    return found


def _step(arrival: Arrival, readers: Sequence[Rowed], bands: Mapping[str, Sequence[tuple[int, int]]]) -> int:
    """By how many rows the reader goes on that takes the fewest at a time."""
    name, steps = arrival.output.name, [arrival.height]
    for reader in readers:
        ends = [(reader.reads(*band) or {}).get(name, (0, 0))[1] for band in bands[reader.name][:2]]
        steps.append(ends[-1] - ends[0] if len(ends) > 1 else ends[0])
    return max(1, min(steps))


def _given(layers: Sequence[Rowed]) -> dict[str, int]:
    """The rows of the tensors that were there before, and of which no layer needs all rows at once."""
    heights, whole = dict[str, int](), {layer.output.name for layer in layers}
    for layer in layers:
        rows = layer.reads(0, layer.height) or {}
        for tensor in layer.inputs:
            if tensor is not None and tensor.name in rows:
                heights[tensor.name] = tensor.dims[ROW_AXIS]
            elif tensor is not None:
                whole.add(tensor.name)
    return {name: height for name, height in heights.items() if name not in whole}


def _note(live: dict[str, int], tensor: str, written: _Written | None, low: int) -> None:
    """How far the rows of a line reach, if any are there; `low` is the first row that is still read."""
    if written is None:
        return
    if written.done > low:
        live[tensor] = written.done - (written.base or 0)
    else:
        live.pop(tensor, None)


class _Lows:
    """The first row of each tensor that its readers still read, band by band; `at` counts the bands that have run, by layer."""

    def __init__(
        self,
        readers: Mapping[str, Sequence[Rowed]],
        heights: Mapping[str, int],
        bands: Mapping[str, Sequence[tuple[int, int]]],
    ):
        self.readers, self.heights, self.bands = readers, heights, bands
        self.at = dict.fromkeys(bands, 0)
        self.low = {name: self._lowest(name) for name in readers}

    def after(self, layer: Rowed) -> list[str]:
        """The next band of the layer has run; the tensors that it reads or writes, each once, in order."""
        self.at[layer.name] += 1
        read = [tensor.name for tensor in layer.inputs if tensor is not None and tensor.name in self.low]
        for name in dict.fromkeys(read):
            self.low[name] = self._lowest(name)
        return list(dict.fromkeys([*read, layer.output.name]))

    def _lowest(self, tensor: str) -> int:
        found = self.heights[tensor]
        for reader in self.readers[tensor]:
            place = self.at[reader.name]
            if place < len(self.bands[reader.name]):
                reads = reader.reads(*self.bands[reader.name][place]) or {}
                found = min(found, reads[tensor][0])
        return found


@dataclass
class _Written:
    """How far a tensor is: rows below `done` are written, row 0 would lie at the slot `-base`."""

    done: int = 0
    base: int | None = None
    rows: int = 0
    reached: dict[str, int] = field(default_factory=dict)


class _Walk:
    """Walks through the bands twice: first to see how many rows each line needs, then to say where they lie."""

    def __init__(
        self,
        layers: Sequence[Rowed],
        inner: Mapping[str, Rowed],
        readers: Mapping[str, Sequence[Rowed]],
        bands: Mapping[str, tuple[tuple[int, int], ...]],
    ):
        self.layers, self.inner, self.readers, self.bands = layers, inner, readers, bands
        self.order: list[tuple[Rowed, int]] = []
        self.made = {layer.output.name: 0 for layer in layers if layer.output.name not in inner and not layer.in_parts}
        self.heights = {layer.output.name: layer.height for layer in layers}
        self.given = _given(layers)
        self.readers_given = {name: [layer for layer in layers if _reads(layer, name)] for name in self.given}
        self.stocks: dict[str, dict[str, Stock]] = {}

    def all(self) -> None:
        """Find the order of the bands."""
        next_band = {layer.name: 0 for layer in self.layers}
        writers = {layer.output.name: layer for layer in self.layers if not layer.in_parts}
        written = dict.fromkeys(writers, 0)
        last = self.layers[-1]
        ends = [layer for layer in self.layers[:-1] if layer.output.name not in self.inner]

        def pull(layer: Rowed) -> None:
            place = next_band[layer.name]
            band = self.bands[layer.name][place]
            for tensor, (_, end) in (layer.reads(*band) or {}).items():
                while tensor in written and written[tensor] < end:
                    pull(writers[tensor])
            next_band[layer.name] = place + 1
            self.order.append((layer, place))
            if layer.output.name in written:
                written[layer.output.name] = band[1]

        def is_ready(layer: Rowed) -> bool:
            place = next_band[layer.name]
            if place == len(self.bands[layer.name]):
                return False
            reads = layer.reads(*self.bands[layer.name][place]) or {}
            return all(tensor not in written or written[tensor] >= end for tensor, (_, end) in reads.items())

        for _ in self.bands[last.name]:
            pull(last)
            for layer in ends:
                while is_ready(layer):
                    pull(layer)
        for layer in self.layers:  # of some layers nobody reads the last rows; those that arrive are not even kept
            while not isinstance(layer, Arrival) and next_band[layer.name] < len(self.bands[layer.name]):
                pull(layer)

    def cascade(self) -> Cascade:
        """The steps with the places of their rows."""
        states = {name: _Written(rows=rows) for name, rows in self._needed_rows().items()}
        lows = _Lows({**self.readers, **self.readers_given}, {**self.heights, **self.given}, self.bands)
        steps, live = [], dict[str, int]()  # how far the rows reach of each line that has any
        arrived = dict[str, int]()  # what lies there while rows arrive counts for the layer that runs next
        for layer, place in self.order:
            first, last = self.bands[layer.name][place]
            writes = self._write(layer, first, last, states)
            reads = self._reads_of(layer, first, last, states)
            name = layer.output.name
            low = -1 if isinstance(layer, Arrival) else lows.low.get(name, 0)  # what arrives is there, even if nobody reads it
            _note(live, name, states.get(name), low)
            if not isinstance(layer, Departure):  # what is there while rows leave was there when they were written
                arrived.update((tensor, end) for tensor, end in live.items() if end > arrived.get(tensor, 0))
            if isinstance(layer, RowLayer):
                for tensor, end in arrived.items():
                    reached = states[tensor].reached
                    if end > reached.get(layer.name, 0):
                        reached[layer.name] = end
                arrived.clear()
                self._count(layer, last, lows.low)
            touched = lows.after(layer)
            node = layer.name if isinstance(layer, RowLayer) else ""
            steps.append(BandStep(node, first, last, reads, writes, self._shifts(touched, states, lows)))
            for tensor in touched:
                _note(live, tensor, states.get(tensor), lows.low.get(tensor, 0))
        lines = {
            name: Line(name, self.inner[name].height, state.rows, row_bytes(self.inner[name].output), state.reached)
            for name, state in states.items()
        }
        nodes = tuple(layer.name for layer in self.layers if isinstance(layer, RowLayer))
        return Cascade(
            nodes,
            {name: max(last - first for first, last in self.bands[name]) for name in nodes},
            lines,
            tuple(steps),
            frozenset(layer.name for layer in self.layers if isinstance(layer, RowLayer) and layer.in_parts),
            self.stocks,
        )

    def _count(self, layer: Rowed, last: int, low: Mapping[str, int]) -> None:
        """Note which rows of whole tensors are needed while this band runs."""
        for name, height in self.given.items():
            self._stock(name, layer.name, low[name], height)
        if layer.output.name in self.made:
            self.made[layer.output.name] = last
        for name, done in self.made.items():
            if done:
                self._stock(name, layer.name, 0, done)

    def _stock(self, tensor: str, layer: str, first: int, last: int) -> None:
        known = self.stocks.setdefault(tensor, {})
        before = known.get(layer)
        if before is None:
            known[layer] = Stock(first, last, self.given.get(tensor) or self.heights[tensor])
        elif first < before.first or last > before.last:
            known[layer] = Stock(min(before.first, first), max(before.last, last), before.height)

    def _needed_rows(self) -> dict[str, int]:
        """How many rows each line holds at most."""
        needed = dict.fromkeys(self.inner, 0)
        lows = _Lows(self.readers, self.heights, self.bands)
        for layer, place in self.order:
            name = layer.output.name
            if name in needed:
                first, last = self.bands[layer.name][place]
                needed[name] = max(needed[name], last - min(first, lows.low[name]))
            lows.after(layer)
        return needed

    def _write(self, layer: Rowed, first: int, last: int, states: Mapping[str, _Written]) -> Rows:
        state = states.get(layer.output.name)
        if state is None:
            return Rows(layer.output.name, 0, 1, 0) if layer.in_parts else Rows(layer.output.name, first, last, first)
        if state.base is None:  # rows that arrive begin where the line does: so kernels read from its aligned first byte
            state.base = 0 if isinstance(layer, Arrival) else last - state.rows
        state.done = last
        return Rows(layer.output.name, first, last, first - state.base)

    def _reads_of(self, layer: Rowed, first: int, last: int, states: Mapping[str, _Written]) -> tuple[Rows | None, ...]:
        band = layer.band(first, last)
        assert band is not None
        found: list[Rows | None] = []
        for tensor, rows in zip(layer.inputs, band.reads, strict=True):
            if tensor is None or rows is None:
                found.append(None)
            else:
                base = states[tensor.name].base if tensor.name in states else 0
                found.append(Rows(tensor.name, *rows, rows[0] - (base or 0)))
        return tuple(found)

    def _shifts(self, touched: Sequence[str], states: Mapping[str, _Written], lows: _Lows) -> tuple[Shift, ...]:
        """What moves, so that the next band of each line has room."""
        found = []
        for name in touched:
            state, writer = states.get(name), self.inner.get(name)
            if state is None or writer is None or state.base is None:
                continue
            if lows.at[writer.name] == len(self.bands[writer.name]):
                continue
            base = self.bands[writer.name][lows.at[writer.name]][1] - state.rows
            low = lows.low[name]
            if base <= state.base or low < base:
                continue
            if isinstance(writer, Arrival):
                base = min(low, state.done)  # to the front, and so to an aligned place
            if low < state.done:
                found.append(Shift(Rows(name, low, state.done, low - state.base), low - base))
            state.base = base
        return tuple(found)
