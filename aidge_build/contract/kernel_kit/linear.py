# SPDX-License-Identifier: MIT
"""The numbers of an int8 convolution or fully connected layer, whatever the order in which a kernel reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.contracts import Requantization, each_channel
from aidge_build.operators.arithmetic.ranges import require_int32
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.linear import LinearQuantized


@dataclass(frozen=True, eq=False)
class LinearConstants:
    """y = clamp(rounded((x * weights + bias) * factor) + zero_point, low, high), per output channel.

    `weights` are [outputs, taps] as they were given. `bias` [outputs] holds -input_zero_point * sum of the weights already, so
    pads are taps that see input_zero_point; `plain_bias` [outputs] does not, for kernels that leave out pads. Both are int64.
    `requantization` has finite factors of each output.
    """

    weights: numpy.ndarray
    plain_bias: numpy.ndarray
    bias: numpy.ndarray
    requantization: Requantization
    per_channel: bool  # whether the multipliers come from one scale per channel
    input_zero_point: int
    zero_point: int
    low: int
    high: int
    is_any: bool = False  # other weights must find the same code

    @property
    def multipliers(self) -> numpy.ndarray:
        """The multipliers for kernels: float32 [outputs], or int32 [outputs, 2] under the contract `double`
        (arithmetic/contracts.py)."""
        return self.requantization.numbers

    @property
    def clamps(self) -> bool:
        """Whether the result is clamped to less than what int8 holds."""
        return (self.low, self.high) != (-128, 127)


def linear_constants(
    operator: LinearQuantized, inputs: Sequence[Tensor | None], output: Tensor, rows: numpy.ndarray, in_int32: bool = True
) -> LinearConstants:
    """The constants for weights given as `rows` [outputs, taps].

    AidgeError where float32 cannot hold a multiplier, and with `in_int32` where int32 cannot hold a sum.
    """
    data, result = inputs[0], output.quantization
    zero_point = data.quantization.zero_point
    bias = inputs[2].data if len(inputs) > 2 and inputs[2] is not None else numpy.zeros(len(rows), numpy.int32)
    if in_int32:
        require_int32(rows, bias, zero_point, *data.dtype.range)
    found = operator.requantization(inputs, output)
    factors = found.numbers
    if not found.is_finite:
        raise AidgeError(
            f"the multiplier of output channel {int(numpy.argmin(numpy.isfinite(factors)))} is not finite",
            code="RANGE",
            hint="the output scale is far too small: quantize the layer again",
        )
    low, high = clamp_levels(operator.minimum, operator.maximum, result, output.dtype)
    plain = bias.astype(numpy.int64)
    return LinearConstants(
        weights=rows,
        plain_bias=plain,
        bias=plain - zero_point * rows.astype(numpy.int64).sum(axis=1),
        requantization=each_channel(found, len(rows)),
        per_channel=len(factors) > 1,
        input_zero_point=zero_point,
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
