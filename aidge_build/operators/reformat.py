# SPDX-License-Identifier: MIT
"""A copy of a tensor into another storage order; adaptation inserts it where two kernels want different formats."""

from __future__ import annotations

from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Operator, TensorType


class Reformat(Operator):
    """Y = X; the two tensors differ in format only. It has no ONNX name: only adaptation makes it."""

    def rounds(self, inputs, outputs):
        return False

    def infer(self, inputs):
        return (TensorType(inputs[0].dims, inputs[0].dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        return data

    def forward_quantized(self, values, inputs, outputs):
        return (values[0],)
