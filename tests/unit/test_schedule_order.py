# SPDX-License-Identifier: MIT
"""The order of execution: the optimum on small graphs, the file's order where it is optimal, the published graphs."""

from __future__ import annotations

import json
from itertools import permutations
from random import Random

import pytest

from aidge_build.plan.schedule import order as order_module
from aidge_build.plan.schedule.order import Order, _Walker, best_order
from aidge_build.plan.schedule.order_bound import cut_bound
from aidge_build.plan.schedule.question import Operation, OrderQuestion
from tests.shared import SHARED, shared

FOLDER = SHARED / "data" / "memplan" / "schedule"
FILES = sorted(path.name for path in FOLDER.glob("*.json")) or ["absent.json"]


def random_question(seed: int, count: int = 6, *, sharing: bool = True) -> OrderQuestion:
    """A graph of `count` operations with scratch and permission to share bytes."""
    random = Random(seed)
    sizes, operations = [random.randint(1, 9), random.randint(1, 9)], []
    for _ in range(count):
        inputs = tuple(sorted(set(random.choices(range(len(sizes)), k=random.randint(1, 2)))))
        outputs = tuple(range(len(sizes), len(sizes) + random.choice((1, 1, 1, 2))))
        sizes += [random.randint(1, 9) for _ in outputs]
        shared = tuple((tensor, min(sizes[tensor], sizes[outputs[0]])) for tensor in inputs if sharing and random.random() < 0.3)
        operations.append(Operation(inputs, outputs, random.choice((0, 0, 4)), shared))
    kept = tuple(sorted({len(sizes) - 1, random.randrange(len(sizes))}))
    return OrderQuestion(tuple(sizes), tuple(operations), (0, 1), kept)


def peak_of(question: OrderQuestion, order) -> int:
    """The peak of an order, or of no order (-1), written down from the definition."""
    live, highest = set(question.inputs), sum(question.sizes[t] for t in question.inputs)
    kept = {*question.outputs, *(t for t in question.inputs if not question.readers[t])}
    waiting = list(order)
    for index in order:
        waiting.remove(index)
        operation = question.operations[index]
        needed_later = {t for other in waiting for t in question.operations[other].inputs} | kept
        if any(t in question.producers and question.producers[t] in (*waiting, index) for t in operation.inputs):
            return -1
        live |= set(operation.outputs)
        saved = max([size for t, size in operation.shared if t not in needed_later], default=0)
        highest = max(highest, sum(question.sizes[t] for t in live) - saved + operation.scratch_bytes)
        live &= needed_later
    return highest


def optimum(question: OrderQuestion) -> int:
    peaks = [peak_of(question, order) for order in permutations(range(len(question.operations)))]
    return min(peak for peak in peaks if peak >= 0)


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_of_a_small_graph_is_found_and_proved_and_the_files_order_kept_where_none_is_better(seed):
    question = random_question(seed)
    found = best_order(question)
    assert (found.peak_bytes, found.proved_optimal) == (optimum(question), True)
    assert peak_of(question, found.order) == found.peak_bytes
    given = tuple(range(len(question.operations)))
    assert found.order == given or peak_of(question, given) > found.peak_bytes


@pytest.mark.parametrize("seed", range(30))
def test_no_order_is_below_the_cut_bound(seed):
    question = random_question(seed, sharing=False)
    least = optimum(question)
    for index, operation in enumerate(question.operations):
        added = sum(question.sizes[tensor] for tensor in operation.outputs) + operation.scratch_bytes
        assert cut_bound(question, index) + added <= least


@pytest.mark.parametrize("seed", range(30))
def test_a_beam_that_drops_nothing_finds_the_optimum_and_nothing_below_it(seed, monkeypatch):
    question = random_question(seed)
    walker, least = _Walker(question), optimum(question)
    found = walker.beam(1_000, least + 1)
    assert peak_of(question, found) == least and walker.beam(1_000, least) is None
    narrow = walker.beam(1, 1_000)  # legal, and never better
    assert peak_of(question, narrow) == walker.peak(narrow) >= least
    monkeypatch.setattr(order_module, "MOST_BEAM_STEPS", 2)
    assert walker.beam(1_000, least + 1) is None


