# SPDX-License-Identifier: MIT
"""Operators that are linear in data and weights: on quantized tensors they accumulate integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.contracts import Contract, Requantization, contract
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels


class LinearQuantized:
    """`forward_quantized` of operators with inputs (data, weights, optional bias) and `accumulate`.

    The bias is int32 (for int16 data also int64) with scale sx * sw and zero point 0; the recipe that makes such nodes ensures
    it. The channel axis of the output is 1 if the weights are quantized per channel.
    """

    minimum: float  # of the clamp after it, in real numbers
    maximum: float
    single_product: bool = False  # the product of both scales is a float32, as LiteRT has it for convolutions of uint8

    def accumulate(self, data, weights, bias=None):
        """Returns the sum of products plus bias, without clamp; float64 holds integers below 2^53 exactly."""
        raise NotImplementedError

    def requantization(self, inputs: Sequence[Tensor | None], output: Tensor) -> Requantization:
        """Returns the requantization by the contract of the output."""
        given, weights = inputs[0].quantization.scale, inputs[1].quantization.scales
        if self.single_product:
            given, weights = numpy.float32(given) * numpy.float32(weights[0]), (1.0,)
        scales = given, weights, output.quantization.scale
        return self.requantized_by(contract(output.quantization.rounding), inputs[0].dtype is DType.int16, *scales)

    @staticmethod
    def requantized_by(contract: Contract, halfwords: bool, *scales) -> Requantization:
        """Returns the contract's requantization for this kind of layer; `halfwords`: int16 data."""
        return contract.of_halfwords(*scales) if halfwords else contract.of_convolution(*scales)

    def forward_quantized(
        self, values: Sequence[numpy.ndarray | None], inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
    ) -> tuple[numpy.ndarray, ...]:
        """Returns the stored outputs for stored inputs: exact integer sums, requantized once."""
        data, weights = (
            centred(value, tensor.quantization).astype(numpy.float64) for value, tensor in zip(values[:2], inputs[:2])
        )
        bias = values[2].astype(numpy.float64) if len(values) > 2 and values[2] is not None else None
        (output,) = outputs
        quantization = output.quantization
        sums = self.accumulate(data, weights, bias)
        factors = self.requantization(inputs, output)
        low, high = clamp_levels(self.minimum, self.maximum, quantization, output.dtype)
        levels = factors.levels(sums, min(1, output.rank - 1), quantization.zero_point, low, high)
        return (levels.astype(output.dtype.numpy),)
