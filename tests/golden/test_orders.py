# SPDX-License-Identifier: MIT
"""Orders of random networks, what is proved about them and at what effort: the same until somebody decides otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.plan.schedule import order as order_module
from aidge_build.plan.schedule.order import Order, _Walker, best_order
from tests.unit.test_memory_random import random_network
from tests.unit.test_schedule_order import random_question, unrolled

# Each with a small limit, so that small networks reach it.
LIMITS = ("PROBE_STATES", "STUCK_STATES", "STUCK_PART", "MOST_STEPS", "MOST_BITS", "MOST_BEAM_STEPS", "BEAM_WIDTH", "CUTS")
SMALL = ((8, 30, 2, 400, 1 << 12, 200, 2, 3), (9, 4_000, 16, 90, 1 << 12, 300, 3, 1), (1, 60, 3, 900, 1_100, 90, 4, 4))


def questions() -> Iterator:
    yield from (random_question(seed, 8) for seed in range(8))
    yield from (random_network(seed, 12 + seed).question for seed in range(12))
    yield unrolled(3)


def shown(found: Order) -> str:
    return f"{found.peak_bytes} above {found.lower_bound_bytes} after {found.states}: {' '.join(map(str, found.order))}"


def test_the_orders_of_networks_and_the_states_that_they_take_are_as_they_were(golden, monkeypatch):
    lines = []
    for number, question in enumerate(questions()):
        lines.append(f"{number}: {shown(best_order(question))}")
        backwards = best_order(question, 40, best_order(question, 1).order, question.start_bytes)
        lines.append(f"{number} from a given order: {shown(backwards)}")
        for limits in SMALL:
            with monkeypatch.context() as patched:
                for name, value in zip(LIMITS, limits, strict=True):
                    patched.setattr(order_module, name, value)
                lines += [f"{number} within {states}: {shown(best_order(question, states))}" for states in (1, 25, 300)]
                walker = _Walker(question)
                lines.append(f"{number} beam: {walker.beam(2, 1 << 30)} in {walker.steps} steps")
    golden("orders", {"orders.txt": ("\n".join(lines) + "\n").encode()})
