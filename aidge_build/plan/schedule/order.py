# SPDX-License-Identifier: MIT
"""The order of execution with the smallest peak of live bytes, and whether it is proved that none is smaller.

A state is the set of operations that have run; it alone decides which tensors are live. Going from state to state, always from
the one with the smallest peak so far, the first time that everything has run the peak is optimal (bottleneck shortest path). Two
facts make the search short:

1. an operation that fits below the present peak and leaves no more live bytes than before may run at once, whatever else could:
   moving it to this place in any other order raises the live bytes nowhere (the eager rule);
2. no order has a peak below the bound of `order_bound`, so the search may spend that much from the start.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from aidge_build.plan.schedule.order_bound import cut_bound
from aidge_build.plan.schedule.question import OrderQuestion

STATES = 200_000
PROBE_STATES = 2_000
BEAM_WIDTH = 32
CUTS = 48
MOST_CUT_NODES = 200_000  # of all the flows together
STUCK_STATES = 4_000  # after so many states, a search that
STUCK_PART = 16  # has run no more than this part of the operations in any state will not end: a long chain of equal steps
MOST_STEPS = 400_000  # of one search; a state with a thousand ready operations takes a thousand
MOST_BITS = 1 << 28  # of the states that a search remembers
MOST_BEAM_STEPS = 300_000
Link = tuple[int, "Link"] | None  # the operations that have run, the last one first


@dataclass(frozen=True)
class Order:
    """`order` are positions in the question. No order has a peak below `lower_bound_bytes`; `states` were visited."""

    order: tuple[int, ...]
    peak_bytes: int
    lower_bound_bytes: int
    states: int

    @property
    def proved_optimal(self) -> bool:
        """Whether no order has a smaller peak."""
        return self.peak_bytes == self.lower_bound_bytes

    def report(self) -> str:
        """Returns how good the order is, in a few words."""
        if self.proved_optimal:
            return f"order optimal ({self.states:,} states)"
        return f"order not proven (node limit, {self.states:,} states; no order is below {self.lower_bound_bytes:,} B)"


def best_order(question: OrderQuestion, states: int = STATES, given: Sequence[int] | None = None, enough_bytes: int = 0) -> Order:
    """Returns the given order (without one, the order of the question), or a better one if the search finds it within `states`
    executed sets: a count and not a time. A given order of at most `enough_bytes` is not improved."""
    walker = _Walker(question)
    best = tuple(range(len(question.operations))) if given is None else tuple(given)
    best_bytes, end_bytes = walker.peak_and_end(best)
    bound = max(
        [question.start_bytes, walker.last_step_bytes(end_bytes), *map(walker.least_bytes, range(len(question.operations)))]
    )
    visited = len(best) + 1
    for again, limit in enumerate((min(PROBE_STATES, states), states)):
        if bound >= best_bytes or best_bytes <= enough_bytes or walker.is_exhausted:
            break
        if again and given is None:
            found = walker.beam(BEAM_WIDTH, best_bytes)
            if found is not None:
                best_bytes, best = walker.peak(found), found
        if limit > PROBE_STATES:
            bound = max(bound, _cut_bound(question, walker, best, best_bytes, bound))
        search = walker.search(bound, best_bytes, limit)
        visited += search.states
        bound = max(bound, min(best_bytes, search.bound_bytes))
        if search.order is not None:
            best_bytes, best = search.bound_bytes, search.order
    return Order(best, best_bytes, min(bound, best_bytes), visited)


def _cut_bound(question: OrderQuestion, walker: _Walker, order: Sequence[int], enough_bytes: int, known_bytes: int) -> int:
    """Returns the cut bound of the operations with the largest working sets; stops at a bound that proves `enough_bytes`.

    The live bytes of `order` before an operation are a cut, too, so they limit the bound of the operation: it is skipped if its
    bound cannot exceed `known_bytes`.
    """
    live = walker.live_before(order)
    heaviest = sorted(range(len(question.operations)), key=lambda index: (-walker.least_bytes(index), index))
    best, nodes = known_bytes, len(question.operations) + len(question.sizes)
    for index in heaviest[: min(CUTS, 1 + MOST_CUT_NODES // nodes)]:
        if best >= enough_bytes:
            break
        if live[index] + walker.added_bytes(index) > best:
            best = max(best, cut_bound(question, index) + walker.added_bytes(index))
    return best


@dataclass(frozen=True)
class _Found:
    """`order` with the peak `bound_bytes`; without one, no order has a smaller peak than `bound_bytes`."""

    order: tuple[int, ...] | None
    bound_bytes: int
    states: int


@dataclass(frozen=True)
class _Reached:
    """A state in which no operation runs for free. `moves` are the operations that can run next: (operation, bytes during it,
    bytes after it)."""

    done: int
    live: int
    ready: int
    link: Link
    moves: list[tuple[int, int, int]]


class _Walker:
    """Live bytes along an order."""

    def __init__(self, question: OrderQuestion):
        self.question = question
        sizes, kept = question.sizes, set(question.outputs)
        self.written = [sum([sizes[t] for t in operation.outputs]) for operation in question.operations]
        self.mortal = [
            [t for t in sorted({*operation.inputs, *operation.outputs}) if t not in kept] for operation in question.operations
        ]
        self.taken_over = [[(t, size) for t, size in operation.shared if t not in kept] for operation in question.operations]
        self.after: list[list[int]] = [[] for _ in question.operations]
        for index, operation in enumerate(question.operations):
            for other in {question.producers[t] for t in operation.inputs if t in question.producers}:
                self.after[other].append(index)
        self.steps = 0
        self.is_exhausted = False  # whether a search has used up its steps: another one would do the same

    @cached_property
    def _dying(self) -> list[list[tuple[int, int]]]:
        """For each operation the bytes of each tensor that may die with it, and the readers of the tensor, as bits."""
        sizes, readers = self.question.sizes, self.question.readers
        return [[(sizes[t], readers[t]) for t in mortal] for mortal in self.mortal]

    @cached_property
    def _overwritten(self) -> list[list[tuple[int, int]]]:
        """For each operation the bytes that its output may share with a tensor that dies with it, and the readers of the tensor,
        as bits."""
        return [[(size, self.question.readers[t]) for t, size in taken] for taken in self.taken_over]

    def step(self, index: int, done: int, live: int) -> tuple[int, int]:
        """Returns (bytes while the operation runs, bytes afterwards); `done` includes the operation."""
        self.steps += 1
        during = live + self.written[index]
        after = during
        for size, readers in self._dying[index]:
            if not readers & ~done:
                after -= size
        saved = 0
        for size, readers in self._overwritten[index]:
            if size > saved and not readers & ~done:
                saved = size
        return during - saved + self.question.operations[index].scratch_bytes, after

    def added_bytes(self, index: int) -> int:
        """Returns the fewest bytes that the operation adds to the live bytes while it runs."""
        saved = max([size for _, size in self.taken_over[index]], default=0)
        return self.written[index] - saved + self.question.operations[index].scratch_bytes

    def least_bytes(self, index: int) -> int:
        """Returns the working set: no order runs the operation with fewer bytes."""
        operation = self.question.operations[index]
        return sum(self.question.sizes[tensor] for tensor in set(operation.inputs)) + self.added_bytes(index)

    def last_step_bytes(self, end: int) -> int:
        """Returns the bytes below which no order ends: the bytes that live at the `end` of every order, and the bytes that only
        the last operation still needs."""
        own = [
            end
            + sum(self.question.sizes[t] for t in self.mortal[index])
            - max((size for _, size in self.taken_over[index]), default=0)
            + self.question.operations[index].scratch_bytes
            for index, after in enumerate(self.after)
            if not after
        ]
        return min(own, default=end)

    def peak(self, order: Sequence[int]) -> int:
        """Returns the peak of an order."""
        return self.peak_and_end(order)[0]

    def peak_and_end(self, order: Sequence[int]) -> tuple[int, int]:
        """Returns the peak of an order of all operations, and the live bytes when they have run. Sets as bits, as in `step`,
        would take time that grows with the square of the operations."""
        sizes, last, live = self.question.sizes, dict[int, int](), self.question.start_bytes
        for index in order:
            last |= dict.fromkeys(self.mortal[index], index)
        peak = live
        for index in order:
            during = live + self.written[index]
            saved = max([size for t, size in self.taken_over[index] if last[t] == index], default=0)
            peak = max(peak, during - saved + self.question.operations[index].scratch_bytes)
            live = during - sum([sizes[t] for t in self.mortal[index] if last[t] == index])
        return peak, live

    def live_before(self, order: Iterable[int]) -> dict[int, int]:
        """Returns the live bytes before each operation of an order."""
        done, live, found = 0, self.question.start_bytes, {}
        for index in order:
            found[index] = live
            done |= 1 << index
            _, live = self.step(index, done, live)
        return found

    def first_ready(self) -> int:
        """Returns the operations that need no other one, as bits."""
        return sum(1 << index for index, before in enumerate(self.question.before) if not before)

    def ready_after(self, index: int, done: int, ready: int) -> int:
        """Returns the operations that can run next when `index` has run, as bits."""
        ready &= ~(1 << index)
        for other in self.after[index]:
            if not self.question.before[other] & ~done:
                ready |= 1 << other
        return ready

    def _eager(self, done: int, live: int, ready: int, peak: int, link: Link, last: int) -> _Reached:
        """Runs operations that cost nothing, until there are none, or until the step number `last`."""
        moves: list[tuple[int, int, int]] = []
        again = True
        while again and self.steps < last:
            again, moves = False, []
            for index in _bits(ready):
                during, after = self.step(index, done | 1 << index, live)
                if during <= peak and after <= live:
                    done, live, link, again = done | 1 << index, after, (index, link), True
                    ready = self.ready_after(index, done, ready)
                moves.append((index, during, after))
        return _Reached(done, live, ready, link, moves)

    def search(self, bound: int, best_bytes: int, limit: int) -> _Found:
        """Returns the best order below `best_bytes`, by a best-first search; `bound` is a proved lower bound."""
        count = len(self.question.operations)
        heap: list[tuple] = [(bound, 0, 0, self.question.start_bytes, self.first_ready(), None)]
        seen: set[int] = set()
        lowest: dict[int, int] = {}
        states, last, farthest = 0, self.steps + max(1, min(MOST_STEPS, MOST_BITS // max(1, count))), 0
        while heap:
            peak, depth, done, live, ready, link = heapq.heappop(heap)
            if done in seen:
                continue
            seen.add(done)
            reached = self._eager(done, live, ready, peak, link, last)
            states += 1 + reached.done.bit_count() + depth
            farthest = max(farthest, reached.done.bit_count())
            if farthest == count:
                return _Found(tuple(_unlinked(reached.link)), peak, states)
            self.is_exhausted = self.steps >= last or (states > STUCK_STATES and farthest < count // STUCK_PART)
            if states > limit or self.is_exhausted:
                return _Found(None, peak, states)
            if reached.done != done:
                if reached.done in seen:
                    continue
                seen.add(reached.done)
            for index, during, after in reached.moves:
                following, highest = reached.done | 1 << index, max(peak, during)
                if highest < best_bytes and following not in seen and highest < lowest.get(following, best_bytes):
                    lowest[following] = highest
                    ready = self.ready_after(index, following, reached.ready)
                    heapq.heappush(heap, (highest, -following.bit_count(), following, after, ready, (index, reached.link)))
        return _Found(None, best_bytes, states)

    def beam(self, width: int, best_bytes: int) -> tuple[int, ...] | None:
        """Returns a good order below `best_bytes`: of all states with equally many operations, the `width` states with the lowest
        peaks continue.

        None if they lead to no order, or if the search takes more than `MOST_BEAM_STEPS`.
        """
        last = self.steps + MOST_BEAM_STEPS
        level = [(self.question.start_bytes, self.question.start_bytes, 0, self.first_ready(), None)]
        for _ in self.question.operations:
            following: dict[int, tuple] = {}
            for peak, live, done, ready, link in level:
                for index in _bits(ready):
                    ran = done | 1 << index
                    during, after = self.step(index, ran, live)
                    reached = max(peak, during)
                    if reached < best_bytes and (ran not in following or reached < following[ran][0]):
                        following[ran] = (reached, after, ran, self.ready_after(index, ran, ready), (index, link))
            if self.steps > last:
                return None
            level = heapq.nsmallest(width, following.values(), key=lambda state: state[:3])
        return tuple(_unlinked(level[0][4])) if level else None


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _unlinked(link: Link) -> list[int]:
    order = []
    while link is not None:
        index, link = link
        order.append(index)
    return order[::-1]
