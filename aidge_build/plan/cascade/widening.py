# SPDX-License-Identifier: MIT
"""Bands with more rows if a limit leaves bytes for them: fewer calls, and fewer rows that are gathered again."""

from __future__ import annotations

from math import inf

from aidge_build.plan.cascade.lifetimes import Run
from aidge_build.plan.cascade.question import Found, Question

WIDENINGS = 5
MOST_TRIALS = 300  # of wider bands
MOST_AHEAD = 4  # layers that begin with a row more, and plans that are tried for each
MARGIN = 1.25  # times the cost of a known plan: what costs more does not become cheaper by layers that begin ahead


def widened(found: Found, question: Question, limit_bytes: int, known_cost: float = inf) -> Found:
    """Returns the plan with larger bands, and so fewer calls, as far as it stays within `limit_bytes`. Bands that cannot become
    cheaper than a plan of `known_cost` are not planned."""
    best, worth = found, MARGIN * known_cost
    fits, exceeds = max((max(question.live_inside(run)) for run in found.runs), default=0), 2 * limit_bytes
    for _ in range(WIDENINGS):  # live bytes that still pack into the limit are found by bisection
        allowed = min(limit_bytes, (fits + exceeds) // 2)
        runs = [_widened(run, question, allowed) for run in found.runs]
        if sum(run.cascade.beyond for run in runs) < worth:
            trial = question.planned(runs, limit_bytes)
            if trial.peak.peak_bytes > limit_bytes:
                exceeds = allowed
                continue
            best = min((best, trial), key=lambda each: each.cost)
        if allowed == limit_bytes:
            break
        fits = allowed
    if best.cost < worth:
        best = _with_layers_ahead(best, question, limit_bytes)
    return best if best is found else question.planned(best.runs)


def _widened(run: Run, question: Question, limit_bytes: int) -> Run:
    """Returns the cascade with twice the rows for the layer, or for all layers of one height, for which that saves most, repeated
    as long as it saves."""
    rows = {name: run.cascade.rows_of[name] for name in run.cascade.nodes}
    heights: dict[int, list[str]] = {}
    for name in rows:
        heights.setdefault(run.cascade.bands_of(name)[-1][1], []).append(name)
    groups = [*([name] for name in rows), *heights.values()]
    for _ in range(MOST_TRIALS // len(groups)):
        trials = [question.run(run.first, rows | {name: 2 * rows[name] for name in group}, run.cascade.ahead) for group in groups]
        able = [each for each in trials if each is not None and max(question.live_inside(each)) <= limit_bytes]
        best = min(able, key=lambda each: each.cascade.beyond, default=run)
        if best.cascade.beyond >= run.cascade.beyond:
            break
        run = best
        rows = {name: run.cascade.rows_of[name] for name in rows}
    return run


def _with_layers_ahead(best: Found, question: Question, limit_bytes: int) -> Found:
    """Returns the plan with layers that begin with one row more than is needed first, if their kernels say that it saves
    instructions: many compute rows in pairs, and a window needs an odd number of rows first."""
    for _ in range(MOST_AHEAD):
        trials = [
            (trial.cascade.beyond - run.cascade.beyond, place, trial)
            for place, run in enumerate(best.runs)
            for name in run.cascade.nodes
            if run.demands[name].instructions and name not in run.cascade.ahead
            for trial in [question.run(run.first, run.cascade.rows_of, run.cascade.ahead | {name})]
            if trial is not None and trial.cascade.beyond < run.cascade.beyond and max(question.live_inside(trial)) <= limit_bytes
        ]
        for _, place, trial in sorted(trials, key=lambda each: each[:2])[:MOST_AHEAD]:
            found = question.planned([*best.runs[:place], trial, *best.runs[place + 1 :]], limit_bytes)
            if found.peak.peak_bytes <= limit_bytes:
                best = found
                break
        else:
            break
    return best
