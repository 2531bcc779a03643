# SPDX-License-Identifier: MIT
"""Any function of one int8 value, as a lookup table. A recipe makes it from several operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.kinds import ElementWise

LEVELS = numpy.arange(-128, 128, dtype=numpy.int8)  # the stored values, in the order of a table


@dataclass(frozen=True)
class Table(ElementWise):
    """The stored value `results[x + 128]` for each stored int8 value x. `source` and `result` are the quantizations of x and of
    the results."""

    results: tuple[int, ...] = tuple(LEVELS.tolist())
    source: Quantization = per_tensor(1.0, 0)
    result: Quantization = per_tensor(1.0, 0)

    def forward(self, data):
        """Returns the result for the nearest stored value of each real number."""
        stored = self._found(quantize(data.astype(numpy.float32), self.source, DType.int8))
        return dequantize_linear(stored, self.result)

    def forward_quantized(self, values, inputs, outputs):
        return (self._found(values[0]),)

    def _found(self, stored: numpy.ndarray) -> numpy.ndarray:
        return numpy.array(self.results, numpy.int8)[stored.astype(numpy.int64) + 128]

    def __str__(self) -> str:
        return "Table"
