# SPDX-License-Identifier: MIT
"""The same quantized numbers in the other type of 8 bits."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Operator, TensorType, require

SHIFT = 128  # the zero point of uint8 less the zero point of int8
FLIPPED = {DType.uint8: DType.int8, DType.int8: DType.uint8}


class FlipSign(Operator):
    """uint8 to int8 with 128 subtracted, or int8 to uint8 with 128 added, from values and zero point. A recipe makes it."""

    def rounds(self, inputs, outputs):
        return False

    def infer(self, inputs):
        (data,) = inputs
        require(data.dtype in FLIPPED, f"the input is {data.dtype.name}, wants int8 or uint8")
        return (TensorType(data.dims, FLIPPED[data.dtype]),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        return flipped(data)

    def forward_quantized(self, values, inputs, outputs):
        """Returns stored values, whatever quantization the tensors have."""
        return (self.forward(*values),)


def flipped(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the numbers of one type as numbers of the other: the highest bit changes."""
    return (values.view(numpy.uint8) ^ numpy.uint8(0x80)).view(FLIPPED[DType(values.dtype.name)].numpy)
