# SPDX-License-Identifier: MIT
"""A layer that is computed some rows at a time, with its tensors in memory as a whole: a cascade of one layer without lines.

Its bands run one after the other, so its output may overlap its input, as for a kernel that goes through the whole image: as far
as the kernel allows for each band, and except what later bands still read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from aidge_build.contract.spec import Demands
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.kernels import Band, BandKernels, sizes_of
from aidge_build.plan.cascade.row_layer import RowLayer, row_bytes
from aidge_build.plan.cascade.unroll import cascade_of, walked
from aidge_build.plan.memory.replay import Joint, Move, Piece, Span


@dataclass(frozen=True)
class Cut:
    """A layer in pieces; `demands` are the demands of its bands together, `sharing` is what the planner may let the output share
    with inputs."""

    cascade: Cascade
    demands: Demands
    sharing: Demands


def cut(kernels: BandKernels, layer: RowLayer, fits: Callable[[RowLayer, Band, tuple[int, int]], bool]) -> Cut | None:
    """Returns the layer in the fewest bands that all fit; None if there are none. `fits` is told the rows of the largest and the
    smallest band, too."""
    for rows in _sizes(layer.height):
        first = layer.height // 2 // rows * rows
        middle = first, min(first + rows, layer.height)
        if layer.band(*middle) is not None and not fits(layer, middle, (rows, 1)):
            continue  # to be quick: most layers that are too long are so there, too
        found = _in_bands(kernels, layer, rows, fits)
        if found is not None:
            return found
    return None


def _sizes(height: int) -> Iterator[int]:
    """Yields the rows of a band that make 2, 3, ... bands, each number of rows once."""
    last = height
    for count in range(2, height + 1):
        rows = -(-height // count)
        if rows < last:
            last = rows
            yield rows


def _in_bands(
    kernels: BandKernels, layer: RowLayer, rows: int, fits: Callable[[RowLayer, Band, tuple[int, int]], bool]
) -> Cut | None:
    walk = walked([layer], frozenset({layer.output.name}), {layer.name: rows})
    if walk is None or not walk.is_aligned:
        return None
    cascade = cascade_of(walk)
    if not _begins_at_the_front(cascade):
        return None
    bands = cascade.bands_of(layer.name)
    sizes = sizes_of(bands)
    if len(bands) < 2 or not all(fits(layer, band, sizes) for band in layer.one_of_each(bands)):
        return None
    demands = kernels.demands(layer, bands)
    if demands is None or not kernels.agree(layer, bands):
        return None
    permits = {band: kernels.of_band(layer, band, sizes) or Demands() for band in bands}
    return Cut(replace(cascade, permits=permits), demands, _sharing(layer, cascade, permits))


def _begins_at_the_front(cascade: Cascade) -> bool:
    return all(rows.slot == 0 for _, rows in cascade.touched(cascade.steps[0]))


def _sharing(layer: RowLayer, cascade: Cascade, permits: dict[Band, Demands]) -> Demands:
    """Returns the inputs that the output may overwrite from the first byte on, and how many bytes before each other input it must
    begin."""
    in_place, overlap = [], []
    wide, size = row_bytes(layer.output), layer.output.size_bytes
    for position, tensor in enumerate(layer.inputs):
        read = [rows for step in cascade.steps if (rows := step.reads[position]) is not None]
        if tensor is None or len(read) < len(cascade.steps):
            continue
        row, same, lead = row_bytes(tensor), True, 0
        lows = [rows.first for rows in read]
        for place, step in enumerate(cascade.steps):
            allowed = permits[step.first, step.last]
            same = same and position in allowed.in_place and row == wide and lows[place] == step.first
            own = dict(allowed.overlap).get(position, (step.last - step.first) * wide)
            lead = max(lead, own + step.first * wide - lows[place] * row)
            if place + 1 < len(lows):
                lead = max(lead, step.last * wide - min(lows[place + 1 :]) * row)
        if same:
            in_place.append(position)
        elif lead < size:
            overlap.append((position, lead))
    return Demands(in_place=tuple(in_place), overlap=tuple(overlap))


@dataclass
class PieceMoves:
    """The moves of a layer in pieces, for the replay: each band reads and writes the bytes of its rows."""

    cascade: Cascade
    inputs: tuple[str, ...]
    spans: dict[str, Span]
    heights: dict[str, int]
    scratch: Span | None
    moves: list[Move] = field(default_factory=list)
    rows: dict[str, Span] = field(default_factory=dict)
    unwritten: dict[str, Piece | Joint] = field(default_factory=dict)

    def __post_init__(self) -> None:
        written: list[str] = []
        for step in self.cascade.steps:
            reads: list[str] = []
            positions: dict[int, int] = {}
            for position, (name, rows) in enumerate(zip(self.inputs, step.reads, strict=True)):
                if rows is None and name not in self.spans:
                    continue
                positions[position] = len(reads)
                reads.append(name if rows is None else self._rows(name, rows.first, rows.last, True))
            written.append(self._rows(step.writes.tensor, step.first, step.last, False))
            allowed = self.cascade.permits[step.first, step.last]
            self.moves.append(
                Move(
                    step.node,
                    tuple(reads),
                    (written[-1],),
                    self.scratch,
                    tuple(positions[index] for index in allowed.in_place if index in positions),
                    tuple((positions[index], lead) for index, lead in allowed.overlap if index in positions),
                )
            )
        self.unwritten[step.writes.tensor] = Joint(tuple(written), 1)

    def _rows(self, tensor: str, first: int, last: int, is_read: bool) -> str:
        whole = self.spans[tensor]
        row = whole.size_bytes // self.heights[tensor]
        name = f"rows {first} to {last} of {tensor}{' as read' if is_read else ''} by {self.cascade.nodes[0]}"
        self.rows[name] = Span(whole.memory, whole.offset_bytes + first * row, (last - first) * row)
        if is_read:
            self.unwritten[name] = Piece(tensor, first * row)
        return name
