# SPDX-License-Identifier: MIT
"""Decides which layers are computed row by row: chooses what the options ask for from the plans that `cascade/` finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.question import Found, Question
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.rowed_graph import Graph
from aidge_build.plan.cascade.search import ALL, Effort, cascaded, front
from aidge_build.plan.cascade.widening import widened
from aidge_build.plan.options import Options
from aidge_build.plan.row_ports import input_by_rows, no_rows, output_by_rows
from aidge_build.plan.schedule.schedule import Reuse, Schedule, make_schedule
from aidge_build.prepare.adaptation.assignment import Assignment

CONVERSIONS = ("Clip", "FlipSign", "Table")  # that an input of uint8 or int16 needs in front of an int8 core
WIDENED = 2  # plans that fit get wider bands, the plans with the fewest instructions


class OverBudget(AidgeError):
    """No plan keeps --ram-budget (code PLAN01): the smallest that was found needs `least_bytes`."""

    def __init__(self, budget_bytes: int, least: Found):
        self.least_bytes = least.peak.peak_bytes
        super().__init__(
            f"no plan needs at most {budget_bytes:,} B: the smallest that was found needs {self.least_bytes:,} B",
            where=least.schedule.steps[least.peak.bound_step].where(),
            code="PLAN01",
            hint=f"ram_budget={self.least_bytes} is met; a smaller model or input needs less",
        )


@dataclass(frozen=True)
class Plans:
    """Plans with fewer and fewer bytes for more and more instructions, from `base` on."""

    base: Found
    question: Question
    effort: Effort

    @property
    def by_rows(self) -> bool:
        """Whether the input comes or the output leaves row by row: then plans of whole tensors are not allowed."""
        return self.question.graph.by_rows

    @property
    def has_refused(self) -> bool:
        """Whether bands were refused after a plan had them: what is found afterwards may differ from what a new search finds."""
        return self.question.has_refused

    def found(self) -> tuple[Found, ...]:
        """Returns all plans. No plan has bands that a kernel was found to compute in different ways."""
        return cascaded(self.base, self.question, self.effort)

    def _all(self, others: Sequence[Found]) -> tuple[Found, ...]:
        return self.found() if self.by_rows else (*others, *self.found())

    def smallest(self, *others: Found) -> Found:
        """Returns the plan with the fewest bytes, and with the fewest instructions if bytes are equal; `others` are plans without
        cascades."""
        while True:
            least = min(self._all(others), key=lambda plan: (plan.peak.peak_bytes, plan.cost), default=None)
            if least is None:
                raise no_rows(self.question)
            best = widened(least, self.question, least.peak.peak_bytes)
            if self.question.agree(best):
                return best

    def fitting(self, limit_of: Callable[[Found], int | None], *others: Found) -> Found | None:
        """Returns the plan with the fewest instructions of all that fit, None if none fits. `limit_of` returns the peak up to
        which the bands of a plan may grow, None for a plan that does not fit."""
        while True:
            limits = [(plan, limit) for plan in self._all(others) if (limit := limit_of(plan)) is not None]
            if not limits:
                return None
            limits.sort(key=lambda each: (each[0].cost, each[0].peak.peak_bytes))
            best = limits[0][0]
            for plan, limit in limits[:WIDENED]:
                larger = widened(plan, self.question, limit, best.cost)
                if larger.cost < best.cost and limit_of(larger) is not None:
                    best = larger
            if self.question.agree(best):
                return best

    def curve(self, *others: Found) -> tuple[Found, ...]:
        """Returns the plan with the fewest instructions for each peak that was found, from the largest peak to the smallest."""
        while True:
            plans = front([widened(plan, self.question, plan.peak.peak_bytes) for plan in self._all(others)])
            if not plans:
                raise no_rows(self.question)
            if all([self.question.agree(plan) for plan in plans]):
                return plans

    def with_input_by_rows(self, whole: Found) -> Found:
        """Returns the plan of whole tensors, with one change if it takes fewer bytes: the copy of the graph's input in another
        type is made some rows at a time for the layer that reads it. The plan with the fewest bytes is chosen, then the fewest
        instructions."""
        first, second = steps = self.question.alone.steps[:2]
        if any(self.question.graph.kernels.layer(node) is None for node in steps):
            return whole
        while True:
            runs = [self.question.run(0, {first.name: rows, second.name: rows}) for rows in self.effort.rows]
            plans = [self.question.planned((run,)) for run in runs if run is not None]
            least = min((whole, *plans), key=lambda plan: (plan.peak.peak_bytes, plan.cost))
            if least is whole:
                return whole
            best = widened(least, self.question, least.peak.peak_bytes)
            if self.question.agree(best):
                return best

    def within(self, budget_bytes: int, *others: Found) -> Found:
        """Returns the plan with the fewest instructions in so many bytes; OverBudget if none fits."""
        found = self.fitting(lambda plan: budget_bytes if plan.peak.peak_bytes <= budget_bytes else None, *others)
        found = found or self.smallest(*others)  # larger bands may need fewer bytes
        if found.peak.peak_bytes > budget_bytes:
            raise OverBudget(budget_bytes, found)
        return found


def converts_input(view: GraphView, schedule: Schedule) -> bool:
    """Whether the first step converts each element of the graph's input to other stored values, which only the second step
    reads."""
    if len(schedule.steps) < 2 or not schedule.steps[0].inputs:
        return False
    first, reader = schedule.steps[:2]
    source = view.tensor(first.inputs[0])
    while source.name not in view.given and (before := view.producer(source.name)) is not None and before.operator.views:
        source = view.tensor(before.inputs[0])
    is_conversion = first.type in CONVERSIONS and source.name in view.given
    return is_conversion and view.only_consumer(first.outputs[0]) is reader


def banded(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    options: Options,
    base: Found,
    kernels: BandKernels,
    effort: Effort = ALL,
    keeps: Callable[[Cascade, Sequence[RowLayer]], bool] | None = None,
) -> Plans:
    """Returns the given plan, and others with fewer and fewer bytes for more and more instructions."""
    reuse: Reuse = "plain" if options.memory_model == "plain" else "shared"

    def rescheduled(alone: frozenset[str]) -> Schedule:
        def asked(node: Node) -> Demands:
            wanted = demands(node)
            return replace(wanted, in_place=(), overlap=()) if node.name in alone else wanted

        return make_schedule(assignment, asked, reuse, io_outside=options.io == "caller", known=base.schedule.order)

    alone = rescheduled(frozenset(node.name for node in base.schedule.steps))
    view = assignment.view
    arriving = alone.buffer_of[input_by_rows(view)] if options.input == "rows" else ""
    departing = alone.buffer_of[output_by_rows(view)] if options.output == "rows" else ""
    question = Question(Graph.of(view, alone.buffer_of, kernels, arriving, departing), alone, rescheduled)
    return Plans(base, replace(question, keeps=keeps) if keeps else question, effort)
