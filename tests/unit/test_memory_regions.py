# SPDX-License-Identifier: MIT
"""Buffers over several memories: legal, cheap, and called proved or impossible only where they are."""

from __future__ import annotations

import dataclasses
import sys
from itertools import product
from random import Random
from types import SimpleNamespace

import pytest

from aidge_build.plan.memory import cp_sat, regions
from aidge_build.plan.memory.buffer import Buffer, Overlap, Window
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.plan import CapacityExceeded
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.regions import Answer, NoSpread, Room, Spread, spread
from tests.unit.test_memory_overlap_search import least_peak, random_question

ROOMS = (Room("SLOW", 6, access_cost=5), Room("FAST", 5, dma=False), Room("TINY", 2, access_cost=2))


def solver():
    pytest.importorskip("ortools.sat.python.cp_model", reason="the constraint solver needs: pip install ortools")
    return cp_sat.installed()


def least_cost(buffers, overlaps, rooms, accesses) -> int | None:
    """By trying all rooms and offsets; None where nothing fits."""
    fitting: dict[tuple[str, ...], int] = {}

    def peak(inside):
        names = tuple(buffer.name for buffer in inside)
        if names not in fitting:
            fitting[names] = least_peak(inside, [o for o in overlaps if o.lower in names and o.upper in names]) if inside else 0
        return fitting[names]

    costs = []
    for chosen in product(rooms, repeat=len(buffers)):
        shared = [[buffer for buffer, there in zip(buffers, chosen, strict=True) if there == room] for room in rooms]
        if all(room.takes(buffer) for buffer, room in zip(buffers, chosen, strict=True)):
            if all(peak(inside) <= room.size_bytes for inside, room in zip(shared, rooms, strict=True)):
                costs.append(
                    sum(
                        accesses.get(buffer.name, 1) * buffer.size_bytes * room.access_cost
                        for buffer, room in zip(buffers, chosen, strict=True)
                    )
                )
    return min(costs, default=None)


def questions(count: int):
    for seed in range(count):
        buffers, overlaps = random_question(seed)
        if seed % 3 == 0:
            buffers[0] = Buffer(**{**vars(buffers[0]), "kind": "io"})
        yield buffers, overlaps, {"t0": 1 + seed % 4, "t1": 2}


def require_legal(found: Spread, buffers, rooms, accesses) -> None:
    by_region = {room.region: room for room in rooms}
    cost = 0
    for each in found.plans:
        inside = [placement.buffer for placement in each.placements]
        check(each, inside, by_region[each.region].size_bytes)
        assert inside and all(by_region[each.region].takes(buffer) for buffer in inside)
        cost += sum(accesses.get(buffer.name, 1) * buffer.size_bytes * by_region[each.region].access_cost for buffer in inside)
    assert cost == found.cost
    assert sorted(p.buffer.name for each in found.plans for p in each.placements) == sorted(buffer.name for buffer in buffers)


def test_without_a_solver_arrangements_are_legal_and_what_is_said_of_them_is_true():
    least, proved, impossible = 0, 0, 0
    for buffers, overlaps, accesses in questions(60):
        found, expected = spread(buffers, ROOMS, accesses, overlaps), least_cost(buffers, overlaps, ROOMS, accesses)
        if isinstance(found, NoSpread):
            impossible += found.proved
            assert expected is None
            continue
        require_legal(found, buffers, ROOMS, accesses)
        assert found.cost == expected if found.proved else found.cost >= expected
        least, proved = least + (found.cost == expected), proved + found.proved
    assert least >= 48 and proved >= 4 and impossible >= 4


def test_with_the_solver_the_cheapest_arrangement_is_found_and_proved():
    solve, outcomes = solver(), {True: 0, False: 0}
    for buffers, overlaps, accesses in questions(40):
        found, expected = spread(buffers, ROOMS, accesses, overlaps, solve), least_cost(buffers, overlaps, ROOMS, accesses)
        assert found.proved and isinstance(found, NoSpread) == (expected is None)
        outcomes[expected is None] += 1
        if isinstance(found, Spread):
            require_legal(found, buffers, ROOMS, accesses)
            assert found.cost == expected
    assert min(outcomes.values()) > 5


def test_the_answer_does_not_depend_on_the_order_of_the_buffers_nor_on_an_earlier_question():
    for buffers, overlaps, accesses in questions(30):
        assert spread(buffers, ROOMS, accesses, overlaps) == spread(buffers[::-1], ROOMS, accesses, overlaps)


def test_the_solvers_answer_does_not_depend_on_the_order_of_the_buffers():
    solve = solver()
    for buffers, overlaps, accesses in questions(12):
        assert spread(buffers, ROOMS, accesses, overlaps, solve) == spread(buffers[::-1], ROOMS, accesses, overlaps, solve)


def crowds(seeds: range):
    """Buffers of many sizes, some of which live long, and the peak that one memory of all bytes has."""
    for seed in seeds:
        random = Random(seed)
        buffers = [
            Buffer(
                f"b{index}",
                random.randrange(1, 20),
                1,
                first := random.randrange(14),
                min(15, first + 1 + int(random.expovariate(0.2))),
            )
            for index in range(14)
        ]
        yield buffers, plan(buffers).peak_bytes, {buffer.name: random.randrange(1, 30) for buffer in buffers}


