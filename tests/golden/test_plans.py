# SPDX-License-Identifier: MIT
"""Plans of random questions, what is proved about them, at what effort, and drawings: the same until somebody decides otherwise.

A firmware that is built anew with a newer tool keeps its addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.measure.report.plan_page import Named, plan_drawing, plan_page
from aidge_build.plan.memory.branch import NodeBudget, search
from aidge_build.plan.memory.buffer import Buffer, Overlap, Window
from aidge_build.plan.memory.climb import climb, moves_for
from aidge_build.plan.memory.greedy import Arrangement, best_greedy, orders, place
from aidge_build.plan.memory.overlap_search import overlap_search
from aidge_build.plan.memory.peak_first import peak_first
from aidge_build.plan.memory.picture import render_text
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem
from aidge_build.plan.memory.regions import Room, Spread, spread
from aidge_build.plan.memory.stack import least_padding, stack_bytes
from tests.unit.test_memory_overlap_search import random_question
from tests.unit.test_memory_random import buffers_of

ROOMS = (Room("SLOW", 9, access_cost=5), Room("FAST", 6, dma=False), Room("TINY", 3, access_cost=2))


@cache
def hard_questions() -> list[list[Buffer]]:
    """Questions that greedy orders leave open: short lives, odd sizes, three alignments."""
    found = []
    for seed in range(60):
        random = Random(seed)
        firsts = [random.randrange(12) for _ in range(14)]
        buffers = [
            Buffer(
                f"b{i}", random.randrange(1, 40), random.choice((1, 4, 16)[: 1 + seed % 3]), first, first + random.randrange(1, 6)
            )
            for i, first in enumerate(firsts)
        ]
        problem = Problem.of(buffers)
        if best_greedy(problem).peak_bytes > problem.lower_bound[0]:
            found.append(buffers)
    return found


def crowded_questions() -> list[list[Buffer]]:
    """Several buffers of each kind: exhaustive search tries one of equals, and needs more than one attempt."""
    found = []
    for seed in range(40):
        random = Random(seed)
        kinds = [
            (random.randrange(1, 40), random.choice((1, 4, 16)), random.randrange(4), random.randrange(1, 3)) for _ in range(9)
        ]
        buffers = [
            Buffer(f"b{index}", size, alignment, first, first + length)
            for index, (size, alignment, first, length) in enumerate(random.choice(kinds) for _ in range(24))
        ]
        problem = Problem.of(buffers)
        if best_greedy(problem).peak_bytes > problem.lower_bound[0]:
            found.append(buffers)
    return found[:4]


def stubborn_questions() -> Iterator[list[Buffer]]:
    """Questions whose exhaustive search takes hundreds of nodes, or does not end."""
    for seed in (2, 17, 98):
        random, count = Random(seed), 18 + seed % 8
        firsts = [random.randrange(10) for _ in range(count)]
        yield [
            Buffer(
                f"b{i}", random.randrange(1, 30), random.choice((1, 2, 8)[: 1 + seed % 3]), first, first + random.randrange(1, 5)
            )
            for i, first in enumerate(firsts)
        ]


def line(found: MemoryPlan) -> str:
    offsets = " ".join(f"{placement.buffer.name}@{placement.offset_bytes}" for placement in found.placements)
    proof = "proved" if found.offsets_proved_optimal else "open"
    return f"{found.peak_bytes} of {found.lower_bound_bytes} at step {found.bound_step}, {proof}: {offsets}"


def planned(buffers: list[Buffer], **options) -> str:
    try:
        return line(plan(buffers, **options))
    except AidgeError as error:
        return str(error)


def offsets() -> Iterator[str]:
    for seed, count in [(0, 12), (1, 20), (2, 30), (3, 40), (4, 50), (5, 60), (7, 90), (10, 120)]:
        yield planned(buffers_of(seed, count, ordered=seed % 2 == 0))
    for buffers in hard_questions():
        peak = plan(buffers).peak_bytes
        yield planned(buffers, nodes=300)
        yield planned(buffers, nodes=20, capacity_bytes=peak)
        yield planned(buffers, nodes=2_000, capacity_bytes=peak - 1, region="SRAM")
    for seed in range(30):
        buffers, overlaps = random_question(seed)
        yield planned(buffers, overlaps=overlaps)


def limits() -> Iterator[str]:
    """What is found and proved when the nodes end too early, and what a capacity makes of that."""
    for buffers in stubborn_questions():
        problem = Problem.of(buffers)
        bound = problem.lower_bound[0]
        for nodes in (0, 25, 100, 400):
            yield f"{nodes} nodes: {planned(buffers, nodes=nodes)}"
        for capacity in (bound, bound + 1, bound + 3):
            yield f"capacity {capacity}: {planned(buffers, nodes=150, capacity_bytes=capacity)}"
        for capacity in (bound, bound + 2):
            budget = NodeBudget(450)
            outcome, offsets = search(problem, capacity, budget)
            yield f"search {capacity}: {outcome.name} {offsets} {budget.left} left"
        yield f"fullest {arranged(*peak_first(problem, best_greedy(problem), bound, 400))}"


def arranged(found: Arrangement, *more: object) -> str:
    return f"{found.peak_bytes} {found.offsets} {found.order} {' '.join(map(str, more))}".rstrip()


def efforts() -> Iterator[str]:
    """How far each method comes alone, and how many nodes it leaves."""
    for buffers in [*hard_questions(), *crowded_questions()]:
        problem = Problem.of(buffers)
        bound, start = problem.lower_bound[0], best_greedy(problem)
        for capacity in (bound, start.peak_bytes - 1):
            for nodes in (5, 60, 2_000):
                budget = NodeBudget(nodes)
                outcome, found = search(problem, capacity, budget)
                yield f"search {capacity} {nodes}: {outcome.name} {found} {budget.left} left"
        yield f"fullest {arranged(*peak_first(problem, start, bound, 900))}"
        yield f"climb of {moves_for(problem)}: {arranged(climb(problem, start, 40))}"
    for seed in range(24):
        buffers, overlaps = random_question(seed)
        problem = Problem.of(buffers, overlaps)
        start = place(problem, [*orders(problem)][-1])
        for visits in (3, 12, 1_000):
            yield f"settle {visits}: {arranged(*overlap_search(problem, start, problem.lower_bound[0], visits))}"


def bounds() -> Iterator[str]:
    """What all methods build upon."""
    questions = [(buffers, []) for buffers in hard_questions()[:6]] + [random_question(seed) for seed in range(16)]
    for buffers, overlaps in questions:
        problem = Problem.of(buffers, overlaps)
        yield f"bound {problem.lower_bound} fullest {problem.fullest} granule {problem.granule} moves {moves_for(problem)}"
        yield f"next peaks {[problem.next_peak(peak) for peak in range(0, 60, 7)]}"
        yield f"live {problem.live_sets} sections {problem.sections}"
        yield f"distances {sorted(problem.distances.items())} separations {problem.separations}"
        yield f"apart {sorted((name, sorted(steps)) for name, steps in problem.steps_apart.items())}"
        yield f"orders {tuple(orders(problem))}"
        yield f"tightest {arranged(place(problem, next(orders(problem)), tightest=True))}"
    for seed in range(20):
        random = Random(seed)
        sizes, alignments = [random.randrange(1, 70) for _ in range(7)], [random.choice((1, 2, 4, 16)) for _ in range(7)]
        kinds = tuple((-alignment, size % 16) for size, alignment in zip(sizes, alignments, strict=True))
        cut = [least_padding(kinds, (1,) * 7, seed, 16, links) for links in (0, 7, 30, 200, 1_000, 5_000)]
        yield f"stack {stack_bytes(sizes, alignments)}, cut off {cut}"


def regions() -> Iterator[str]:
    for seed in range(40):
        buffers, overlaps = random_question(seed)
        if seed % 3 == 0:
            buffers[0] = Buffer(**{**vars(buffers[0]), "kind": "io"})
        found = spread(buffers, ROOMS[: 2 + seed % 2], {"t0": 1 + seed % 4, "t1": 2, "t2": 0}, overlaps)
        if isinstance(found, Spread):
            yield f"cost {found.cost} {'proved' if found.proved else 'open'}"
            yield from (f"  {each.region}: {line(each)}" for each in found.plans)
        else:
            yield str(found)
    for seed in range(10):
        buffers = buffers_of(seed, 25, ordered=False)
        half = plan(buffers).peak_bytes * 5 // 9
        found = spread(buffers, [Room("A", half, 3), Room("B", half)], {f"t{i}": i % 5 for i in range(30)})
        yield f"cost {found.cost} {[each.region for each in found.plans]}" if isinstance(found, Spread) else str(found)


def drawn() -> tuple[list[MemoryPlan], list[str]]:
    ring = Buffer(
        "a ring <with> a name that is too long for its box & more",
        4_000,
        16,
        1,
        6,
        "state",
        (Window(1, 3, 0, 4_000), Window(3, 6, 1_000, 3_000)),
    )
    buffers = [
        Buffer("in", 3_000, 16, 0, 2, "io"),
        Buffer("scratch", 500, 4, 2, 3, "scratch"),
        Buffer("hidden \x1b[0m", 1_234, 4, 2, 5),
        Buffer("out", 40, 1, 4, 7, "io"),
        ring,
    ]
    second = [Buffer(f"t{i}", 64 * (1 + i % 3), 8, i, i + 2) for i in range(6)]
    steps = ["Conv", "Relu", "Add & <more>", "MatMul", "Softmax", "", "end"]
    return [plan(buffers, region="DTCM"), plan(second, region="SRAM", overlaps=[Overlap("t1", "t0", 16)])], steps


def boxes() -> list[Buffer]:
    """A step is one wide and a byte one high: boxes beside the smallest that holds a name."""
    sizes = [(60, 13), (61, 13), (61, 12), (62, 14)]
    starts = [100 * index for index in range(len(sizes))]
    named = [Buffer(f"box {w} {h}", h, 1, at, at + w) for at, (w, h) in zip(starts, sizes, strict=True)]
    return [*named, Buffer("all", 480, 1, 900, 1000)]


def pictures() -> Iterator[str]:
    plans, steps = drawn()
    for found in (*plans, *(plan(buffers) for buffers in hard_questions()[:3])):
        for width in (80, 14):
            yield render_text(found, len(steps) + 8, width)
        yield found.report_line() + "\n" + found.report_line("node", "order open")
    yield render_text(plan([Buffer("one", 3, 1, 0, 1)]), 1)
    yield render_text(plans[0], 200)


def text(lines: Iterator[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("what", [offsets, limits, efforts, bounds, regions, pictures], ids=lambda what: what.__name__)
def test_what_is_planned_is_as_it_was(golden, what):
    golden(f"plans_{what.__name__}", {f"{what.__name__}.txt": text(what())})


def test_the_drawings_are_as_they_were(golden):
    plans, steps = drawn()
    golden(
        "plans_drawings",
        {
            "two.svg": plan_drawing(plans, Named(steps), "two <regions>").encode(),
            "one.svg": plan_drawing(plans[:1], Named(steps), "one & only").encode(),
            "four.svg": plan_drawing(
                [replace(found, region=name) for found in plans for name in "AB"], Named(steps), "four"
            ).encode(),
            "boxes.svg": plan_drawing([plan(boxes())], Named(), "names in boxes of 61 by 13 and not of 60 by 12").encode(),
            "empty.svg": plan_drawing([plan([])], Named(), "nothing").encode(),
            "two.html": plan_page(plans, Named(steps), "two", ["a line", "<another>"]).encode(),
        },
    )
