# SPDX-License-Identifier: MIT
"""Long lists of numbers as attributes, which a message shows by their length."""

from __future__ import annotations

import numpy

_SHOWN = 8


class Listed(tuple):
    """A tuple of numbers that prints itself in full only where it is short."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if len(self) <= _SHOWN else f"{len(self)} numbers"

    def array(self) -> numpy.ndarray:
        """The numbers in float64."""
        return numpy.array(self, numpy.float64)
