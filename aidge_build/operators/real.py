# SPDX-License-Identifier: MIT
"""Operators that round the real result on quantized tensors once: sums and products of 8-bit values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import clamp_levels, dequantize, quantize
from aidge_build.operators.base import Activated, as_tuple


class RealQuantized(Activated):
    """`forward_quantized` of 8-bit tensors: dequantize, `forward` in real numbers, quantize half to even, clamp the stored value.

    float64 holds these real numbers closely enough that only one rounding counts. Integers compute the same for nearly every
    scale, on every core, and faster than float32 (docs/arithmetic.md). Wider types have no kernels in integers: they are computed
    in float32.
    """

    def forward_quantized(
        self, values: Sequence[numpy.ndarray | None], inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
    ) -> tuple[numpy.ndarray, ...]:
        tensors = [tensor for tensor in (*inputs, *outputs) if tensor is not None]
        if any(tensor.quantization is None or tensor.dtype.size_bytes > 1 for tensor in tensors):
            return super().forward_quantized(values, inputs, outputs)
        (output,) = outputs
        reals = (dequantize(value, tensor.quantization) for value, tensor in zip(values, inputs, strict=True))
        (result,) = as_tuple(replace(self, minimum=-numpy.inf, maximum=numpy.inf).forward(*reals))
        levels = quantize(result, output.quantization, output.dtype)
        low, high = clamp_levels(self.minimum, self.maximum, output.quantization, output.dtype)
        return (numpy.clip(levels, low, high).astype(output.dtype.numpy),)