@pytest.mark.parametrize("seed", range(20))
def test_what_is_live_before_an_operation_is_written_and_still_read_or_kept(seed):
    question, operations = random_question(seed, sharing=False), range(6)
    kept = {*question.outputs, *(t for t in question.inputs if not question.readers[t])}
    for index, live in _Walker(question).live_before(operations).items():
        written = {*question.inputs, *(t for other in operations[:index] for t in question.operations[other].outputs)}
        needed = {t for other in operations[index:] for t in question.operations[other].inputs} | kept
        assert live == sum(question.sizes[t] for t in written & needed)


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_bound_is_the_least_that_is_live_when_an_operation_can_begin(seed):
    """Over all sets of operations that can have run by then."""
    question = random_question(seed, sharing=False)
    reads = [{question.producers[t] for t in one.inputs if t in question.producers} for one in question.operations]
    indices = range(len(question.operations))
    sets = [{index for index in indices if bits >> index & 1} for bits in range(1 << len(indices))]
    legal = [done for done in sets if all(reads[index] <= done for index in done)]

    def live(done: set[int]) -> int:
        there = {*question.inputs, *(t for index in done for t in question.operations[index].outputs)}
        needed = {t for index in indices if index not in done for t in question.operations[index].inputs}
        return sum(question.sizes[t] for t in there & (needed | set(question.outputs)))

    for index in indices:
        assert cut_bound(question, index) == min(live(done) for done in legal if reads[index] <= done and index not in done)


@pytest.mark.parametrize("seed", range(30))
def test_a_search_that_is_cut_short_is_legal_and_claims_no_more_than_is_proved(seed):
    question = random_question(seed, 7)
    found = best_order(question, states=3)
    assert peak_of(question, found.order) == found.peak_bytes
    assert found.lower_bound_bytes <= optimum(question) <= found.peak_bytes


def question_of(name: str) -> OrderQuestion:
    problem = json.loads(shared(FOLDER / name).read_text())
    return OrderQuestion(
        tuple(problem["tensors"]),
        tuple(Operation(tuple(op["inputs"]), tuple(op["outputs"])) for op in problem["ops"]),
        tuple(problem["inputs"]),
        tuple(problem["outputs"]),
    )


@pytest.mark.parametrize("name", FILES)
def test_the_optimum_of_a_published_graph_is_found_and_proved(name):
    question = question_of(name)
    found = best_order(question)
    expected = json.loads((FOLDER / name).read_text())["expected"]
    assert (found.peak_bytes, found.lower_bound_bytes) == (expected["optimal_peak"], expected["optimal_peak"])
    if len(question.operations) < 60:
        assert peak_of(question, found.order) == found.peak_bytes


def test_a_graph_without_operations_has_an_order():
    found = best_order(OrderQuestion((8,), (), (0,), (0,)))
    assert (found.order, found.peak_bytes, found.proved_optimal) == ((), 8, True)


def test_of_many_branches_whose_results_all_remain_no_order_ends_with_less():
    """What lives at the end and the last operation's input are a bound; without it the sets of 40 branches would be tried."""
    branches = tuple(Operation((0,), (1 + index,)) for index in range(40))
    found = best_order(OrderQuestion((8, *range(1, 41)), branches, (0,), tuple(range(1, 41))))
    assert (found.order, found.peak_bytes, found.proved_optimal) == (tuple(range(40)), 8 + sum(range(1, 41)), True)
    assert found.states == 41


def unrolled(steps: int, row: int = 24, units: int = 64) -> OrderQuestion:
    """The equal steps of a GRU: all rows of the input are there from the first step on, and sums are split into gates."""
    sizes, operations = [row * steps, *[row] * steps], [Operation((0,), tuple(range(1, 1 + steps)))]

    def add(inputs, *made):
        outputs = tuple(range(len(sizes), len(sizes) + len(made)))
        sizes.extend(made)
        shared = tuple((one, sizes[one]) for one in inputs if len(made) == 1 and sizes[one] == made[0])
        operations.append(Operation(tuple(inputs), outputs, 0, shared))
        return outputs

    state = None
    for step in range(steps):
        sums = [add([source], 3 * units) for source in (1 + step, state) if source is not None]
        gates = [add(add(parts, units), units)[0] for parts in zip(*(add(one, *[units] * 3) for one in sums), strict=True)]
        (new,) = add([*add([*add([gates[0]], units), gates[2]], units), gates[1]], units)
        state = new if state is None else add([new, *add([gates[0], state], units)], units)[0]
    return OrderQuestion(tuple(sizes), tuple(operations), (0,), (state,))


