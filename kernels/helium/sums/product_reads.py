# SPDX-License-Identifier: MIT
"""The loads of the input of product_text.py: in which order, by which pointers, at which addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.assembly import BYTE_REACH, WORD_REACH, Access, walk
from .product import LANES, POINTERS, Product


@dataclass(frozen=True)
class Read:
    """One load of 16 bytes of the input, and the (pixel, tap) that use it. `masked`: only the tail is there."""

    offset: int
    uses: tuple[tuple[int, int], ...]
    pointer: int
    masked: bool


class Reading:
    """How one product reads, with so many `pointers` at most, unless rows are a ring."""

    def __init__(self, shape: Product, pointers: int):
        self.pointers = pointers
        self.reach = WORD_REACH if shape.aligned else BYTE_REACH

    def reads(self, shape: Product) -> list[Read]:
        """The loads in order, each with a pointer: as few pointers as keep the additions away."""
        plain: list[tuple[int, tuple, int, int, int]] = []
        for row in range(shape.rows):
            for vector in range(shape.vectors):
                uses: dict[int, list[tuple[int, int]]] = {}
                for pixel in range(shape.pixels):
                    for tap in range(shape.taps):
                        uses.setdefault(pixel * shape.pixel_step + tap * shape.tap_step, []).append((pixel, tap))
                for column in sorted(uses, reverse=vector % 2 == 1):
                    offset = row * shape.row_step + LANES * vector + column
                    plain.append((offset, tuple(uses[column]), row, uses[column][0][0], vector))
        best: list[Read] = []
        for choose in self._choices(shape):
            reads = [
                Read(offset, uses, choose(row, pixel), bool(shape.tail) and vector == shape.vectors - 1)
                for offset, uses, row, pixel, vector in plain
            ]
            if not best or self._additions(reads) < self._additions(best):
                best = reads
        return best

    def _choices(self, shape: Product) -> list:
        """Functions of a row and a pixel that tell the pointer."""
        choices = [lambda row, pixel: row] if shape.ring else [lambda row, pixel: 0]
        if 1 < shape.rows <= self.pointers and not shape.ring:
            choices.append(lambda row, pixel: row)
        if shape.taps == shape.rows == 1 and 1 < shape.pixels <= self.pointers:
            choices.append(lambda row, pixel: pixel)
        if shape.taps == shape.rows == 1 and shape.pixels > 2:
            choices.insert(1, lambda row, pixel: pixel // 2)
        return choices

    def like(self, shape: Product, others: list[Read]) -> list[Read]:
        """The loads with the pointers that others use for the same pixels."""
        pointer_of = {read.uses[0][0]: read.pointer for read in others}
        return [replace(read, pointer=pointer_of[read.uses[0][0]]) for read in self.reads(shape)]

    def _additions(self, reads: list[Read]) -> int:
        accesses, ends = self.addresses(reads)
        return sum(access.before != 0 for access in accesses) + sum(end != 0 for end in ends)

    def addresses(self, reads: list[Read]) -> tuple[list[Access], list[int]]:
        """The addresses of the loads, and what each pointer lacks at the end."""
        found: dict[int, Access] = {}
        ends = []
        for index in range(max(read.pointer for read in reads) + 1):
            positions = [position for position, read in enumerate(reads) if read.pointer == index]
            home = min(reads[position].offset for position in positions)
            accesses, end = walk(POINTERS[index], home, [reads[position].offset for position in positions], self.reach)
            found.update(zip(positions, accesses))
            ends.append(end)
        return [found[position] for position in range(len(reads))], ends


def reads_before_late(reads: Sequence[Read], late: Sequence[int], kept: int) -> int:
    """How many of the reads of a vector come before the first products of late taps whose data cannot wait; `kept` stay."""
    count = 0
    while count < len(reads) and (count < kept or all(tap not in late for _, tap in reads[count - kept].uses)):
        count += 1
    return count
