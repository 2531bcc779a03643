# SPDX-License-Identifier: MIT
"""Sums of bytes, scaled to float: layers of dynamic quantization, with zero point and scale known only at run time, and layers of
stored bytes with a float result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import windowed_rows
from aidge_build.operators.base import Activated, TensorType, require
from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window

DATA, WEIGHTS, ZERO_POINT, SCALE, FACTORS, BIAS = range(6)  # the inputs


class DynamicLayer(Activated):
    """Base: clamp(float32(sum of (x - zero point) * w) * (scale * factor) + bias), a factor and a bias for each output channel.

    Inputs: bytes x, int8 or int16 weights w, zero point of x and its scale (one number each), factors [M], optional bias [M].
    Recipes make it from ConvInteger or MatMulInteger, Cast, Mul and Add (`fuse_dynamic`), and from layers of stored bytes with a
    float result (`scale_sums`: zero point and scale are constants).
    """

    by_steps: ClassVar = True

    def sums(self, data: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
        """Returns the accumulators of centred data, in float64; channels on axis `channel_axis` of the result."""
        raise NotImplementedError

    def dims(self, inputs) -> tuple[int, ...]:
        """Returns the dims of the output."""
        raise NotImplementedError

    def infer(self, inputs):
        data, weights, zero_point, scale, factors, *bias = inputs
        require(data.dtype in (DType.int8, DType.uint8), f"the data is {data.dtype.name}, wants int8 or uint8")
        require(zero_point.elements == scale.elements == 1, "zero point and scale are one number each")
        count = weights.dims[0]
        require(factors.dims == (count,), f"the factors have the dims {list(factors.dims)}, wants [{count}]")
        require(not bias or bias[0] is None or bias[0].dims == (count,), f"the bias has not {count} elements")
        return (TensorType(self.dims(inputs), DType.float32),)

    def forward(self, data, weights, zero_point, scale, factors, bias=None):
        sums = self.sums(data.astype(numpy.float64) - zero_point.astype(numpy.float64).reshape(()), weights.astype(numpy.float64))
        shape = [1] * sums.ndim
        shape[self.channel_axis] = -1
        result = sums.astype(factors.dtype) * (scale.reshape(()) * factors).reshape(shape)
        return self.clamp(result if bias is None else result + bias.reshape(shape))

    channel_axis: ClassVar[int] = 1

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * math.prod(inputs[WEIGHTS].dims[1:])


@dataclass(frozen=True)
class DynamicConv(DynamicLayer):
    """A convolution of [N, C, spatial...] with weights [M, C / groups, kernel...]."""

    window: Window = Window((1,), (1,), (1,), (0,), (0,))
    groups: int = 1

    def sums(self, data, weights):
        return self._conv().accumulate(data, weights)

    def dims(self, inputs):
        (result,) = self._conv().infer(inputs[:2])
        return result.dims

    def band(self, inputs, outputs, first, last):
        return windowed_rows(self, inputs, outputs, first, last)

    def _conv(self) -> Conv:
        return Conv(window=self.window, groups=self.groups)


class DynamicFC(DynamicLayer):
    """Rows [..., K] times weights [M, K]."""

    channel_axis: ClassVar[int] = -1

    def sums(self, data, weights):
        return data @ weights.T

    def dims(self, inputs):
        data, weights = inputs[:2]
        require(weights.rank == 2 and data.dims[-1:] == weights.dims[1:], f"{list(data.dims)} by {list(weights.dims)}")
        return (*data.dims[:-1], weights.dims[0])
