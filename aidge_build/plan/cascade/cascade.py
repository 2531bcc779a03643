# SPDX-License-Identifier: MIT
"""A cascade: layers that are computed together, a band of rows of each at a time, as a list of steps.

A tensor that only these layers use is kept as the rows that are still read: a `Line`. New rows are written to the end of its
bytes. When the rows that no layer reads any more leave enough room, the other rows move towards the front. So each band of a
layer finds its rows at the same place, and the kernel works on them as on a small image. No row is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

from aidge_build.base.naming import counted
from aidge_build.contract.spec import Demands


@dataclass(frozen=True)
class Rows:
    """The rows `[first, last)` of a tensor. Row `first` is `slot` rows after the beginning of the tensor's bytes."""

    tensor: str
    first: int
    last: int
    slot: int


@dataclass(frozen=True)
class Shift:
    """Rows move to the slot `target`, towards the front of their line."""

    rows: Rows
    target: int


@dataclass(frozen=True)
class BandStep:
    """One call of a kernel: the rows `[first, last)` of the layer `node`. `reads` has an entry for each input (None: constant, or
    all of a tensor that was there before); `shifts` are made after it. Without a node, the firmware brings the rows that the step
    writes, or takes the rows that the step reads."""

    node: str
    first: int
    last: int
    reads: tuple[Rows | None, ...]
    writes: Rows
    shifts: tuple[Shift, ...] = ()

    @property
    def arrives(self) -> bool:
        """Whether the firmware brings these rows."""
        return not self.node and not self.reads

    @property
    def departs(self) -> bool:
        """Whether the firmware takes these rows."""
        return not self.node and bool(self.reads)


@dataclass(frozen=True)
class Line:
    """A tensor of `height` rows; the arena holds at most `rows` of them at a time. `reached` says, for each layer that runs while
    rows of the tensor are kept, how many rows from the front the kept rows reach."""

    tensor: str
    height: int
    rows: int
    row_bytes: int
    reached: Mapping[str, int]

    @property
    def size_bytes(self) -> int:
        """Bytes of the rows that are kept."""
        return self.rows * self.row_bytes


@dataclass(frozen=True)
class Stock:
    """The rows `[first, last)` of a tensor that are live in the steps of a layer. The tensor is in memory as a whole, and a
    cascade reads or writes all its rows. A row is dead before it is written and after it is read for the last time."""

    first: int
    last: int
    height: int


@dataclass(frozen=True)
class Work:
    """The work of a cascade in addition to its layers: the `bands` of each layer, in order; the bytes that are moved within
    lines; the bytes of rows in lines that each layer reads again, over all bands; how often the cascade waits for rows to come or
    go."""

    bands: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    shifted_bytes: int = 0
    bytes_read_again: Mapping[str, int] = field(default_factory=dict)
    waits: int = 0


class LateSteps(Sequence[BandStep]):
    """Steps that are made on first use: a search uses the steps of few of the cascades that it looks at."""

    def __init__(self, make: Callable[[], tuple[BandStep, ...]]):
        self._make = make

    @cached_property
    def _made(self) -> tuple[BandStep, ...]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> BandStep: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[BandStep, ...]: ...

    def __getitem__(self, index: int | slice) -> BandStep | tuple[BandStep, ...]:
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)


@dataclass(frozen=True)
class Cascade:
    """`nodes` are the layers in order, `rows_of` the rows of their largest bands; the scratch of layers in `carrying` keeps its
    bytes from band to band. `stocks` are the live rows of whole tensors, for each layer; `beyond` estimates the instructions in
    addition to whole layers; layers in `ahead` begin with one row more than is needed first. `arriving` and `departing` are the
    tensors that the firmware brings and takes by rows ("": none). `permits` is only for a single layer with whole tensors: what
    its kernel allows for each band."""

    nodes: tuple[str, ...]
    rows_of: Mapping[str, int]
    lines: Mapping[str, Line]
    steps: Sequence[BandStep]
    carrying: frozenset[str] = frozenset()
    stocks: Mapping[str, Mapping[str, Stock]] = field(default_factory=dict)  # tensor -> layer
    beyond: float = 0.0
    ahead: frozenset[str] = frozenset()
    permits: Mapping[tuple[int, int], Demands] = field(default_factory=dict)
    work: Work = Work()
    arriving: str = ""
    departing: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether it is a single layer in pieces, which saves no memory."""
        return bool(self.permits)

    @property
    def shifted_bytes(self) -> int:
        """Bytes that are moved within lines."""
        return self.work.shifted_bytes

    @property
    def waits(self) -> bool:
        """Whether some of its steps wait for the firmware."""
        return any(not step.node for step in self.steps)

    def touched(self, step: BandStep) -> list[tuple[int, Rows]]:
        """Returns (position, rows) for what a step reads and writes by rows; -1 is the output. A layer in `carrying` has no
        output entry: it writes one row, where the tensor begins."""
        reads = [(position, rows) for position, rows in enumerate(step.reads) if rows is not None]
        return reads if step.departs or step.node in self.carrying else [*reads, (-1, step.writes)]

    @property
    def walked(self) -> tuple[tuple[str, int], ...]:
        """The pairs (layer, position) that go through a whole tensor row by row."""
        found = ((step.node, at, rows.tensor) for step in self.steps for at, rows in self.touched(step))
        return tuple(dict.fromkeys((node, at) for node, at, tensor in found if tensor not in self.lines))

    def bands_of(self, node: str) -> tuple[tuple[int, int], ...]:
        """Returns the rows of each band of a layer, in order."""
        return self.work.bands[node]

    def __str__(self) -> str:
        rows = ", ".join(f"{name} by {self.rows_of[name]}" for name in self.nodes)
        rows += f" (rows of {self.arriving} arrive)" if self.arriving else ""
        rows += f" (rows of {self.departing} leave)" if self.departing else ""
        kept = ", ".join(f"{line.rows} of {counted(line.height, 'row')} of {name}" for name, line in self.lines.items())
        return f"  cascade of {rows}: keeps {kept}; {counted(len(self.steps), 'step')}, {self.shifted_bytes:,} B moved"
