# SPDX-License-Identifier: MIT
"""Any function from one stored int8 value to a float, by its results. A recipe makes it of several operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.kinds import ElementWise


@dataclass(frozen=True)
class RealTable(ElementWise):
    """The float32 `results[x + 128]` for each stored int8 value x."""

    results: tuple[float, ...] = tuple(float(value) for value in range(-128, 128))

    def result_type(self, dtype):
        return DType.float32

    def forward(self, data):
        return numpy.array(self.results, numpy.float32)[data.astype(numpy.int64) + 128]

    @classmethod
    def has_backward(cls):
        return False

    def __str__(self) -> str:
        return "RealTable"
