# SPDX-License-Identifier: MIT
"""A layer as something that reads and writes rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aidge_build.contract.spec import NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Band
from aidge_build.plan.cascade.row_table import Bands, RowTable, cut_at

ROW_AXIS = 2


def has_rows(tensor: Tensor) -> bool:
    """Whether the rows of the tensor (positions on axis 2) are contiguous in memory, one after the other: axes that are stored
    before axis 2 have length 1."""
    if tensor.rank <= ROW_AXIS or not tensor.elements:
        return False
    order = tensor.storage.order
    return all(tensor.dims[axis] == 1 for axis in order[: order.index(ROW_AXIS)])


def row_bytes(tensor: Tensor) -> int:
    """Returns the bytes of one row."""
    return tensor.size_bytes // tensor.dims[ROW_AXIS]


@dataclass(frozen=True, eq=False)
class RowLayer:
    """`seen` computed in bands. A layer that takes its input in by parts (`in_parts`) counts the rows of its input, and writes
    its output with the last of them."""

    seen: NodeView
    in_parts: bool
    _bands: dict[tuple[int, int], Band | None] = field(default_factory=dict)
    _reads: dict[tuple[int, int], Mapping[str, tuple[int, int]] | None] = field(default_factory=dict)
    _shapes: dict[tuple[int, int], int] = field(default_factory=dict)
    _numbers: dict[tuple, int] = field(default_factory=dict)
    _cuts: dict[tuple[int, int], Bands | None] = field(default_factory=dict)
    _tables: dict[Bands, RowTable] = field(default_factory=dict)
    _counts: dict[Bands, tuple[tuple[tuple[int, int], int], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, seen: NodeView) -> RowLayer | None:
        """Returns the layer by rows; None if it has none."""
        moving = [tensor for tensor in seen.inputs if tensor is not None and not tensor.is_constant]
        if len(seen.outputs) != 1 or not moving:
            return None
        output = seen.outputs[0]
        in_parts = not (has_rows(output) and output.dims[ROW_AXIS] > 1)
        if in_parts and not (has_rows(moving[0]) and moving[0] is seen.inputs[0]):
            return None
        layer = cls(seen, in_parts)
        return layer if layer._reads_rows() else None

    def _reads_rows(self) -> bool:
        """Whether a band of all rows exists, and each input that the band reads by rows has rows."""
        whole = self.band(0, self.height)
        read = [] if whole is None else [tensor for tensor, rows in zip(self.seen.inputs, whole.reads) if rows is not None]
        return bool(read) and all(tensor is not None and has_rows(tensor) for tensor in read)

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.seen.node.name

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        """The tensors that it reads."""
        return self.seen.inputs

    @property
    def output(self) -> Tensor:
        """The tensor that it writes."""
        return self.seen.outputs[0]

    @property
    def height(self) -> int:
        """The number of rows that it computes, or takes in."""
        taken = self.seen.inputs[0] if self.in_parts else None
        return (self.output if taken is None else taken).dims[ROW_AXIS]

    def band(self, first: int, last: int) -> Band | None:
        """Returns the operator of the rows `[first, last)`; None if these rows cannot be computed without the others."""
        key = first, last
        if key not in self._bands:
            make = self.seen.operator.part if self.in_parts else self.seen.operator.band
            self._bands[key] = make(self.seen.inputs, self.seen.outputs, first, last)
        return self._bands[key]

    def reads(self, first: int, last: int) -> Mapping[str, tuple[int, int]] | None:
        """Returns the rows that a band reads of each tensor."""
        key = first, last
        if key not in self._reads:
            self._reads[key] = self._read(first, last)
        return self._reads[key]

    def _read(self, first: int, last: int) -> Mapping[str, tuple[int, int]] | None:
        band = self.band(first, last)
        if band is None:
            return None
        found: dict[str, tuple[int, int]] = {}
        for tensor, rows in zip(self.seen.inputs, band.reads, strict=True):
            if tensor is not None and rows is not None:
                low, high = found.get(tensor.name, rows)
                found[tensor.name] = (min(low, rows[0]), max(high, rows[1]))
        return found

    @property
    def multiple(self) -> int:
        """The rows of the output for each row of the input, at least 1: a band has a multiple of them."""
        given = self.seen.inputs[0]
        if self.in_parts or given is None or not has_rows(given):
            return 1
        return max(1, round(self.height / given.dims[ROW_AXIS]))

    def most_rows(self, wanted: int) -> int:
        """Returns the rows of a band that shall have `wanted` rows."""
        return min(-(-wanted // self.multiple) * self.multiple, self.height)

    def shape(self, first: int, last: int) -> int:
        """Returns a number that is equal for bands that look the same to a kernel: the same operator, and as many rows read and
        written."""
        key = first, last
        if key not in self._shapes:
            band = self.band(first, last)
            assert band is not None
            read = tuple(rows and rows[1] - rows[0] for rows in band.reads)
            self._shapes[key] = self._numbers.setdefault((band.operator, read, last - first), len(self._numbers))
        return self._shapes[key]

    def cut(self, start: int, size: int) -> Bands | None:
        """Returns the rows below `start` as a band, then bands of `size` rows; None if the layer cannot be cut there."""
        key = start, size
        if key not in self._cuts:
            bands = cut_at(self.height, start, size)
            self._cuts[key] = bands if all(self.band(*band) is not None for band in bands) else None
        return self._cuts[key]

    def table(self, bands: Bands) -> RowTable:
        """Returns the rows that these bands read."""
        if bands not in self._tables:
            self._tables[bands] = RowTable.of(self, bands)
        return self._tables[bands]

    def shapes(self, bands: Sequence[tuple[int, int]]) -> tuple[tuple[tuple[int, int], int], ...]:
        """Returns the first band of each shape, and how many bands have the shape."""
        key = tuple(bands)
        if key not in self._counts:
            firsts: dict[int, tuple[int, int]] = {}
            for band in key:
                firsts.setdefault(self.shape(*band), band)
            counts = Counter(self.shape(*band) for band in key)
            self._counts[key] = tuple((band, counts[shape]) for shape, band in firsts.items())
        return self._counts[key]

    def one_of_each(self, bands: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Returns the first band of each shape."""
        return [band for band, _ in self.shapes(bands)]

    def view(self, first: int, last: int, sizes: tuple[int, int]) -> NodeView:
        """Returns the rows `[first, last)` as their kernel sees them; `sizes` are the rows of the largest and of the smallest
        band."""
        band = self.band(first, last)
        assert band is not None
        return self.seen.of_band(band, None if self.in_parts else (first, last), *sizes)
