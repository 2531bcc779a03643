# SPDX-License-Identifier: MIT
"""What texts know of a function of few levels that sums go through (arithmetic/curved_sums.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.curved_products import CurvedProducts
from aidge_build.operators.arithmetic.curved_sums import CurvedSums


@dataclass(frozen=True)
class Curve:
    """The bits of a cell, the number of cells and the place of that of 0. Where sums do without floats, `left` is how far they go
    to the left before the product, and `bits` what numbers are limited to."""

    shift: int
    cells: int
    middle: int
    rises: bool
    left: int = 0
    bits: int = 0

    @classmethod
    def of(cls, curved: CurvedProducts | CurvedSums) -> Curve:
        """The text of this function."""
        if isinstance(curved, CurvedProducts):
            cells = curved.cells
            return cls(cells.shift, len(cells.words), 0, False, curved.left, cells.shift + cells.bits)
        steps = curved.steps
        return cls(steps.shift, len(steps.entries), steps.middle, steps.rises)

    @property
    def is_float(self) -> bool:
        """Whether sums go through float32."""
        return self.left == 0

    @property
    def variant(self) -> str:
        """For the name of a text."""
        return f"_curve{self.shift}{'_up' * self.rises if self.is_float else f'_{self.left}_{self.bits}'}"

    @property
    def note(self) -> str:
        return f"then a function by {self.cells} words, each of a cell with one step at most"


def head_of(curved: CurvedProducts | CurvedSums, fill: int) -> list[int]:
    """The first words of a stream: what numbers are raised and lowered by, or without floats how far sums go to the left and how
    many bits numbers have; and what stands where the input has pads."""
    if isinstance(curved, CurvedProducts):
        return [curved.left, curved.cells.shift + curved.cells.bits, fill]
    return [curved.steps.raised, curved.steps.lowered, fill]


def table_of(curved: CurvedProducts | CurvedSums) -> list[int]:
    """The words behind the groups."""
    if isinstance(curved, CurvedProducts):
        return curved.cells.words.tolist()
    return curved.steps.entries.astype(numpy.int64).tolist()