def test_a_search_over_a_long_chain_of_equal_steps_gives_up_early():
    question = unrolled(20)
    found = best_order(question)
    assert found.states < 7_000
    assert peak_of(question, found.order) == found.peak_bytes == 1_072


def test_an_order_that_is_good_enough_is_not_improved():
    question = unrolled(4)
    given = best_order(question)
    found = best_order(question, given=given.order, enough_bytes=given.peak_bytes)
    assert (found.order, found.peak_bytes, found.states) == (given.order, given.peak_bytes, len(given.order) + 1)
    assert best_order(question, given=range(len(given.order)), enough_bytes=given.peak_bytes).peak_bytes == given.peak_bytes


def test_an_order_says_what_is_proved_of_it():
    assert Order((0,), 1_000, 1_000, 3).report() == "order optimal (3 states)"
    assert Order((0,), 1_001, 1_000, 3_000).report() == ("order not proven (node limit, 3,000 states; no order is below 1,000 B)")


def least_cuts(question: OrderQuestion) -> list[int]:
    """For each operation the fewest bytes of any order: live before it, its outputs and scratch, without what is shared."""
    return [
        cut_bound(question, index)
        + sum(question.sizes[tensor] for tensor in operation.outputs)
        + operation.scratch_bytes
        - max((size for tensor, size in operation.shared if tensor not in question.outputs), default=0)
        for index, operation in enumerate(question.operations)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_a_search_without_an_end_reports_the_best_cut_and_the_best_of_its_orders(seed, monkeypatch):
    monkeypatch.setattr(order_module, "PROBE_STATES", 1)
    question = random_question(seed)
    walker, given = _Walker(question), tuple(range(6))
    found = best_order(question, states=2)
    assert found.lower_bound_bytes >= min(found.peak_bytes, max(least_cuts(question)))
    assert found.peak_bytes <= min(walker.peak(given), walker.peak(walker.beam(order_module.BEAM_WIDTH, 1_000)))
    asked = best_order(question, states=2, given=given)  # no beam where an order is given
    assert asked.order == given or asked.peak_bytes < walker.peak(given)
    monkeypatch.setattr(_Walker, "beam", None)
    assert best_order(question, states=2, given=given) == asked
    monkeypatch.setattr(order_module, "PROBE_STATES", 1_000)
    assert best_order(question).peak_bytes == best_order(question, given=given).peak_bytes == optimum(question)


@pytest.mark.parametrize("cuts_at_most, nodes_at_most, allowed", [(48, 200_000, 7), (2, 200_000, 2), (48, 0, 1), (48, 2, 3)])
def test_cuts_are_made_before_the_largest_working_sets_that_could_still_raise_the_bound(
    cuts_at_most, nodes_at_most, allowed, monkeypatch
):
    """At most CUTS of them, and one more than graphs of so many nodes fit into MOST_CUT_NODES."""
    monkeypatch.setattr(order_module, "CUTS", cuts_at_most)
    asked: list[int] = []
    monkeypatch.setattr(order_module, "cut_bound", lambda question, index: asked.append(index) or cut_bound(question, index))
    for seed in range(60):
        question = random_question(seed, 7)
        nodes = len(question.sizes) + len(question.operations)
        monkeypatch.setattr(order_module, "MOST_CUT_NODES", nodes_at_most * nodes if nodes_at_most < 9 else nodes_at_most)
        walker, order, cuts = _Walker(question), range(7), least_cuts(question)
        enough = sorted(cuts)[-1 - seed % 2]
        live, best, expected = walker.live_before(order), question.start_bytes, []
        for index in sorted(order, key=lambda index: -walker.least_bytes(index))[:allowed]:
            if best < enough and live[index] + walker.added_bytes(index) > best:
                expected.append(index)
                best = max(best, cuts[index])
        asked.clear()
        assert order_module._cut_bound(question, walker, order, enough, question.start_bytes) == best
        assert asked == expected
