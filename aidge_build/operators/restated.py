# SPDX-License-Identifier: MIT
"""The same stored bits with another quantization. A recipe makes it."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import TensorType
from aidge_build.operators.view import View


@dataclass(frozen=True)
class Restated(View):
    """A view between two quantizations: a file may write a tensor by one scale and read it by another. `dtype`: the type of
    the output, of as many bits; None as the input's."""

    dtype: DType | None = None

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, self.dtype or data.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        return data if self.dtype is None else data.view(self.dtype.numpy)

    def rounds(self, inputs, outputs):
        return False

    def forward_quantized(self, values, inputs, outputs):
        """Returns stored values, whatever quantization the tensors have."""
        return (self.forward(*values),)
