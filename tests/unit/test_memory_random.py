# SPDX-License-Identifier: MIT
"""Random networks as the planner sees them: with bounded effort, nearly always proved, and never illegal.

The suite takes a fixed sample; AIDGE_STRESS=1 (`./sconsw stress`) 10,000 small networks, and 300 of up to 2,000 buffers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.greedy import place
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem
from aidge_build.plan.schedule.order import best_order
from aidge_build.plan.schedule.problem_file import GraphProblem
from aidge_build.plan.schedule.question import Operation, OrderQuestion
from tests.effort import counted

STRESS = "AIDGE_STRESS" in os.environ
COUNT = 10_000 if STRESS else 150
LARGE_COUNT, MOST_OPERATIONS = (300, 1_500) if STRESS else (10, 300)
STYLES = ("chain", "residual", "inception", "dense", "unet", "mesh")


def random_network(seed: int, count: int) -> GraphProblem:
    """A graph of `count` operations in one of the usual shapes: irregular sizes, scratch on some."""
    random = Random(seed)
    style = STYLES[seed % len(STYLES)]
    sizes, operations, stack = [random.randrange(1_000, 60_000)], [], []
    recent = [0]
    for number in range(count):
        inputs = [recent[-1]]
        if style == "residual" and number % 3 == 2:
            inputs.append(recent[-3] if len(recent) > 2 else recent[0])
        elif style == "inception":
            inputs = random.sample(recent[-4:], k=min(len(recent[-4:]), random.choice((1, 1, 1, 3))))
        elif style == "dense":
            inputs = random.sample(recent[-6:], k=min(len(recent), random.randint(1, 4)))
        elif style == "unet":
            if number < count // 2 and number % 4 == 0:
                stack.append(recent[-1])
            elif number >= count // 2 and stack and number % 4 == 0:
                inputs.append(stack.pop())
        elif style == "mesh":
            inputs = random.sample(recent[-8:], k=min(len(recent), random.choice((1, 2, 2))))
        size = random.choice((random.randrange(1, 3_000), 16 * random.randrange(1, 4_000)))
        scratch = random.randrange(1, 8_000) if random.random() < 0.3 else 0
        operations.append(Operation(tuple(dict.fromkeys(inputs)), (len(sizes),), scratch))
        recent.append(len(sizes))
        sizes.append(size)
    question = OrderQuestion(tuple(sizes), tuple(operations), (0,), (len(sizes) - 1,))
    return GraphProblem(question, ("",) * count, tuple(range(count)))


def buffers_of(seed: int, count: int, *, ordered: bool) -> list[Buffer]:
    """Tensors, scratch and up to three persistent buffers of a random network, in one third of them with an alignment each."""
    random, problem = Random(seed + 1), random_network(seed, count)
    order = best_order(problem.question, states=2_000 if ordered else 0)
    alignments = (random.choice((1, 4, 4, 16)),) if seed % 3 else (1, 4, 16)
    found = [replace(buffer, alignment=random.choice(alignments)) for buffer in problem.buffers(order)]
    for step, index in enumerate(order.order):
        scratch = problem.question.operations[index].scratch_bytes
        if scratch:
            found.append(Buffer(f"scratch {step}", scratch, random.choice(alignments), step, step + 1, "scratch"))
    for number in range(random.randrange(4)):
        found.append(Buffer(f"state {number}", random.randrange(1, 9_000), random.choice(alignments), 0, count, "state"))
    return found


def is_legal(placements: Sequence[Placement]) -> bool:
    """Pair by pair, byte range by byte range: what the checker must agree with."""
    for index, one in enumerate(placements):
        if one.offset_bytes % one.buffer.alignment:
            return False
        for other in placements[:index]:
            if (
                one.buffer.meets(other.buffer)
                and one.offset_bytes < other.offset_bytes + other.buffer.size_bytes
                and other.offset_bytes < one.offset_bytes + one.buffer.size_bytes
            ):
                return False
    return True


def with_faults(found: MemoryPlan, random: Random) -> Iterator[tuple[MemoryPlan, bool]]:
    """The plan with a buffer moved onto another one, by a byte, or by its alignment; and whether it is still legal."""
    for _ in range(3):
        index = random.randrange(len(found.placements))
        victim, other = found.placements[index], random.choice(found.placements)
        offset = random.choice(
            (other.offset_bytes, victim.offset_bytes + 1, max(0, victim.offset_bytes - victim.buffer.alignment))
        )
        moved = (*found.placements[:index], replace(victim, offset_bytes=offset), *found.placements[index + 1 :])
        peak = max(placement.end_bytes for placement in moved)
        yield (
            replace(found, placements=moved, peak_bytes=max(peak, found.lower_bound_bytes)),
            is_legal(moved) and peak >= found.lower_bound_bytes,
        )


def test_random_networks_are_planned_legally_and_nearly_always_proved():
    proved = faults = 0
    for seed in range(COUNT):
        buffers = buffers_of(seed, 5 + Random(seed).randrange(60), ordered=seed % 2 == 0)
        found = plan(buffers)
        check(found, buffers)
        assert is_legal(found.placements)
        proved += found.offsets_proved_optimal
        for wrong, legal in with_faults(found, Random(seed)):
            if legal:
                check(wrong, buffers)
                continue
            faults += 1
            with pytest.raises(CheckFailed):
                check(wrong, buffers)
    assert proved >= 0.95 * COUNT, f"{proved} of {COUNT} proved"
    assert faults > COUNT


@pytest.mark.parametrize("seed", range(20))
def test_bytes_that_are_reused_a_step_too_early_are_found(seed):
    buffers = buffers_of(seed, 40, ordered=False)
    found = 0
    for victim in [buffer for buffer in buffers if buffer.last - buffer.first > 1]:
        problem = Problem.of([replace(buffer, last=buffer.last - 1) if buffer is victim else buffer for buffer in buffers])
        early = place(problem, range(len(problem)))
        placements = tuple(
            map(Placement, [victim if buffer.name == victim.name else buffer for buffer in problem.buffers], early.offsets)
        )
        if is_legal(placements):
            continue
        found += 1
        with pytest.raises(CheckFailed, match="overlap"):
            check(
                MemoryPlan(placements, early.peak_bytes, *Problem.of(buffers).lower_bound, offsets_proved_optimal=False), buffers
            )
    assert found


def test_networks_of_many_sizes_are_nearly_always_proved():
    proved = 0
    for seed in range(LARGE_COUNT):
        buffers = buffers_of(seed, round(30 * (MOST_OPERATIONS / 30) ** Random(seed + 7).random()), ordered=seed % 4 == 0)
        found = plan(buffers)
        check(found, buffers)
        proved += found.offsets_proved_optimal
    assert proved >= 0.95 * LARGE_COUNT, f"{proved} of {LARGE_COUNT} proved"


@pytest.mark.parametrize("seed, count", [(1, 300), (2, 500), *([(3, 1_000), (4, 1_000), (5, 2_000)] if STRESS else [])])
def test_the_effort_for_a_large_network_has_a_bound_per_buffer(seed, count):
    buffers = buffers_of(seed, count, ordered=False)
    found, calls = counted(lambda: plan(buffers))
    assert calls < 5_000 * len(buffers)
    check(found, buffers)
    assert found.gap_bytes <= 0.02 * found.lower_bound_bytes


@pytest.mark.parametrize("seed", range(60))
def test_a_planted_fault_is_always_found(seed):
    random = Random(seed)
    buffers = buffers_of(seed, 40, ordered=False)
    found = plan(buffers, nodes=0)
    index = random.randrange(len(found.placements))
    victim = found.placements[index]
    live = [p for p in found.live_at(victim.buffer.first) if p.buffer.name != victim.buffer.name]
    if not live:
        pytest.skip("nothing else is live in this step")
    other = random.choice(live)
    faults = [
        replace(victim, offset_bytes=other.offset_bytes),
        replace(victim, buffer=replace(victim.buffer, last=victim.buffer.last + 1)),
        replace(victim, offset_bytes=found.peak_bytes),
    ]
    if victim.buffer.alignment > 1:
        faults.append(replace(victim, offset_bytes=victim.offset_bytes + 1))
    for fault in faults:
        placements = (*found.placements[:index], fault, *found.placements[index + 1 :])
        with pytest.raises(CheckFailed):
            check(replace(found, placements=placements), buffers)
