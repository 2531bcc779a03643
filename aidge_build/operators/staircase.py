# SPDX-License-Identifier: MIT
"""Any function from one float to one stored int8 value, by the floats at which it changes. A recipe makes it from other
operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.staircase import keys_of
from aidge_build.operators.kinds import ElementWise


@dataclass(frozen=True)
class Staircase(ElementWise):
    """`levels[n]` if the number x has reached n of the rising `keys` (`arithmetic/staircase.py` defines a key)."""

    keys: tuple[int, ...] = (0,)
    levels: tuple[int, ...] = (-1, 1)

    def result_type(self, dtype):
        return DType.int8

    def forward(self, data):
        keys = keys_of(numpy.asarray(data, numpy.float32))
        return numpy.array(self.levels, numpy.int8)[numpy.searchsorted(numpy.array(self.keys, numpy.int64), keys, "right")]

    @classmethod
    def has_backward(cls):
        return False

    def __str__(self) -> str:
        return f"Staircase[{len(self.keys)} steps]"
