# SPDX-License-Identifier: MIT
"""The rounds of a search for cascades on made-up networks, in which a cascade leaves a known part of each step's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace

import pytest

from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.lifetimes import Run
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.cascade.search import ALL, QUICK, Effort, _cheaper_and_cheaper, cascaded
from aidge_build.plan.memory.buffer import Buffer

EFFORT = Effort((4, 2, 1), 1000, 8)
WALL = "wall"  # a layer that cannot be computed by rows


def schedule(live: Sequence[int], nodes: Sequence[SimpleNamespace]) -> SimpleNamespace:
    buffers = tuple(Buffer(f"buffer {step}", size, 1, step, step + 1) for step, size in enumerate(live))
    return SimpleNamespace(steps=tuple(nodes), buffers=buffers, overlaps=())


class Landscape:
    """Steps that need so many bytes as a whole, a step with "wall" never less. Bands of n rows leave n eighths of the bytes, and
    cost a hundred for each layer and for each halving. Rows of the input `arriving` may come before the first step, rows of the
    output `departing` may leave after the last step that touches it."""

    def __init__(self, sizes: str, arriving: str = "", departing: str = "") -> None:
        words = sizes.split()
        self.sizes = [int(word.removesuffix(WALL)) for word in words]
        self.nodes = [
            SimpleNamespace(name=f"{WALL if word.endswith(WALL) else 'layer'} {n}", inputs=(f"t{n}",), outputs=(f"t{n + 1}",))
            for n, word in enumerate(words)
        ]
        self.graph = SimpleNamespace(
            by_rows=bool(arriving or departing),
            arriving=arriving,
            departing=departing,
            buffer_of={f"t{n}": f"t{n}" for n in range(len(words) + 1)},
            kernels=SimpleNamespace(layer=lambda node: None if node.name.startswith(WALL) else node),
        )
        self.alone = schedule(self.sizes, self.nodes)
        self.asked: list[tuple[Run, ...]] = []

    def run(self, first: int, rows: dict[str, int]) -> Run | None:
        assert [*rows] == [node.name for node in self.nodes[first : first + len(rows)]]
        (size,) = set(rows.values())
        touching = [n for n, node in enumerate(self.nodes) if self.graph.departing in (*node.inputs, *node.outputs)]
        sides = {
            "arriving": self.graph.arriving * (first == 0),
            "departing": self.graph.departing * (touching[-1:] == [first + len(rows) - 1]),
        }
        if len(rows) < 2:
            return None
        return Run(Cascade(tuple(rows), rows, {}, (), beyond=100.0 * len(rows) / size, **sides), first, {})

    def live_inside(self, run: Run) -> list[int]:
        return [size * run.cascade.rows_of[name] // 8 for size, name in zip(self.sizes[run.first :], run.cascade.nodes)]

    def planned(self, runs: Sequence[Run]) -> Found:
        self.asked.append(tuple(runs))
        live = list(self.sizes)
        for run in runs:
            live[run.first : run.last] = self.live_inside(run)
        return Found(schedule(live, self.nodes), SimpleNamespace(peak_bytes=max(live)), tuple(runs))

    def all_plans(self) -> list[Found]:
        """Every plan with at most two cascades in bands of equally many rows."""
        able = [not node.name.startswith(WALL) for node in self.nodes]
        found = [self.planned(())]
        for rows in EFFORT.rows:
            ends = [(low, high) for low, high in combinations(range(len(able) + 1), 2) if high > low + 1 and all(able[low:high])]
            runs = [self.run(low, dict.fromkeys((node.name for node in self.nodes[low:high]), rows)) for low, high in ends]
            found += [self.planned((run,)) for run in runs]
            found += [self.planned(pair) for pair in combinations(runs, 2) if pair[0].last <= pair[1].first]
        return found


@pytest.mark.parametrize(
    "sizes",
    [
        "10 90 20 9",
        "90 20 10",
        "10 20 90",
        "90 10 8wall 10 80",
        "80 10 8wall 10 90",
        "20 80 20 20wall 20 88 20",
        "90wall 10 20",
        "10 50 10 50 10",
    ],
)
def test_each_round_adds_a_cascade_at_the_present_peak_until_no_two_need_less(sizes):
    question = Landscape(sizes)
    base = question.planned(())
    found = cascaded(base, question, EFFORT)
    assert found[0] is base
    assert all(one.peak.peak_bytes > other.peak.peak_bytes and one.cost < other.cost for one, other in zip(found, found[1:]))
    known = question.all_plans()
    assert found[-1].peak.peak_bytes == min(plan.peak.peak_bytes for plan in known)
    for plan in (plan for plan in known if len(plan.runs) < 2):
        assert any(each.peak.peak_bytes <= plan.peak.peak_bytes and each.cost <= plan.cost for each in found), plan.runs


def goes_by_rows(plan: Found, question: Landscape) -> bool:
    sides = [(run.cascade.arriving, run.cascade.departing) for run in plan.runs]
    return all(wanted in side for wanted, side in zip((question.graph.arriving, question.graph.departing), zip(*sides)))


@pytest.mark.parametrize("sizes", ["10 90 20 9", "90 20 10 10wall 20 10", "10 10 20wall 9 90", "30 10 8wall 10 80 12"])
@pytest.mark.parametrize("arriving, departing", [("t0", ""), ("", "t{last}"), ("", "t{before}"), ("t0", "t{last}")])
def test_all_plans_have_the_cascades_that_take_and_give_rows_and_no_single_one_is_better(sizes, arriving, departing):
    last = len(sizes.split())
    question = Landscape(sizes, arriving, departing.format(last=last, before=last - 1))
    found = cascaded(question.planned(()), question, EFFORT)
    known = [plan for plan in question.all_plans() if plan.runs and goes_by_rows(plan, question)]
    assert known and found and all(goes_by_rows(plan, question) for plan in found)
    for plan in (plan for plan in known if len(plan.runs) < 2):
        assert any(each.peak.peak_bytes <= plan.peak.peak_bytes and each.cost <= plan.cost for each in found), plan.runs
    assert found[-1].peak.peak_bytes == min(plan.peak.peak_bytes for plan in known)


def test_a_round_plans_few_of_the_cascades_that_it_estimates():
    question = Landscape("10 90 20 9 90 10")
    few = Effort((4,), 1000, 2)
    found = cascaded(question.planned(()), question, few)
    assert len(question.asked) <= 1 + 2 * 2 and len(found) > 1


def test_of_many_cascades_the_cheapest_the_smallest_and_some_between_are_planned():
    """A cascade with more bytes and no lower cost is none of them."""
    steps = [(size, 100.0 - size, size) for size in range(10)]
    assert _cheaper_and_cheaper([*reversed(steps), (3, 99.0, "worse"), (5, 96.0, "as dear")], 10) == [*range(10)]
    assert _cheaper_and_cheaper(steps, 4) == [0, 3, 6, 9] and _cheaper_and_cheaper(steps, 2) == [0, 9]


@pytest.mark.parametrize("effort", [ALL, QUICK])
def test_every_effort_tries_fewer_and_fewer_rows_down_to_one_and_plans_at_least_two_cascades(effort):
    assert [*effort.rows] == sorted({*effort.rows}, reverse=True) and effort.rows[-1] == 1 and effort.planned >= 2
