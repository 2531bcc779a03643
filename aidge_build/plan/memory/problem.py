# SPDX-License-Identifier: MIT
"""The numeric view of a planning question that all the searches share: canonical order, conflicts, lower bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from aidge_build.plan.memory.buffer import Buffer, Overlap, require_distinct_names
from aidge_build.plan.memory.stack import stack_bytes

WIDE_PAIRS = 500_000  # of buffers that live at once: a thousand tensors that all wait for one concatenation


@dataclass(frozen=True)
class Problem:
    """Buffers in canonical order; every search speaks of them by index, so that the caller's order cannot matter."""

    buffers: tuple[Buffer, ...]
    sizes: tuple[int, ...]
    firsts: tuple[int, ...]
    lasts: tuple[int, ...]
    alignments: tuple[int, ...]
    overlaps: tuple[Overlap, ...] = ()

    @staticmethod
    def of(buffers: Sequence[Buffer], overlaps: Sequence[Overlap] = ()) -> Problem:
        """Returns the buffers in canonical order; AidgeError for two buffers of one name."""
        require_distinct_names(buffers)
        ordered = tuple(sorted(buffers, key=lambda b: (b.first, -b.size_bytes, b.last, b.alignment, b.name)))
        return Problem(
            ordered,
            tuple(b.size_bytes for b in ordered),
            tuple(b.first for b in ordered),
            tuple(b.last for b in ordered),
            tuple(b.alignment for b in ordered),
            tuple(overlaps),
        )

    def __len__(self) -> int:
        return len(self.buffers)

    @cached_property
    def is_wide(self) -> bool:
        """Whether so many buffers live at the same time that the exhaustive methods would do nothing but look at pairs."""
        live = pairs = 0
        for _, change in sorted([*((first, 1) for first in self.firsts), *((last, -1) for last in self.lasts)]):
            pairs += live if change > 0 else 0
            live += change
        return pairs > WIDE_PAIRS

    @cached_property
    def is_rectangular(self) -> bool:
        """Whether every buffer has all its bytes live all its life, and shares them with none: what exhaustive search needs."""
        return not self.overlaps and not any(buffer.windows for buffer in self.buffers)

    @cached_property
    def distances(self) -> dict[tuple[int, int], int]:
        """(lower, upper) -> bytes by which `upper` must begin above `lower`, if they are not the size of `lower`."""
        found = {}
        for index, others in enumerate(self.conflicts if not self.is_rectangular else ()):
            for other in others:
                if self.buffers[index].windows or self.buffers[other].windows:
                    found[index, other] = self._distance(self.buffers[index], self.buffers[other])
        numbers = {buffer.name: index for index, buffer in enumerate(self.buffers)}
        for overlap in self.overlaps:
            pair = numbers[overlap.lower], numbers[overlap.upper]
            found[pair] = min(overlap.lead_bytes, found.get(pair, self.sizes[pair[0]]))
        return found

    @cached_property
    def forbidden(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """For each buffer (other, below, above): the buffer must not begin between `below` bytes below the offset of `other` and
        `above` bytes above it, both ends excluded. Empty if no two buffers share bytes."""
        if not self.distances:
            return ()
        return tuple(
            tuple(
                (
                    other,
                    self.distances.get((index, other), self.sizes[index]),
                    self.distances.get((other, index), self.sizes[other]),
                )
                for other in others
            )
            for index, others in enumerate(self.conflicts)
        )

    @staticmethod
    def _distance(lower: Buffer, upper: Buffer) -> int:
        return max(
            (
                one.high_bytes - other.low_bytes
                for one in lower.extents
                for other in upper.extents
                if one.first < other.last and other.first < one.last
            ),
            default=0,
        )

    @cached_property
    def separations(self) -> tuple[tuple[int, int, int, int], ...]:
        """(one, upward, other, downward): `other` begins at least `upward` bytes above the beginning of `one`, or `one` begins at
        least `downward` bytes above the beginning of `other`. An arrangement that keeps all of them is legal."""
        found = []
        leads = {(overlap.lower, overlap.upper): overlap.lead_bytes for overlap in self.overlaps}
        for index, others in enumerate(self.conflicts):
            for other in others:
                if other > index:
                    one, two = self.buffers[index], self.buffers[other]
                    leads_here = leads.get((one.name, two.name), one.size_bytes), leads.get((two.name, one.name), two.size_bytes)
                    ways = {
                        (
                            min(first.high_bytes - second.low_bytes, leads_here[0]),
                            min(second.high_bytes - first.low_bytes, leads_here[1]),
                        )
                        for first in one.extents
                        for second in two.extents
                        if first.first < second.last and second.first < first.last
                    }
                    found += [(index, upward, other, downward) for upward, downward in sorted(ways)]
        return tuple(found)

    @cached_property
    def steps_apart(self) -> Mapping[str, frozenset[int]]:
        """The steps in which a buffer may overlap another one, by its name."""
        buffers = {buffer.name: buffer for buffer in self.buffers}
        found: dict[str, frozenset[int]] = {}
        for overlap in self.overlaps:
            step = max(buffers[overlap.lower].first, buffers[overlap.upper].first)
            found[overlap.lower] = found.get(overlap.lower, frozenset()) | {step}
        return found

    @cached_property
    def conflicts(self) -> tuple[tuple[int, ...], ...]:
        """For each buffer the indices of the buffers that are live at the same time, ascending."""
        found: list[list[int]] = [[] for _ in self.buffers]
        live: list[int] = []
        for index, first in enumerate(self.firsts):
            live = [other for other in live if self.lasts[other] > first]
            for other in live:
                found[other].append(index)
            found[index].extend(live)
            live.append(index)
        return tuple(tuple(sorted(others)) for others in found)

    @cached_property
    def live_sets(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(step, live buffers) for every step in which a buffer or window begins: no other step adds a buffer."""
        sets: list[tuple[int, tuple[int, ...]]] = []
        live: list[int] = []
        position = 0
        for step in sorted({*self.firsts, *(window.first for buffer in self.buffers for window in buffer.windows)}):
            live = [index for index in live if self.lasts[index] > step]
            while position < len(self) and self.firsts[position] == step:
                live.append(position)
                position += 1
            sets.append((step, tuple(live)))
        return tuple(sets)

    @cached_property
    def sections(self) -> tuple[tuple[int, ...], ...]:
        """The live sets that are not contained in a neighbouring one, in the order of time."""
        found: list[tuple[int, ...]] = []
        for _, live in self.live_sets:
            while found and set(found[-1]) <= set(live):
                found.pop()
            if not found or not set(live) <= set(found[-1]):
                found.append(live)
        return tuple(found)

    @cached_property
    def lower_bound(self) -> tuple[int, int]:
        """(bytes, step) of the step with the most live bytes, padding included, the earliest of several; (0, 0) without
        buffers."""
        best = (0, 0)
        if self.overlaps:
            return self.fullest
        cycle = max(self.alignments, default=1)
        for live_bytes, ragged, step in sorted(self._moments(cycle), key=lambda moment: (-moment[0], moment[2])):
            if live_bytes + ragged * (cycle - 1) > best[0]:
                live = [index for index in range(len(self)) if self.firsts[index] <= step < self.lasts[index]]
                parts = [self._live_part(index, step) for index in live]
                needed = stack_bytes([size for size, _ in parts], [alignment for _, alignment in parts]) if ragged else live_bytes
                best = best if needed <= best[0] else (needed, step)
            if self.is_wide:
                break
        return best

    def _moments(self, cycle: int) -> Iterator[tuple[int, int, int]]:
        """Yields (live bytes, how many parts may need padding above them, step) for every step in which a buffer or window
        begins."""
        changes, begins = dict[int, list[int]](), set[int]()
        for buffer in self.buffers:
            for window in buffer.extents:
                size = window.high_bytes - window.low_bytes
                ragged = int(size % cycle > 0)
                begins.add(window.first)
                for step, sign in ((window.first, 1), (window.last, -1)):
                    change = changes.setdefault(step, [0, 0])
                    change[0] += sign * size
                    change[1] += sign * ragged
        live_bytes = live_ragged = 0
        for step in sorted(changes):
            bytes_more, ragged_more = changes[step]
            live_bytes, live_ragged = live_bytes + bytes_more, live_ragged + ragged_more
            if step in begins:
                yield live_bytes, live_ragged, step

    @cached_property
    def fullest(self) -> tuple[int, int]:
        """(bytes, step) of the step with the most live bytes, however many memories share the bytes: padding is not counted."""
        saved: Counter[int] = Counter()
        named = {buffer.name: buffer for buffer in self.buffers}
        for overlap in self.overlaps:
            lower, upper = named[overlap.lower], named[overlap.upper]
            for step in range(max(lower.first, upper.first), min(lower.last, upper.last)):
                saved[step] += saved_bytes(overlap, lower, upper, step)
        needed, step = max(((live_bytes - saved[step], -step) for live_bytes, _, step in self._moments(1)), default=(0, 0))
        return needed, -step

    def _live_part(self, index: int, step: int) -> tuple[int, int]:
        """Returns (live bytes, alignment of their beginning) of a buffer."""
        if not self.buffers[index].windows:
            return self.sizes[index], self.alignments[index]
        low, high = self.buffers[index].live_bytes(step)
        return high - low, 1 if low else self.alignments[index]

    @cached_property
    def granule(self) -> int:
        """Every left-justified offset and end is a multiple of this."""
        return gcd(*self.sizes, *self.alignments)

    @cached_property
    def _reachable_sums(self) -> int | None:
        """Bit n says that some subset of buffers has n granules; None if padding makes other peaks possible."""
        total = sum(self.sizes) // self.granule
        if total > 1 << 17 or any(size % max(self.alignments) for size in self.sizes):
            return None
        sums = 1
        for size in self.sizes:
            sums |= sums << (size // self.granule)
        return sums

    def next_peak(self, peak_bytes: int) -> int:
        """Returns the smallest peak above `peak_bytes` that a left-justified arrangement can have."""
        granules = peak_bytes // self.granule + 1
        if self._reachable_sums is None:
            return granules * self.granule
        above = self._reachable_sums >> granules
        return (granules + (above & -above).bit_length() - 1) * self.granule


def saved_bytes(overlap: Overlap, lower: Buffer, upper: Buffer, step: int) -> int:
    """Returns how many bytes the overlap of the two buffers saves in `step`, compared with both apart."""
    (low, high), (upper_low, upper_high) = lower.live_bytes(step), upper.live_bytes(step)
    together = max(high, overlap.lead_bytes + upper_high) - min(low, overlap.lead_bytes + upper_low)
    return max(0, high - low + upper_high - upper_low - together)