def test_memories_of_half_the_bytes_hold_what_one_of_all_holds_in_most_cases():
    held = 0
    for buffers, peak, _ in crowds(range(100, 140)):
        rooms = [Room("A", (peak + 1) // 2), Room("B", peak - peak // 2)]
        found = spread(buffers, rooms, {})
        if isinstance(found, Spread):
            require_legal(found, buffers, rooms, {})
            held += 1
    assert held >= 31


def test_mixtures_by_density_and_by_size_make_arrangements_cheaper():
    """Without any mixture the sum is 60,286, without those by density 57,970, without those by size 57,878."""
    cost = 0
    for buffers, peak, accesses in crowds(range(100, 120)):
        cost += spread(buffers, [Room("A", (peak + 1) // 2, 3), Room("B", peak - peak // 3)], accesses).cost
    assert cost <= 57_518


def test_what_is_used_most_lies_where_access_costs_least(monkeypatch):
    monkeypatch.setattr(regions, "SHUFFLES", 0)
    buffers = [Buffer("long", 4, 1, 0, 9), Buffer("often", 4, 1, 0, 9), *(Buffer(f"short{i}", 4, 1, i, i + 1) for i in range(9))]
    found = spread(buffers, [Room("SLOW", 12, access_cost=3), Room("FAST", 4)], {"often": 20})
    assert [p.buffer.name for each in found.plans if each.region == "FAST" for p in each.placements] == ["often"]
    found = spread(buffers, [Room("SLOW", 12, access_cost=3), Room("FAST", 4)], {})
    assert [p.buffer.name for each in found.plans if each.region == "SLOW" for p in each.placements] == ["long", "often"]


def test_a_memory_is_filled_by_live_bytes_before_its_buffers_are_packed(monkeypatch):
    monkeypatch.setattr(regions, "SHUFFLES", 0)
    buffers = [Buffer(f"b{index}", 1, 1, 0, 1) for index in range(60)]  # more are refused than there are rounds
    assert spread(buffers, [Room("FAST", 20), Room("SLOW", 40, access_cost=2)], {}).cost == 20 + 2 * 40


def test_inputs_and_outputs_lie_where_peripherals_reach():
    io, other = Buffer("x", 4, 1, 0, 2, "io"), Buffer("t", 4, 1, 0, 2)
    found = spread([io, other], [Room("CORE", 8, dma=False), Room("BUS", 4, access_cost=9)], {})
    assert [(each.region, each.placements[0].buffer.name) for each in found.plans] == [("CORE", "t"), ("BUS", "x")]
    assert spread([io], [Room("CORE", 8, dma=False), Room("BUS", 3)], {}) == NoSpread(0, 4, proved=True)


def test_an_overlap_is_used_where_nothing_else_fits():
    buffers = [Buffer("x", 8, 1, 0, 1), Buffer("y", 8, 1, 0, 1), Buffer("z", 9, 1, 0, 1)]
    found = spread(buffers, [Room("A", 9), Room("B", 10)], {}, [Overlap("y", "x", 2)])
    assert sorted(each.peak_bytes for each in found.plans) == [9, 10]
    assert spread(buffers, [Room("A", 9), Room("B", 10)], {}).proved


def test_more_bytes_than_all_memories_have_are_refused_at_their_fullest_step():
    early, late = [Buffer(f"a{i}", 4, 1, 0, 1) for i in range(3)], [Buffer(f"b{i}", 5, 1, 1, 2) for i in range(3)]
    assert spread([*early, *late], [Room("A", 5), Room("B", 5)], {}) == NoSpread(1, 15, proved=True)
    assert isinstance(spread([*early[:2], *late[:2]], [Room("A", 5), Room("B", 5)], {}), Spread)


def test_that_pieces_cannot_be_shared_out_is_proved_though_their_sum_would_fit():
    buffers = [Buffer("early", 1, 1, 0, 1), *(Buffer(f"t{i}", 6, 1, 2, 3) for i in range(3))]
    assert spread(buffers, [Room("A", 10), Room("B", 10)], {}) == NoSpread(2, 18, proved=True)


def test_the_solvers_arrangement_is_packed_or_else_taken_as_it_is(monkeypatch):
    monkeypatch.setattr(regions, "ROUNDS", 0)
    fake = Fake(((1, 3), (0, 1)), False)
    packed = spread(PAIR, PAIR_ROOMS, {}, (), fake)
    assert [(each.region, each.peak_bytes) for each in packed.plans] == [("FAST", 3), ("SLOW", 4)] and not packed.proved

    def refuses(buffers, capacity, region, *, nodes, overlaps):
        raise CapacityExceeded(99, capacity, 0, buffers, region=region, proved=False)

    monkeypatch.setattr(regions, "plan", refuses)
    given = spread(PAIR, PAIR_ROOMS, {}, (), fake)
    assert [(each.region, each.peak_bytes, each.offsets_proved_optimal) for each in given.plans] == [
        ("FAST", 4, False),
        ("SLOW", 7, False),
    ]
    require_legal(given, PAIR, PAIR_ROOMS, {})


def test_a_cheaper_arrangement_of_the_solver_is_taken(monkeypatch):
    monkeypatch.setattr(regions, "SHUFFLES", 0)
    buffers = [Buffer("a", 3, 1, 0, 1), Buffer("b", 2, 1, 0, 2), Buffer("c", 2, 1, 0, 2)]
    known = spread(buffers, PAIR_ROOMS, {})
    found = spread(buffers, PAIR_ROOMS, {}, (), Fake(((1, 0), (0, 0), (0, 2)), True))
    assert (known.cost, known.proved, found.cost, found.proved) == (11, False, 10, True)
    require_legal(found, buffers, PAIR_ROOMS, {})


def test_a_dearer_arrangement_of_the_solver_is_left():
    known = spread(PAIR, PAIR_ROOMS, {})
    assert spread(PAIR, PAIR_ROOMS, {}, (), Fake(((1, 0), (1, 4)), False)) == known


def test_the_solver_knows_which_bytes_are_live_when(monkeypatch):
    solve = solver()
    monkeypatch.setattr(regions, "ROUNDS", 0)
    ring = Buffer("ring", 4, 1, 0, 2, "activation", (Window(0, 1, 0, 4), Window(1, 2, 1, 4)))
    first = Buffer("first", 1, 4, 1, 2)
    found = spread([ring, first], [Room("A", 4)], {}, (), solve)
    assert found.proved and found.plans[0].peak_bytes == 4
    last = dataclasses.replace(ring, windows=(Window(0, 1, 0, 4), Window(1, 2, 0, 3)))
    assert not isinstance(spread([last, dataclasses.replace(first, alignment=1)], [Room("A", 4)], {}, (), solve), NoSpread)
    assert spread([last, first], [Room("A", 4)], {}, (), solve) == NoSpread(0, 4, proved=True)


class Fake:
    """A solver that answers what it was told, and knows what it was asked."""

    def __init__(self, places, proved):
        self.answer, self.asked = Answer(places, proved), []

    def __call__(self, problem, rooms, weights, hint):
        self.asked.append((problem, rooms, list(weights), dict(hint)))
        return self.answer


PAIR = [Buffer("a", 4, 1, 0, 2), Buffer("b", 3, 1, 0, 2)]
PAIR_ROOMS = [Room("FAST", 4), Room("SLOW", 7, access_cost=2)]


def test_a_solvers_proof_without_a_cheaper_arrangement_leaves_the_known_one():
    known = spread(PAIR, PAIR_ROOMS, {})
    assert (known.cost, known.proved) == (10, False)
    fake = Fake(((0, 0), (1, 4)), True)
    assert spread(PAIR, PAIR_ROOMS, {}, (), fake) == Spread(known.plans, known.cost, True)
    ((_, _, weights, hint),) = fake.asked
    assert weights == [4, 3] and hint == {"a": (0, 0), "b": (1, 0)}
    assert spread(PAIR, PAIR_ROOMS, {}, (), Fake((), False)) == known


def test_nothing_found_is_proved_only_by_a_solver_that_says_so():
    buffers = [Buffer("a", 3, 4, 0, 1), Buffer("b", 3, 4, 0, 1)]  # six bytes, but the second begins at the fourth
    room = [Room("A", 6)]
    assert spread(buffers, room, {}) == NoSpread(0, 6, proved=False)
    assert spread(buffers, room, {}, (), Fake((), False)) == NoSpread(0, 6, proved=False)
    assert spread(buffers, room, {}, (), Fake((), True)) == NoSpread(0, 6, proved=True)


def test_memories_of_equal_cost_need_no_solver_for_a_proof():
    fake = Fake((), False)
    found = spread(PAIR, [Room("A", 4), Room("B", 4)], {}, (), fake)
    assert found.proved and not fake.asked


def test_without_the_package_there_is_no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert cp_sat.installed() is None


def test_a_release_of_the_package_whose_methods_have_other_names_is_none(monkeypatch):
    old = SimpleNamespace(CpModel=type("CpModel", (), {"NewIntVar": None}))
    for name in ("ortools", "ortools.sat", "ortools.sat.python"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(cp_model=old))
    assert cp_sat.installed() is None


def test_more_buffers_than_the_solver_is_asked_for_are_left_to_the_others(monkeypatch):
    solve = solver()
    monkeypatch.setattr(cp_sat, "MOST_BUFFERS", 1)
    assert spread(PAIR, PAIR_ROOMS, {}, (), solve) == spread(PAIR, PAIR_ROOMS, {})


def test_a_question_that_takes_too_long_is_left_open(monkeypatch):
    pieces = [(4, Buffer(f"b{index}", 4, 1, 0, 1)) for index in range(3)]
    assert not regions._can_be_shared_out(pieces, [Room("A", 6), Room("B", 5)])
    monkeypatch.setattr(regions, "NODES", 2)
    assert regions._can_be_shared_out(pieces, [Room("A", 6), Room("B", 5)])
