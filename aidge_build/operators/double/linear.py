# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers: sums of integers, requantized by the contract."""

from __future__ import annotations

from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.meanings import means


@means(LinearQuantized)
def _linear(operator, values, inputs, outputs):
    return operator.forward_quantized(values, inputs, outputs)
