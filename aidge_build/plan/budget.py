# SPDX-License-Identifier: MIT
"""Keeps a model within --ram-budget: tries layers by rows, then kernels that need less memory, then both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.plan.options import Options
from aidge_build.plan.planning import Planning
from aidge_build.prepare.adaptation.assignment import Assignment

Planned = Callable[[Assignment, Options], Planning]
Smaller = Callable[[Assignment], tuple[Assignment, tuple[str, ...]]]


def within_budget(
    assignment: Assignment, options: Options, planned: Planned, smaller: Smaller
) -> tuple[Assignment, Planning, tuple[str, ...]]:
    """Returns an assignment with a plan that keeps the budget, its plans, and the notice that names the kernels that were
    replaced by smaller ones.

    The chosen kernels stay if layers by rows are enough: rows cost a few per cent, smaller kernels often several times the
    instructions. Otherwise as many chosen kernels stay as the budget allows for whole tensors (`smaller`). AidgeError PLAN01
    names the fewest bytes that were found, and an option that would keep the budget, if there is one.
    """
    planning = planned(assignment, options)
    least = planning.over_budget
    if least is None:
        return assignment, planning, ()
    found = assignment
    if not options.max_step:  # steps cut layers for the kernels that were chosen
        found, notices = smaller(assignment)
        planning = planned(found, options)
        again = planning.over_budget
        if again is None:
            return found, planning, notices
        least = min(least, again, key=lambda error: error.least_bytes)
    least.hint = f"{_instead(found, options, planned)}{least.hint}"
    raise least


def _instead(assignment: Assignment, options: Options, planned: Planned) -> str:
    """Returns the option that keeps the budget, in words; empty if none does."""
    for words, other in (("input=rows", replace(options, input="rows")), ("io=arena", replace(options, io="arena"))):
        if other == options:
            continue
        try:
            found = planned(assignment, other).in_budget
        except AidgeError:  # also if the option does not suit the model
            continue
        return f"{words} (--{words.replace('=', ' ')}) keeps this budget, with {found.peak.peak_bytes:,} B; "
    return ""
