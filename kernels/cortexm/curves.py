# SPDX-License-Identifier: MIT
"""What texts know of a function of few levels that sums go through (arithmetic/curved_sums.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.curved_sums import CurvedSums


@dataclass(frozen=True)
class Curve:
    """The bits of a cell, the number of cells and the place of that of 0."""

    shift: int
    cells: int
    middle: int
    rises: bool

    @classmethod
    def of(cls, curved: CurvedSums) -> Curve:
        """The text of this function."""
        steps = curved.steps
        return cls(steps.shift, len(steps.entries), steps.middle, steps.rises)

    @property
    def variant(self) -> str:
        """For the name of a text."""
        return f"_curve{self.shift}{'_up' * self.rises}"

    @property
    def note(self) -> str:
        return f"then a function by {self.cells} words, each of a cell with one step at most"


def head_of(curved: CurvedSums, fill: int) -> list[int]:
    """The first words of a stream: what numbers are raised and lowered by, and what stands where the input has pads."""
    return [curved.steps.raised, curved.steps.lowered, fill]


def table_of(curved: CurvedSums) -> list[int]:
    """The words behind the groups."""
    return curved.steps.entries.astype(numpy.int64).tolist()
