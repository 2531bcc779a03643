# SPDX-License-Identifier: MIT
"""What the constraint solver is asked, in words: its package is optional, and its model must be right where it is absent, too."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from aidge_build.plan.memory import cp_sat
from aidge_build.plan.memory.buffer import Buffer, Overlap, Window
from aidge_build.plan.memory.problem import Problem
from aidge_build.plan.memory.regions import Answer, Room

ROOMS = (Room("SLOW", 40, access_cost=5), Room("FAST", 24, dma=False), Room("TINY", 6, access_cost=2))
QUESTION = (
    [
        Buffer("x", 8, 1, 0, 2, "io"),
        Buffer("ring", 12, 4, 0, 4, windows=(Window(0, 2, 0, 12), Window(2, 4, 3, 9))),
        Buffer("y", 10, 2, 1, 3),
        Buffer("z", 6, 2, 2, 5),
    ],
    [Overlap("y", "x", 3), Overlap("z", "y", 0)],
)


class Term:
    """An expression of the solver that prints as it was written."""

    def __init__(self, text: str):
        self.text = text

    def _joined(self, sign: str, other: object) -> Term:
        return Term(f"({self} {sign} {other})")

    def __add__(self, other):
        return self._joined("+", other)

    def __radd__(self, other):
        return Term(f"({other} + {self})") if other else self

    def __mul__(self, other):
        return self._joined("*", other)

    __rmul__ = __mul__

    def __le__(self, other):
        return self._joined("<=", other)

    def __eq__(self, other):
        return self._joined("==", other)

    def __invert__(self):
        return Term(f"not {self}")

    def __str__(self):
        return self.text

    __repr__ = __str__
    __hash__ = None


class Model:
    """Writes down what it is told; the last one made is `Model.last`."""

    last: Model

    def __init__(self):
        self.lines: list[str] = []
        self.choices = 0
        Model.last = self

    def new_int_var(self, low, high, name):
        self.lines.append(f"{name} in {low}..{high}")
        return Term(f"<{name}>")

    def new_bool_var(self, name):
        self.choices += not name
        return Term(f"<{name or f'choice {self.choices}'}>")

    def new_optional_fixed_size_interval_var(self, start, size, present, name):
        return Term(f"{start}+{size} if {present}{name}")

    def add(self, condition):
        self.lines.append(str(condition))
        return SimpleNamespace(only_enforce_if=lambda choice: self.lines.append(f"  if {choice}"))

    def __getattr__(self, name):
        return lambda *words: self.lines.append(f"{name} {' '.join(map(str, words))}")


class Solver:
    """Answers with `status` and with one value for everything."""

    status, number = 0, 1
    last: Solver

    def __init__(self):
        self.parameters = SimpleNamespace()
        Solver.last = self

    def solve(self, model):
        return self.status

    def value(self, term):
        return self.number if "place" in str(term) else str(term).endswith("FAST>")


FAKE = SimpleNamespace(CpModel=Model, CpSolver=Solver, OPTIMAL=1, FEASIBLE=2, INFEASIBLE=3, UNKNOWN=4)


@pytest.fixture
def solve(monkeypatch):
    for name in ("ortools", "ortools.sat", "ortools.sat.python"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(cp_model=FAKE))
    return cp_sat.installed()


def test_the_model_says_what_the_question_says(solve, golden):
    problem = Problem.of(*QUESTION)
    solve(problem, ROOMS, [3, 5, 7, 11], {"x": (0, 8), "y": (1, 4)})
    parameters = sorted(vars(Solver.last.parameters).items())
    golden("plans_solver", {"model.txt": "\n".join([*Model.last.lines, str(parameters), ""]).encode()})


@pytest.mark.parametrize(
    "status, proved, places",
    [
        (FAKE.OPTIMAL, True, ((1, 1), (1, 1))),
        (FAKE.FEASIBLE, False, ((1, 1), (1, 1))),
        (FAKE.INFEASIBLE, True, ()),
        (FAKE.UNKNOWN, False, ()),
    ],
)
def test_what_the_solver_answers_is_taken_for_what_it_is(solve, monkeypatch, status, proved, places):
    monkeypatch.setattr(Solver, "status", status)
    monkeypatch.setattr(Solver, "value", lambda self, term: 1 if "place" in str(term) else str(term).endswith("FAST>"))
    problem = Problem.of([Buffer("a", 2, 1, 0, 1), Buffer("b", 2, 1, 0, 1)])
    assert solve(problem, ROOMS, [1, 1], {}) == Answer(places, proved)


def test_too_many_buffers_are_not_asked_for(solve, monkeypatch):
    problem = Problem.of([Buffer("a", 2, 1, 0, 1), Buffer("b", 2, 1, 0, 1)])
    monkeypatch.setattr(cp_sat, "MOST_BUFFERS", 1)
    monkeypatch.setattr(Solver, "status", FAKE.OPTIMAL)
    assert solve(problem, ROOMS, [1, 1], {}) == Answer((), False)
    monkeypatch.setattr(cp_sat, "MOST_BUFFERS", 2)
    assert solve(problem, ROOMS, [1, 1], {}).proved


def test_four_hundred_buffers_are_asked_for_and_not_one_more(solve, monkeypatch):
    monkeypatch.setattr(Solver, "status", FAKE.OPTIMAL)
    for count in (400, 401):
        problem = Problem.of([Buffer(f"b{index}", 2, 1, index, index + 1) for index in range(count)])
        assert solve(problem, ROOMS, [1] * count, {}).proved == (count == 400)
