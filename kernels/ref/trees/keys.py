# SPDX-License-Identifier: MIT
"""Features as integers in the order of their values, so that every comparison of a forest is one of integers.

The key of an integer is itself. That of a float is its bits, those of negative numbers turned around: -infinity has the smallest
key, +infinity the largest; -0.0 lies just below 0.0, and no threshold lies between them. NaN gets a key beyond both ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType

INTEGERS = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.int32, DType.uint32, DType.int64)
FLOATS = (DType.float32, DType.float64)


@dataclass(frozen=True)
class Keys:
    """The keys of features of this type, compared in `compared` (numpy's name of a float type)."""

    dtype: DType
    compared: str

    @property
    def is_float(self) -> bool:
        """Whether a feature can be NaN."""
        return self.dtype in FLOATS

    @property
    def type(self) -> DType:
        """The type of a key."""
        if not self.is_float:
            return self.dtype
        return DType.int32 if self.dtype is DType.float32 else DType.int64

    @property
    def smallest(self) -> int:
        """The key of the smallest value."""
        return self.of(-math.inf) if self.is_float else self.dtype.range[0]

    @property
    def largest(self) -> int:
        """The key of the largest value."""
        return self.of(math.inf) if self.is_float else self.dtype.range[1]

    def of(self, value: float) -> int:
        """The key of a float."""
        kind = numpy.dtype(self.dtype.value)
        bits = int(numpy.array(value, kind).view(f"i{kind.itemsize}"))
        return bits if bits >= 0 else bits ^ ((1 << (8 * kind.itemsize - 1)) - 1)

    def up_to(self, limit: float) -> int:
        """The largest key whose value is at most the limit: smallest - 1 where there is none."""
        if math.isnan(limit):
            return self.smallest - 1
        if self.is_float:
            return self.of(limit + 0.0 if limit else 0.0)
        return self._last(lambda value: value <= limit)

    def below(self, limit: float) -> int:
        """The largest key whose value is less than the limit: smallest - 1 where there is none."""
        if math.isnan(limit):
            return self.smallest - 1
        if self.is_float:
            return self.of(limit) - 1 if limit else self.of(-0.0) - 1
        return self._last(lambda value: value < limit)

    def _last(self, holds) -> int:
        """The largest integer whose value, as it is compared, holds; rounding keeps the order, so that halving finds it."""
        low, high = self.smallest - 1, self.largest
        kind = numpy.dtype(self.compared).type
        while low < high:
            middle = (low + high + 1) // 2
            if holds(kind(middle)):
                low = middle
            else:
                high = middle - 1
        return low
