# SPDX-License-Identifier: MIT
"""Weights without the blocks of 4 taps in which an output has none.

For each output of a group the stream has a word, the number of pairs of blocks; then for each pair the word of both places in the
column, in bytes, the first one in the low half, and the 4 weights of each block as bytes. A pair that lacks a block has zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.conditions import GROUP
from .packed_sums import pack_nibbles
from .packing import rows_of_image
from .weights import FIRST, QUAD, SECOND, Weights

BLOCK = 4
MOST_KEPT = 0.4  # of the blocks, as many as the stream has: each takes 6 bytes, and twice the cycles
LARGEST_OFFSET = (1 << 16) - 1
WAITING = {"first_sums": 24, "second_sums": 26, "last_bias": 28}
# Registers that hold no sum and no bias while a channel of two pixels is added up, three of them rising.
SPARE = (("a1", "a2", "a3", "b3"), ("a0", "a2", "a3", "b3"), ("a0", "a1", "a3", "b3"), ("a0", "a1", "b0", "b1"))
OF_ROWS = ("b0", "b1", "b2", "b3")


@dataclass(frozen=True)
class Sparse(Weights):
    """For taps in the order of `QUAD` of each block. `places` are the bytes of the blocks in the column."""

    places: tuple[int, ...] = ()

    def words(self, rows: numpy.ndarray) -> list[int]:
        found: list[int] = []
        for blocks in rows.reshape(len(rows), -1, BLOCK)[:, :, QUAD].astype(numpy.int8):
            kept = numpy.flatnonzero(blocks.any(axis=1))
            places = [self.places[block] for block in kept] + [0] * (2 - len(kept) if len(kept) < 2 else len(kept) % 2)
            weights = numpy.zeros((len(places), BLOCK), numpy.int8)
            weights[: len(kept)] = blocks[kept]
            words = weights.view("<i4")[:, 0].tolist()
            found.append(len(places) // 2)
            for first in range(0, len(places), 2):
                found += [places[first] | places[first + 1] << 16, *words[first : first + 2]]
        return found


def sparse(places: Sequence[int]) -> Sparse:
    """The encoding for blocks at these places."""
    return Sparse(
        "w8",
        "int8 weights without blocks of zeros",
        "int8 without zeros",
        0,
        is_sparse=True,
        family="_sparse",
        places=tuple(places),
    )


def has_few_blocks(linear: Linear, places: Sequence[int]) -> bool:
    """Whether so few blocks have weights, of one byte each, that leaving out the others saves bytes and time."""
    if linear.is_any or len(linear.rows) < GROUP or linear.rows.shape[1] % BLOCK or max(places) > LARGEST_OFFSET:
        return False
    if not DType.int8.holds(linear.rows):
        return False
    return _kept(linear.rows) <= MOST_KEPT / (2 if linear.bits <= BLOCK else 1)


def is_sparse_row(view: NodeView) -> bool:
    """The same of a fully connected layer."""
    rows = rows_of_image(view)
    if view.any_weights or len(rows) < GROUP or rows.shape[1] % BLOCK or rows.itemsize > 1 or 2 * rows.shape[1] > LARGEST_OFFSET:
        return False
    return _kept(rows) <= MOST_KEPT / (2 if pack_nibbles(view) else 1)


def _kept(rows: numpy.ndarray) -> float:
    """The share of blocks that pairs of blocks with a weight have, of taps in the order of the model."""
    blocks = rows.reshape(len(rows), -1, BLOCK).any(axis=2)
    pairs = numpy.maximum(1, -(-blocks.sum(axis=1) // 2))
    return float(2 * pairs.mean() / blocks.shape[1])


def group_of_pixels(code: Routine, second: int) -> None:
    """The sums of two pixels, from biases in b0..b3. The column has the first pair of taps of both pixels at the place of a
    block, and the other pair `second` bytes further. Label 9."""
    code.put("last_bias", "{b3}")
    for channel in range(GROUP):
        total, other = FIRST[channel], SECOND[channel]
        if channel == GROUP - 1:
            code.get("{b3}", "last_bias")
        code(f"mov {total}, {other}")
        _channel(code, (total, other), SPARE[channel], second)
        if channel < 2:
            code.put(("first_sums", "second_sums")[channel], f"{total}, {other}")
    for channel, name in enumerate(("first_sums", "second_sums")):
        code.get(f"{FIRST[channel]}, {SECOND[channel]}", name)


def group_of_rows(code: Routine) -> None:
    """The sums of a row, which begin in a0..a3. Label 9."""
    for total in FIRST:
        _channel(code, (total,), OF_ROWS, 0)


def _channel(code: Routine, sums: tuple[str, ...], spare: tuple[str, ...], second: int) -> None:
    """The blocks of a channel."""
    places, *weights, at = (f"{{{name}}}" for name in spare)
    code("ldr {w1}, [{stream}], #4", "pairs of blocks")
    code.label(9, "two blocks")
    code(f"ldm {{stream}}!, {{{{{places}, {', '.join(weights)}}}}}", "their places and weights")
    for weight, place in (
        (weights[1], f"add {at}, {{column}}, {places}, lsr #16"),
        (weights[0], f"uxtah {at}, {{column}}, {places}"),
    ):
        code(place)
        code(f"ldrd {{x0}}, {{x1}}, [{at}]")
        for pair, extended in enumerate((f"sxtb16 {{w0}}, {weight}", f"sxtb16 {weight}, {weight}, ror #8")):
            if pair and len(sums) > 1:
                code(f"ldrd {{x0}}, {{x1}}, [{at}, #{second}]")
            code(extended)
            taps = ("{x0}", "{x1}") if len(sums) > 1 else (("{x0}", "{x1}")[pair],)
            for total, tap in zip(sums, taps):
                code(f"smlad {total}, {(weight if pair else '{w0}')}, {tap}, {total}")
    code("subs {w1}, {w1}, #1")
    code("bne 9b")
