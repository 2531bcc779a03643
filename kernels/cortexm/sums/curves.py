# SPDX-License-Identifier: MIT
"""A function of few levels that sums go through, as streams and texts hold it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.curved_products import CurvedProducts
from aidge_build.operators.arithmetic.curved_sums import CurvedSums


@dataclass(frozen=True, eq=False)
class Curve:
    """One word for each cell of 2^`shift` numbers, of which number 0 is in cell `middle`.

    `head`: what numbers are raised and lowered by; or without floats how far sums go to the left before the product, and how many
    bits numbers have.
    """

    entries: numpy.ndarray
    shift: int
    head: tuple[int, int]
    is_float: bool  # whether numbers come by way of float32, not by products
    middle: int = 0
    rises: bool = False

    @property
    def variant(self) -> str:
        """The part of a function's name that says on which curve its text depends."""
        return f"_curve{self.shift}" + ("_up" * self.rises if self.is_float else "_{}_{}".format(*self.head))

    @property
    def note(self) -> str:
        """The words about the function in a layer's comment."""
        return f"then a function by {len(self.entries)} words, each of a cell with one step at most"


def curve_of(found: CurvedProducts | CurvedSums) -> Curve:
    """The same for kernels."""
    if isinstance(found, CurvedProducts):
        cells = found.cells
        return Curve(cells.words, cells.shift, (found.left, cells.shift + cells.bits), False)
    steps = found.steps
    return Curve(steps.entries, steps.shift, (steps.raised, steps.lowered), True, steps.middle, steps.rises)
