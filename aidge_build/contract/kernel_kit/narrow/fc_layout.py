# SPDX-License-Identifier: MIT
"""Which outputs of a fully connected layer go together, after how many taps their sums are split, and what is kept apart.

Two outputs share a word, so the sums of a chunk of taps must be halfwords for every input. Each output gets chunks of one of
a few lengths, and the weights that are too large for their chunk are multiplied by themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy

from aidge_build.contract.kernel_kit.narrow.fc import pairs_cost, singles_cost, text_bytes
from aidge_build.contract.kernel_kit.narrow.packing import filled

UNITS = (2, 4, 8, 16)  # pairs of taps in a chunk, each twice as many as the one before
BLOCK_TAPS = 128  # about so many have columns in memory at once, more where that makes too many blocks
MANY_BLOCKS = 8  # each takes some instructions of each output
MOST_BLOCK_TAPS = 512
PIECE = 128  # outputs with sums in memory at once if all taps are one block
HALF = 1 << 15
OUTLIER_COST = 12  # instructions of a weight that is multiplied by itself
OUTLIER_BYTES = 2  # of it in flash, in the shorter of two lists
MOST_APART = {"speed": 1.0, "balanced": 0.06, "size": 0.03}  # of the bytes of all weights
BYTE_COST = {"speed": 0.0, "balanced": 1.0, "size": 4.0}  # instructions that a byte of code must save


@dataclass(frozen=True, eq=False)
class Layout:
    """`order` is the order of the outputs in flash: `groups` of `together` for each of `units`, rising, then single ones.

    `outliers` [outputs, features] are weights that are kept apart. `taps` are the features filled up to whole chunks of every
    length, and so are `block_taps`; the last block may have fewer.
    """

    order: numpy.ndarray
    together: int
    units: tuple[int, ...]
    groups: tuple[int, ...]
    outliers: numpy.ndarray
    block_taps: int
    taps: int

    @property
    def blocks(self) -> int:
        """How many blocks of taps there are."""
        return -(-self.taps // self.block_taps)

    @property
    def paired(self) -> int:
        """Outputs that are in groups."""
        return self.together * sum(self.groups)

    @property
    def pieces(self) -> tuple[int, ...]:
        """The ends of the pieces of outputs, in their order, with sums in memory at once."""
        if self.blocks > 1 or len(self.order) <= PIECE:
            return (len(self.order),)
        ends, done = [], 0
        for count in (*(self.together * groups for groups in self.groups), len(self.order) - self.paired):
            ends += [done + min(first + PIECE, count) for first in range(0, count, PIECE)]
            done += count
        return tuple(ends)

    @property
    def is_in_pieces(self) -> bool:
        """Whether not all sums are in memory at once."""
        return len(self.pieces) > 1

    @property
    def tap_bytes(self) -> int:
        """Bytes from one tap to the next in what outliers see: the inputs, or their columns once outputs may overwrite them."""
        return 4 if self.is_in_pieces else 1

    @property
    def chunks(self) -> numpy.ndarray:
        """The chunks of all blocks of each paired output, in their order."""
        counts = numpy.array([self.taps // (2 * units) for units in self.units], numpy.int64)
        return numpy.repeat(counts, [self.together * groups for groups in self.groups])

    @property
    def shortest(self) -> int:
        """Pairs of taps in the shortest chunks; without pairs of outputs in whatever is summed at once."""
        pairs = math.gcd(self.block_taps, self.taps) // 2
        return self.units[0] if self.units else next(units for units in range(UNITS[-1], 0, -1) if pairs % units == 0)

    @property
    def turn_units(self) -> int:
        """Pairs of taps of a single output in a turn of its loop."""
        return next(units for units in (8, 4, 2) if math.gcd(self.block_taps, self.taps) % (2 * units) == 0)


def blocks_of(features: int, outputs: int, units: int) -> tuple[int, int]:
    """Taps of a block and of all, in whole chunks: one block, in memory with the sums of a piece of the outputs, or several, one
    at a time with all sums, whichever takes fewer words."""
    step, blocks = 2 * units, _number_of_blocks(features, outputs)
    block_taps, taps = (-(-features // (count * step)) * step for count in (blocks, 1))
    return block_taps, taps


def _number_of_blocks(features: int, outputs: int) -> int:
    many = max(min((features + BLOCK_TAPS // 2) // BLOCK_TAPS, MANY_BLOCKS), -(-features // MOST_BLOCK_TAPS))
    is_one = many <= 1 or _words(features, min(outputs, PIECE)) <= _words(-(-features // many), outputs)
    return 1 if is_one else many


def _words(taps: int, sums: int) -> int:
    """Returns the words of the columns of a block, for any chunks, and of sums."""
    filled_up = max(-(-taps // (2 * units)) * 2 * units for units in UNITS)
    return filled_up + 1 + filled_up // (2 * UNITS[0]) + sums


def most_words(features: int, outputs: int) -> int:
    """Returns the words of columns and sums."""
    blocks = _number_of_blocks(features, outputs)
    return _words(-(-features // blocks), min(outputs, PIECE) if blocks == 1 else outputs)


def too_large(rows: numpy.ndarray, units: int) -> numpy.ndarray:
    """The largest weights of each chunk of rows [outputs, taps], so many that the sum of the others is a halfword."""
    chunks = rows.reshape(-1, 2 * units)
    lowest, highest = (choose(-128 * chunks, 127 * chunks) for choose in (numpy.minimum, numpy.maximum))
    found = numpy.zeros(chunks.shape, bool)
    crowded = numpy.flatnonzero((lowest.sum(axis=1) < -HALF) | (highest.sum(axis=1) >= HALF))
    falling = numpy.argsort(-numpy.abs(chunks[crowded]), axis=1, kind="stable")
    # The rest, once the largest are gone, one after the other.
    low, high = (
        ends[crowded].sum(axis=1, keepdims=True) - numpy.take_along_axis(ends[crowded], falling, axis=1).cumsum(axis=1)
        for ends in (lowest, highest)
    )
    count = 1 + ((low < -HALF) | (high >= HALF)).sum(axis=1, keepdims=True)
    is_gone = numpy.zeros(falling.shape, bool)
    numpy.put_along_axis(is_gone, falling, numpy.arange(2 * units) < count, axis=1)
    found[crowded] = is_gone
    return found.reshape(rows.shape)


def layout(rows: numpy.ndarray, together: int, objective: str, is_any: bool = False) -> Layout:
    """The cheapest layout of weights [outputs, features]; instructions, and the text that it needs, which `objective` weighs.
    If too many weights were kept apart, the outputs with most of them are single ones, which keep none. `is_any`: the
    layout that suits most weights, which has short chunks alone."""
    found = _cheapest(rows, together, objective, is_any, numpy.zeros(len(rows), bool))
    apart = OUTLIER_BYTES * found.outliers.sum(axis=1)
    falling = numpy.argsort(-apart, kind="stable")
    left = apart.sum() - apart[falling].cumsum()  # without the first of them, the first two, ...
    most = MOST_APART[objective] * rows.size
    if is_any or apart.sum() <= most:
        return found
    is_single = numpy.zeros(len(rows), bool)
    is_single[falling[: 1 + int((left > most).sum())]] = True
    return _cheapest(rows, together, objective, is_any, is_single)


def _cheapest(rows: numpy.ndarray, together: int, objective: str, is_any: bool, is_single: numpy.ndarray) -> Layout:
    """That in which the outputs that must be single are."""
    candidates = []
    for last in range(1 if is_any else len(UNITS)):
        _, taps = blocks_of(rows.shape[1], len(rows), UNITS[last])
        whole = filled(rows, taps)
        outliers = {units: too_large(whole, units) for units in UNITS[: last + 1]}
        costs = {
            units: whole.shape[1] * pairs_cost(units) + OUTLIER_COST * found.sum(axis=1) for units, found in outliers.items()
        }
        for others in range(last + 1):
            for chosen in combinations(UNITS[:last], others):
                units = (*chosen, UNITS[last])
                order, groups = _groups(numpy.stack([costs[each] for each in units]), together, is_single)
                candidates.append(
                    (
                        _cost(_members(order, groups, units, together), order, costs, taps, objective, together),
                        order,
                        groups,
                        units,
                        outliers,
                    )
                )
    _, order, groups, units, outliers = min(candidates, key=lambda entry: entry[0])
    block_taps, taps = blocks_of(rows.shape[1], len(rows), units[-1])
    apart = numpy.zeros_like(rows, dtype=bool)
    for each, members in _members(order, groups, units, together):
        apart[members] = outliers[each][members, : rows.shape[1]]
    used = [place for place, count in enumerate(groups) if count]
    return Layout(order, together, tuple(units[at] for at in used), tuple(groups[at] for at in used), apart, block_taps, taps)


def _groups(costs: numpy.ndarray, together: int, is_single: numpy.ndarray) -> tuple[numpy.ndarray, tuple[int, ...]]:
    """Order of the outputs and groups for each length of chunks, from costs [lengths, outputs]: what is left of a length goes to
    the one before, what is left of all stays single."""
    wanted = numpy.where(is_single, -1, costs.argmin(axis=0))
    order, groups = list[numpy.ndarray](), list[int]()
    left = numpy.zeros(0, numpy.int64)
    for place in reversed(range(len(costs))):
        members = numpy.concatenate([left, numpy.flatnonzero(wanted == place)])
        rest = len(members) % together
        left, taken = members[:rest], members[rest:]
        groups.insert(0, len(taken) // together)
        order.insert(0, numpy.sort(taken))
    singles = numpy.concatenate([left, numpy.flatnonzero(is_single)])
    return numpy.concatenate([*order, numpy.sort(singles)]), tuple(groups)


def _members(
    order: numpy.ndarray, groups: tuple[int, ...], units: tuple[int, ...], together: int
) -> list[tuple[int, numpy.ndarray]]:
    ends = numpy.cumsum([together * count for count in groups])
    return list(zip(units, numpy.split(order, ends)))


def _cost(members, order, costs, taps: int, objective: str, together: int) -> float:
    single = len(order) - sum(len(found) for _, found in members)
    instructions = sum(costs[each][found].sum() for each, found in members) + single * taps * singles_cost()
    return instructions + BYTE_COST[objective] * sum(text_bytes(each, together) for each, found in members if len(found))
