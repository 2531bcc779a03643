# SPDX-License-Identifier: MIT
"""Which layers become cascades, in bands of how many rows: plans with fewer and fewer bytes for more and more instructions.

Where the most bytes are live, a cascade must run. So every chain of layers around that step is tried, in an estimate that counts
live bytes; the best few are planned, and the search goes on from the best one at the step where the most bytes are live then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from aidge_build.cascade.arrival import Arrival
from aidge_build.cascade.cascade import Cascade
from aidge_build.cascade.cost import beyond
from aidge_build.cascade.departure import Departure
from aidge_build.cascade.kernels import BandKernels
from aidge_build.cascade.lines import Run, with_cascades
from aidge_build.cascade.row_layer import RowLayer, has_rows, row_bytes
from aidge_build.cascade.unroll import unroll
from aidge_build.graph.view import GraphView, Node
from aidge_build.memory.plan import MemoryPlan
from aidge_build.memory.planner import plan
from aidge_build.schedule.schedule import ALIGNMENT, Schedule

MOST_LAYERS = 96  # of a cascade
ROUNDS = 4


@dataclass(frozen=True)
class Effort:
    """`rows` of the last layer's bands that are tried; how many `chains` of layers a round tries at most, and how many of those
    are `planned` (2 or more)."""

    rows: tuple[int, ...]
    chains: int
    planned: int


Runs = tuple[Run, ...]
ALL = Effort((8, 6, 4, 3, 2, 1), MOST_LAYERS * MOST_LAYERS, 4)
QUICK = Effort((8, 3, 1), 24, 2)  # for builds that nobody asked to compute rows


@dataclass(frozen=True)
class Found:
    """A schedule with its plan, and what it costs: estimated instructions beyond those of whole layers."""

    schedule: Schedule
    peak: MemoryPlan
    runs: tuple[Run, ...] = ()

    @property
    def cost(self) -> float:
        """Estimated instructions beyond those of whole layers."""
        return sum(run.cascade.beyond for run in self.runs)


@dataclass(frozen=True)
class Graph:
    """What can be computed by rows. `whole` are tensors of which all rows are kept, `states` those that no cascade touches;
    `arriving` is the buffer of the input that comes row by row ("": none does), `departing` that of the output that leaves so."""

    kernels: BandKernels
    whole: frozenset[str]
    buffer_of: Mapping[str, str]
    states: frozenset[str]
    arriving: str = ""
    departing: str = ""

    @staticmethod
    def of(view: GraphView, buffer_of: Mapping[str, str], kernels: BandKernels, arriving: str = "", departing: str = "") -> Graph:
        """That of an adapted graph."""
        names: dict[str, list[str]] = {}
        for tensor, buffer in buffer_of.items():
            names.setdefault(buffer, []).append(tensor)
        by_rows = {arriving, departing}
        twice = [tensor for buffer, found in names.items() if len(found) > 1 and buffer not in by_rows for tensor in found]
        states = frozenset(name for state in view.states for name in (state.read, state.written))
        kept = {*view.inputs, *view.outputs, *twice} - {tensor for buffer in by_rows for tensor in names.get(buffer, ())}
        return Graph(kernels, frozenset(kept), buffer_of, states, arriving, departing)

    @property
    def by_rows(self) -> bool:
        """Whether the firmware brings or takes rows: then some layers must be in cascades."""
        return bool(self.arriving or self.departing)

    def arrival(self, nodes: Sequence[Node], first: int, readers: Mapping[str, set[str]]) -> Arrival | None:
        """The input that these layers read as it comes: the first ones, none besides them, and by one name."""
        read = sorted({name for name in readers if self.arriving and self.buffer_of.get(name) == self.arriving})
        inside = {node.name for node in nodes}
        if first or len(read) != 1 or not readers[read[0]] <= inside:
            return None
        tensors = [self.kernels.assignment.view.tensor(name) for name in read]
        return Arrival(tensors[0]) if has_rows(tensors[0]) else None

    def departure(self, steps: Sequence[Node], first: int, last: int, readers: Mapping[str, set[str]]) -> Departure | None:
        """The output that the steps `[first, last)` write as it leaves: they are the only ones that touch it."""
        inside = steps[first:last]
        written = [node for node in inside if self.buffer_of.get(node.outputs[0]) == self.departing]
        if not self.departing or len(written) != 1:
            return None
        layer = self.kernels.layer(written[0])
        if layer is None or layer.in_parts or not has_rows(layer.output):
            return None
        named = {name for name in readers if self.buffer_of.get(name) == self.departing}
        around = {reader for name in named for reader in readers[name]} - {node.name for node in inside}
        return None if around or named - {layer.output.name} else Departure(layer)

    def allows(self, layers: Sequence[RowLayer]) -> bool:
        """Whether no state is touched, and nothing that is read is written under another name."""
        read = [tensor.name for layer in layers for tensor in layer.seen.inputs if tensor is not None and not tensor.is_constant]
        made = [layer.output.name for layer in layers]
        homes = {self.buffer_of[name]: name for name in made}
        renamed = any(homes.get(self.buffer_of[name], name) != name for name in read)
        return not renamed and not self.states & {self.buffer_of[name] for name in (*read, *made)}


@dataclass(frozen=True)
class Question:
    """`alone` is the schedule in which nothing shares bytes, `rescheduled` that in which these nodes do not. `effort` limits the
    search, `keeps` says which cascades are short enough in each of their steps."""

    graph: Graph
    alone: Schedule
    rescheduled: Callable[[frozenset[str]], Schedule]
    effort: Effort = ALL
    keeps: Callable[[Cascade, Sequence[RowLayer]], bool] = lambda cascade, layers: True

    def planned(self, runs: Sequence[Run]) -> Found:
        """The plan in which these cascades run."""
        runs = tuple(sorted(runs, key=lambda run: run.first))
        nodes = frozenset(name for run in runs for name in run.cascade.nodes)
        schedule = with_cascades(self.rescheduled(nodes), runs)
        return Found(schedule, plan(schedule.buffers, overlaps=schedule.overlaps), runs)

    def agree(self, found: Found) -> bool:
        """Whether the kernels of all bands agree with each other; what does not is refused from now on."""
        kernels = self.graph.kernels
        layers = [
            (layer, run.cascade.bands_of(layer.name))
            for run in found.runs
            for layer in map(kernels.layer, self.alone.steps[run.first : run.last])
            if layer is not None
        ]
        return all([kernels.agree(layer, bands) for layer, bands in layers])

    def live_inside(self, run: Run) -> list[int]:
        """Bytes that are live in each step of the cascade."""
        return live_bytes(with_cascades(self.alone, (run,)))[run.first : run.last]

    def run(self, first: int, rows: Mapping[str, int], ahead: frozenset[str] = frozenset()) -> Run | None:
        """The cascade of the layers in `rows`, which begin at the step `first`, if there is one that its kernels accept."""
        steps = self.alone.steps[first : first + len(rows)]
        layers = [layer for layer in map(self.graph.kernels.layer, steps) if layer is not None]
        arrival = self.graph.arrival(steps, first, self.readers)
        inside = {node.name for node in steps}
        outer = frozenset(layer.output.name for layer in layers if not self.readers.get(layer.output.name, set()) <= inside)
        departure = self.graph.departure(self.alone.steps, first, first + len(rows), self.readers)
        rowed = [rowed for rowed in (arrival, *layers, departure) if rowed is not None]
        cascade = unroll(rowed, self.graph.whole | outer, rows, ahead) if self.graph.allows(layers) else None
        if cascade is None or not is_aligned(cascade, layers) or arrival is not None and not cascade.arriving:
            return None
        if not self.keeps(cascade, layers):
            return None
        wanted = {layer.name: self.graph.kernels.demands(layer, cascade.bands_of(layer.name)) for layer in layers}
        demands = {name: each for name, each in wanted.items() if each is not None}
        if len(demands) < len(wanted):
            return None
        return Run(replace(cascade, beyond=beyond(cascade, layers, self.graph.kernels)), first, demands)

    @cached_property
    def readers(self) -> dict[str, set[str]]:
        """The nodes that read each tensor."""
        found: dict[str, set[str]] = {}
        for node in self.alone.steps:
            for name in node.inputs:
                found.setdefault(name, set()).add(node.name)
        return found


def cascaded(base: Found, question: Question) -> tuple[Found, ...]:
    """Plans with cascades, the given one first: none of them has both more bytes and more instructions than another one. Where
    an input comes or an output leaves row by row, all of them have the cascades that take and give it."""
    found: list[Found] = []
    for rows in question.effort.rows:
        starts = _starts(base, question, rows) if question.graph.by_rows else [base]
        found += starts
        if starts:
            found += _better(min(starts, key=lambda each: (each.peak.peak_bytes, each.cost)), question, rows)
    return front(found)


def _better(present: Found, question: Question, rows: int) -> list[Found]:
    """Plans with more and more cascades than the given one."""
    found: list[Found] = []
    for _ in range(ROUNDS):
        better = _round(present, question, rows)
        found += better
        best = min([present, *better], key=lambda each: (each.peak.peak_bytes, each.cost))
        if best is present:
            break
        present = best
    return found


def _starts(base: Found, question: Question, rows: int) -> list[Found]:
    """Plans with the cascades that take the input and give the output row by row: those with the fewest bytes for what they
    cost."""
    live, asked = live_bytes(base.schedule), question.graph
    found: list[Runs] = [(run,) for run in _first_runs(question, rows)] if asked.arriving else [()]
    if asked.departing:
        able: list[Runs] = [(run,) for run in _last_runs(question, rows)]
        together = [runs for runs in found if runs and runs[0].cascade.departing]
        apart = [runs for runs in found if runs not in together]
        if asked.arriving:  # of two cascades each is chosen by itself: there are too many pairs
            apart, able = (_cheapest(each, question, live) for each in (apart, able))
        pairs = [(*one, *other) for one in apart for other in able if not one or one[0].last <= other[0].first]
        found = [*together, *pairs]
    return [question.planned(runs) for runs in _cheapest(found, question, live)]


def _cheapest(found: Sequence[Runs], question: Question, live: Sequence[int]) -> list[Runs]:
    """As many as are planned, those with the fewest bytes for what they cost."""
    return _cheaper_and_cheaper([_estimated(runs, question, live) for runs in found], question.effort.planned)


def _estimated(runs: Runs, question: Question, live: Sequence[int]) -> tuple[int, float, Runs]:
    """The bytes, where other steps need as much as they do now, and the cost."""
    now = list(live)
    for run in runs:
        now[run.first : run.last] = question.live_inside(run)
    return max(now), sum(run.cascade.beyond for run in runs), runs


def _first_runs(question: Question, rows: int) -> Iterator[Run]:
    """Every cascade that takes the input row by row."""
    names = [node.name for node in question.alone.steps[: MOST_LAYERS + 1]]
    for end in range(1, len(names) + 1):
        if question.graph.kernels.layer(question.alone.steps[end - 1]) is None:
            break
        run = question.run(0, dict.fromkeys(names[:end], rows))
        if run is not None and run.cascade.arriving:
            yield run


def _last_runs(question: Question, rows: int) -> Iterator[Run]:
    """Every cascade that gives the output row by row: it ends with the last layer that touches the output."""
    graph, steps = question.graph, question.alone.steps
    touching = [
        step
        for step, node in enumerate(steps)
        if any(graph.buffer_of.get(name) == graph.departing for name in (*node.inputs, *node.outputs))
    ]
    last = max(touching, default=-1)
    for first in range(last, max(-1, last - MOST_LAYERS), -1):
        if graph.kernels.layer(steps[first]) is None:
            break
        run = question.run(first, dict.fromkeys((node.name for node in steps[first : last + 1]), rows))
        if run is not None and run.cascade.departing:
            yield run


def _cheaper_and_cheaper(estimated: Sequence[tuple[int, float, Runs]], most: int) -> list[Runs]:
    """Of cascades with their bytes and costs at most so many that are cheaper than all that need less."""
    cheap, kept = None, list[Runs]()
    for _, cost, runs in sorted(estimated, key=lambda each: each[:2]):
        if cheap is None or cost < cheap:
            cheap = cost
            kept.append(runs)
    if len(kept) > most:
        kept = [kept[index * (len(kept) - 1) // (most - 1)] for index in range(most)]
    return kept


def front(found: Sequence[Found]) -> tuple[Found, ...]:
    """Those that no other one betters in both, from the largest peak to the smallest."""
    kept: list[Found] = []
    for each in sorted(found, key=lambda one: (one.cost, one.peak.peak_bytes)):
        if not kept or each.peak.peak_bytes < kept[-1].peak.peak_bytes:
            kept.append(each)
    return tuple(kept)


def _round(present: Found, question: Question, rows: int) -> list[Found]:
    """Plans with one cascade more, at the fullest step."""
    live = live_bytes(present.schedule)
    fullest = live.index(max(live))
    estimated = []
    for run in _runs(present, fullest, question, rows):
        peak = max(*live[: run.first], *question.live_inside(run), *live[run.last :])
        if peak < live[fullest]:
            estimated.append((peak, run.cascade.beyond, (run,)))
    kept = _cheaper_and_cheaper(estimated, question.effort.planned)
    found = [question.planned((*present.runs, *more)) for more in kept]
    return [each for each in found if each.peak.peak_bytes < present.peak.peak_bytes]


def live_bytes(schedule: Schedule) -> list[int]:
    """Bytes that are live in each step, those that buffers have in common counted once."""
    found = [0] * len(schedule.steps)
    buffers = {buffer.name: buffer for buffer in schedule.buffers}
    for overlap in schedule.overlaps:
        lower, upper = buffers[overlap.lower], buffers[overlap.upper]
        step = lower.first
        low, high = (buffer.live_bytes(step)[1] for buffer in (lower, upper))
        found[step] -= low + high - max(overlap.lead_bytes + high, low)
    for buffer in schedule.buffers:
        for window in buffer.extents:
            size = window.high_bytes - window.low_bytes
            for step in range(window.first, min(window.last, len(found))):
                found[step] += size
    return found


def _runs(present: Found, fullest: int, question: Question, rows: int) -> Iterator[Run]:
    """Every cascade of steps that follow each other, one of them the fullest."""
    steps = present.schedule.steps
    busy = {step for run in present.runs for step in range(run.first, run.last)}
    able = [step not in busy and question.graph.kernels.layer(node) is not None for step, node in enumerate(steps)]
    if not able[fullest]:
        return
    first = last = fullest
    while first > 0 and able[first - 1] and fullest - first < MOST_LAYERS:
        first -= 1
    while last + 1 < len(steps) and able[last + 1] and last - fullest < MOST_LAYERS:
        last += 1
    chains = [(start, end) for end in range(fullest, last + 1) for start in range(first, min(fullest, end - 1) + 1)]
    for start, end in _some(chains, question.effort.chains):
        run = question.run(start, dict.fromkeys((node.name for node in steps[start : end + 1]), rows))
        if run is not None:
            yield run


def _some(chains: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """So many of the chains: the shortest half of them, and others of all lengths."""
    if len(chains) <= count:
        return chains
    shortest = sorted(chains, key=lambda chain: (chain[1] - chain[0], chain))
    near, far = shortest[: count // 2], shortest[count // 2 :]
    left = count - len(near)
    return near + [far[index * (len(far) - 1) // (left - 1)] for index in range(left)]


def is_aligned(cascade: Cascade, layers: Sequence[RowLayer]) -> bool:
    """Whether all rows that a kernel gets begin where kernels expect tensors to begin."""
    sizes = {
        tensor.name: row_bytes(tensor)
        for layer in layers
        for tensor in (*layer.seen.inputs, *layer.seen.outputs)
        if tensor is not None and tensor.rank > 2
    }
    called = [step for step in cascade.steps if step.node]
    places = [*(step.writes for step in called), *(rows for step in called for rows in step.reads if rows is not None)]
    return all(rows.slot * sizes.get(rows.tensor, 0) % ALIGNMENT == 0 for rows in places)
