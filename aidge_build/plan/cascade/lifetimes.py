# SPDX-License-Identifier: MIT
"""The lifetimes of buffers in a schedule with cascades: the bytes that are live while the layers of a cascade run.

The layers of a cascade stay consecutive steps; one step covers all bands of its layer. A tensor that the cascade reads lives
until the last step of the cascade, a tensor that the cascade writes for later layers lives from the first step on. A tensor
between the layers has live rows only: in a step, all rows that are kept while any band of the layer runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from aidge_build.contract.spec import Demands
from aidge_build.plan.cascade.cascade import Cascade, Line, Stock
from aidge_build.plan.memory.buffer import Buffer, Window
from aidge_build.plan.schedule.schedule import Schedule


@dataclass(frozen=True)
class Run:
    """A cascade, and the first of the steps in which it runs; `demands` are the demands of its bands, by layer."""

    cascade: Cascade
    first: int
    demands: Mapping[str, Demands]

    @property
    def last(self) -> int:
        """One past its last step."""
        return self.first + len(self.cascade.nodes)


def with_cascades(schedule: Schedule, runs: Sequence[Run]) -> Schedule:
    """Returns the schedule with these cascades in its steps. In the given schedule, the tensors of their layers share no
    bytes."""
    buffers = {buffer.name: buffer for buffer in schedule.buffers}
    scratch_of = dict(schedule.scratch_of)
    for run in runs:
        touched: dict[str, set[str]] = {}
        for node in schedule.steps[run.first : run.last] if not run.cascade.is_cut else ():  # whole tensors live as they do
            for name in (*node.inputs, *node.outputs):
                held = buffers.get(schedule.buffer_of.get(name, ""))
                if held is not None:
                    touched.setdefault(held.name, set()).add(name)
        for name, tensors in touched.items():
            stock = run.cascade.stocks.get(next(iter(tensors))) if len(tensors) == 1 else None
            buffers[name] = _reaching(buffers[name], run) if stock is None else _stocked(buffers[name], run, stock)
        for node in schedule.steps[run.first : run.last]:
            buffers.pop(scratch_of.pop(node.name, ""), None)
        for line in run.cascade.lines.values():
            held = buffers[schedule.buffer_of[line.tensor]]
            buffers[held.name] = _line(held, line, run)
        for name, scratch in _scratch(run):
            scratch_of[name] = scratch.name
            buffers[scratch.name] = scratch
    return replace(schedule, buffers=tuple(buffers.values()), scratch_of=scratch_of, cascades=tuple(run.cascade for run in runs))


def _scratch(run: Run) -> Iterator[tuple[str, Buffer]]:
    """Yields the scratch of the layers' bands, by layer."""
    for step, name in enumerate(run.cascade.nodes, run.first):
        wanted = run.demands[name]
        if wanted.scratch_bytes:
            first, last = (run.first, run.last) if wanted.keeps_scratch else (step, step + 1)
            yield name, Buffer(f"scratch of {name}", wanted.scratch_bytes, wanted.scratch_alignment, first, last, "scratch")


def _reaching(buffer: Buffer, run: Run) -> Buffer:
    """Returns the buffer, live from the first to the last step of the cascade."""
    first, last = min(buffer.first, run.first), max(buffer.last, run.last)
    if not buffer.windows:
        return replace(buffer, first=first, last=last)
    windows = list(buffer.windows)
    windows[0], windows[-1] = replace(windows[0], first=first), replace(windows[-1], last=last)
    return replace(buffer, first=first, last=last, windows=tuple(windows))


def _stocked(buffer: Buffer, run: Run, stock: Mapping[str, Stock]) -> Buffer:
    """Returns the buffer of a whole tensor, which the cascade fills or empties row by row."""
    if buffer.windows:
        return _reaching(buffer, run)
    dies = buffer.last <= run.last
    found: list[Window] = []
    for place, name in enumerate(run.cascade.nodes):
        needed = stock.get(name)
        row = buffer.size_bytes // max(one.height for one in stock.values())
        low, high = (0, 0) if needed is None else (needed.first * row if dies else 0, needed.last * row)
        step = run.first + place
        low = min(low, buffer.size_bytes - 1)
        found.append(Window(step, step + 1, low, max(low + 1, high)))  # a byte if none is needed: windows leave no gap
    before = [Window(buffer.first, run.first, 0, buffer.size_bytes)] if buffer.first < run.first else []
    after = [Window(run.last, buffer.last, 0, buffer.size_bytes)] if buffer.last > run.last else []
    windows = (*before, *found, *after)
    return replace(buffer, first=windows[0].first, last=windows[-1].last, windows=windows)


def _line(buffer: Buffer, line: Line, run: Run) -> Buffer:
    """Returns the buffer reduced to the rows of the line."""
    rows = [line.reached.get(name, 0) for name in run.cascade.nodes]
    live = [place for place, count in enumerate(rows) if count]
    first, last = run.first + live[0], run.first + live[-1] + 1
    highs = [max(1, count * line.row_bytes) for count in rows[live[0] : live[-1] + 1]]  # a byte if none is needed: no gap
    windows: list[Window] = []
    step = first
    for high, steps in groupby(highs):
        following = step + len(list(steps))
        windows.append(Window(step, following, 0, high))
        step = following
    kept = () if len(windows) == 1 else tuple(windows)
    return Buffer(buffer.name, line.size_bytes, buffer.alignment, first, last, "activation", kept)
