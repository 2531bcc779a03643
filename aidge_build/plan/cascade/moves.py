# SPDX-License-Identifier: MIT
"""A cascade as the replay of the memory sees it: each row of a tensor is a tensor of its own, one for each place that the row
has.

A row that moves is written again at its new place. Rows move one by one from the front on, as in the generated code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aidge_build.graph.view import Node
from aidge_build.plan.cascade.cascade import BandStep, Cascade, Rows, Shift
from aidge_build.plan.memory.replay import Joint, Move, Piece, Span

LEFT = "rows that left"  # the firmware's memory for the rows of the output, and the tensor that it holds at the end


@dataclass
class RowMoves:
    """The moves of one cascade. `spans` are the bytes of whole tensors and of lines; `scratch` is the scratch of each layer, by
    name."""

    cascade: Cascade
    nodes: Mapping[str, Node]
    spans: Mapping[str, Span]
    heights: Mapping[str, int]  # of the tensors that it touches, where they have rows
    scratch: Mapping[str, Span]
    moves: list[Move] = field(default_factory=list)
    rows: dict[str, Span] = field(default_factory=dict)
    unwritten: dict[str, Piece | Joint] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made = {step.writes.tensor for step in self.cascade.steps if not step.departs}  # what arrives is written, too
        self._given = {rows.tensor for step in self.cascade.steps for rows in step.reads if rows is not None} - made
        self._sums: dict[str, str] = {}
        self._gone: list[str] = []
        ends = self._ends()
        for number, step in enumerate(self.cascade.steps):
            if step.arrives:
                self.moves.append(Move(f"rows of {step.writes.tensor} arrive", (), tuple(self._rows(step.writes))))
            elif step.departs:
                self._leave(step)
            else:
                self._call(step, number, step.last == ends.get(step.node))
            for shift in step.shifts:
                self._shift(shift)
        parts = {self.nodes[name].outputs[0] for name in self.cascade.carrying}
        if self._gone:
            self.rows[LEFT] = Span(LEFT, 0, self.left_bytes)
            self.unwritten[LEFT] = Joint(tuple(self._gone), 1)
        for name in sorted(made - set(self.cascade.lines) - parts):
            members = tuple(self._rows(Rows(name, 0, self.heights[name], 0)))
            self.unwritten[name] = Joint(members, 1)

    @property
    def left_bytes(self) -> int:
        """The bytes of all rows that the firmware takes, in its own memory."""
        line = self.cascade.lines.get(self.cascade.departing)
        return 0 if line is None else line.height * line.row_bytes

    def _ends(self) -> dict[str, int]:
        """Returns one past the last row of each layer that carries sums from band to band."""
        steps = self.cascade.steps
        return {name: max(step.last for step in steps if step.node == name) for name in self.cascade.carrying}

    def _leave(self, step: BandStep) -> None:
        """Adds a move of each row to the firmware, which has all rows at the end, each whole."""
        for rows in filter(None, step.reads):
            width = self.cascade.lines[rows.tensor].row_bytes
            for row, name in enumerate(self._rows(rows), rows.first):
                gone = f"{rows.tensor} row {row} as it left"
                self.rows[gone] = Span(LEFT, row * width, width)
                self._gone.append(gone)
                self.moves.append(Move(f"row {row} of {rows.tensor} leaves", (name,), (gone,)))

    def _shift(self, shift: Shift) -> None:
        rows = shift.rows
        moved = Rows(rows.tensor, rows.first, rows.last, shift.target)
        for old, new in zip(self._rows(rows), self._rows(moved), strict=True):
            self.moves.append(Move(f"rows of {rows.tensor}", (old,), (new,)))

    def _call(self, step: BandStep, number: int, is_last: bool) -> None:
        node = self.nodes[step.node]
        reads: list[str] = []
        for name, rows in zip(node.inputs, step.reads, strict=True):
            if rows is not None:
                reads += self._rows(rows)
            elif name in self.spans:
                reads.append(name)
        if step.node not in self.cascade.carrying:
            self.moves.append(Move(step.node, tuple(reads), tuple(self._rows(step.writes)), self.scratch.get(step.node)))
            return
        kept = f"sums of {step.node} after step {number}"
        self.rows[kept] = self.scratch[step.node]
        before = self._sums.get(step.node)
        self._sums[step.node] = kept
        reads = reads if before is None else [before, *reads]
        writes = (kept, step.writes.tensor) if is_last else (kept,)
        self.moves.append(Move(step.node, tuple(reads), writes, None, () if before is None else (0,)))

    def _rows(self, rows: Rows) -> list[str]:
        """Returns the names of the rows at their present places."""
        whole = self.spans[rows.tensor]
        height = self.heights[rows.tensor]
        line = self.cascade.lines.get(rows.tensor)
        width = line.row_bytes if line is not None else whole.size_bytes // height
        found = []
        for place in range(rows.last - rows.first):
            row, slot = rows.first + place, rows.slot + place
            name = f"{rows.tensor} row {row} at {slot}, by {self.cascade.nodes[0]}"  # of another cascade it is another one
            if name not in self.rows:
                self.rows[name] = Span(whole.memory, whole.offset_bytes + slot * width, width)
                if rows.tensor in self._given:
                    self.unwritten[name] = Piece(rows.tensor, row * width)
            found.append(name)
        return found
