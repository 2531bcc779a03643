# SPDX-License-Identifier: MIT
"""Which layers become cascades, in bands of how many rows: plans with fewer and fewer bytes for more and more instructions.

A cascade must run at the step with the most live bytes. So every chain of layers around that step is tried, in an estimate that
counts live bytes. The best few are planned, and the search continues from the best plan, at the step that has the most live bytes
then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product, takewhile

from aidge_build.plan.cascade.lifetimes import Run
from aidge_build.plan.cascade.question import Found, Question, live_bytes

MOST_LAYERS = 96  # of a cascade
ROUNDS = 4
Runs = tuple[Run, ...]


@dataclass(frozen=True)
class Effort:
    """The numbers of `rows` that are tried for the bands of the last layer, how many `chains` of layers a round tries at most,
    and how many of the chains are `planned` (2 or more)."""

    rows: tuple[int, ...]
    chains: int
    planned: int


ALL = Effort((8, 6, 4, 3, 2, 1), MOST_LAYERS * MOST_LAYERS, 4)
QUICK = Effort((8, 3, 1), 24, 2)  # for builds that nobody asked to compute rows


def cascaded(base: Found, question: Question, effort: Effort) -> tuple[Found, ...]:
    """Returns plans with cascades, the given plan first: no plan has both more bytes and more instructions than another one. If
    an input comes or an output leaves row by row, all plans have the cascades that take and give it."""
    found: list[Found] = []
    for rows in effort.rows:
        starts = _starts(base, question, effort, rows) if question.graph.by_rows else [base]
        found += starts
        if starts:
            found += _better(min(starts, key=lambda each: (each.peak.peak_bytes, each.cost)), question, effort, rows)
    return front(found)


def _better(present: Found, question: Question, effort: Effort, rows: int) -> list[Found]:
    """Returns plans with more and more cascades than the given one."""
    found: list[Found] = []
    for _ in range(ROUNDS):
        better = _round(present, question, effort, rows)
        found += better
        best = min([present, *better], key=lambda each: (each.peak.peak_bytes, each.cost))
        if best is present:
            break
        present = best
    return found


def _starts(base: Found, question: Question, effort: Effort, rows: int) -> list[Found]:
    """Returns plans with the cascades that take the input and give the output row by row, without plans that another one betters
    in bytes and cost."""
    live, asked = live_bytes(base.schedule), question.graph
    found: list[Runs] = [(run,) for run in _first_runs(question, rows)] if asked.arriving else [()]
    if asked.departing:
        together = [runs for runs in found if runs and runs[0].cascade.departing]
        apart = [runs for runs in found if runs not in together]
        able: list[Runs] = [(run,) for run in _last_runs(question, rows)]
        if asked.arriving:  # of two cascades each is chosen by itself: there are too many pairs
            apart, able = (_cheapest(each, question, effort, live) for each in (apart, able))
        found = [*together, *((*one, *other) for one, other in product(apart, able) if _follow(one, other))]
    return [question.planned(runs) for runs in _cheapest(found, question, effort, live)]


def _follow(one: Runs, other: Runs) -> bool:
    """Whether the cascade of the output begins after the cascade of the input, if there is one."""
    return all(before.last <= after.first for before in one for after in other)


def _cheapest(found: Sequence[Runs], question: Question, effort: Effort, live: Sequence[int]) -> list[Runs]:
    """Returns at most `effort.planned` of them, without any that another one betters in bytes and cost."""
    return _cheaper_and_cheaper([_estimated(runs, question, live) for runs in found], effort.planned)


def _estimated(runs: Runs, question: Question, live: Sequence[int]) -> tuple[int, float, Runs]:
    """Returns (bytes, cost, runs); steps outside the cascades count with their present bytes."""
    now = list(live)
    for run in runs:
        now[run.first : run.last] = question.live_inside(run)
    return max(now), sum(run.cascade.beyond for run in runs), runs


def _first_runs(question: Question, rows: int) -> Iterator[Run]:
    """Yields every cascade that takes the input row by row."""
    names = [node.name for node in question.alone.steps[: MOST_LAYERS + 1]]
    for end in range(1, len(names) + 1):
        if question.graph.kernels.layer(question.alone.steps[end - 1]) is None:
            break
        run = question.run(0, dict.fromkeys(names[:end], rows))
        if run is not None and run.cascade.arriving:
            yield run


def _last_runs(question: Question, rows: int) -> Iterator[Run]:
    """Yields every cascade that gives the output row by row: it ends with the last layer that touches the output."""
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
    """Returns at most `most` of the cascades that are cheaper than every cascade with fewer bytes."""
    cheap, kept = None, list[Runs]()
    for _, cost, runs in sorted(estimated, key=lambda each: each[:2]):
        if cheap is None or cost < cheap:
            cheap = cost
            kept.append(runs)
    if len(kept) > most:
        kept = [kept[index * (len(kept) - 1) // (most - 1)] for index in range(most)]
    return kept


def front(found: Sequence[Found]) -> tuple[Found, ...]:
    """Returns the plans that no other plan betters in both bytes and cost, from the largest peak to the smallest."""
    kept: list[Found] = []
    for each in sorted(found, key=lambda one: (one.cost, one.peak.peak_bytes)):
        if not kept or each.peak.peak_bytes < kept[-1].peak.peak_bytes:
            kept.append(each)
    return tuple(kept)


def _round(present: Found, question: Question, effort: Effort, rows: int) -> list[Found]:
    """Returns plans with one more cascade, at the step with the most live bytes."""
    live = live_bytes(present.schedule)
    fullest = live.index(max(live))
    estimated = []
    for run in _runs(present, fullest, question, effort, rows):
        peak = max(*live[: run.first], *question.live_inside(run), *live[run.last :])
        if peak < live[fullest]:
            estimated.append((peak, run.cascade.beyond, (run,)))
    kept = _cheaper_and_cheaper(estimated, effort.planned)
    return [question.planned((*present.runs, *more)) for more in kept]


def _runs(present: Found, fullest: int, question: Question, effort: Effort, rows: int) -> Iterator[Run]:
    """Yields every cascade of consecutive steps that include the step `fullest`."""
    steps = present.schedule.steps
    busy = {step for run in present.runs for step in range(run.first, run.last)}
    able = [step not in busy and question.graph.kernels.layer(node) is not None for step, node in enumerate(steps)]
    if not able[fullest]:
        return
    before = takewhile(able.__getitem__, range(fullest - 1, -1, -1)[:MOST_LAYERS])
    after = takewhile(able.__getitem__, range(fullest + 1, len(steps))[:MOST_LAYERS])
    first, last = min(before, default=fullest), max(after, default=fullest)
    chains = [(start, end) for end in range(fullest, last + 1) for start in range(first, min(fullest, end - 1) + 1)]
    for start, end in _some(chains, effort.chains):
        run = question.run(start, dict.fromkeys((node.name for node in steps[start : end + 1]), rows))
        if run is not None:
            yield run


def _some(chains: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Returns `count` of the chains: one half are the shortest chains, the other half have all lengths."""
    if len(chains) <= count:
        return chains
    shortest = sorted(chains, key=lambda chain: (chain[1] - chain[0], chain))
    near, far = shortest[: count // 2], shortest[count // 2 :]
    left = count - len(near)
    return near + [far[index * (len(far) - 1) // (left - 1)] for index in range(left)]
