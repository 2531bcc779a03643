# SPDX-License-Identifier: MIT
"""Convolutions and products of plain integers with zero points: ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul.

All parameters may be computed at run time. Recipes turn QLinear nodes with constant parameters into operators on quantized
tensors.
"""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.bands import windowed_rows
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims
from aidge_build.operators.conv import Conv, is_depthwise
from aidge_build.operators.register import operator
from aidge_build.operators.window import Window


def _centred(values: numpy.ndarray, zero_point: numpy.ndarray | None, axis: int | None = None) -> numpy.ndarray:
    """Returns value - zero point in float64, which holds these integers exactly; a list of zero points runs along `axis`."""
    if zero_point is None:
        return values.astype(numpy.float64)
    zero_point = zero_point.astype(numpy.float64)
    if zero_point.size == 1:
        return values - zero_point.reshape(())
    shape = [1] * values.ndim
    shape[axis] = -1
    return values - zero_point.reshape(shape)


@operator("ConvInteger")
class ConvInteger(Operator):
    """Y[n, m, ...] = sum of (X - x0) * (W - w0[m]) in int32, pads count nothing. Inputs: X, W, optional x0, w0.

    Source: ONNX operator ConvInteger.
    """

    window: Window = Window((1,), (1,), (1,), (0,), (0,))
    groups: int = 1

    @classmethod
    def from_onnx(cls, source):
        return cls(*_window(source, 1))

    @property
    def type(self) -> str:
        return "ConvInteger"

    def infer(self, inputs):
        data, weights, *rest = inputs
        (result,) = self._conv().infer((data, weights))
        for what, tensor, allowed in zip(("the data", "the weights"), rest, ((), (weights.dims[0],))):
            require(
                tensor is None or tensor.elements == 1 or tensor.dims == allowed,
                f"the zero point of {what} has {list(tensor.dims) if tensor else ''}",
            )
        return (TensorType(result.dims, DType.int32),)

    def _conv(self) -> Conv:
        return Conv(window=self.window, groups=self.groups)

    def sums(self, data, weights, data_zero=None, weights_zero=None):
        """The accumulators in float64."""
        return self._conv().accumulate(_centred(data, data_zero), _centred(weights, weights_zero, 0))

    def forward(self, data, weights, data_zero=None, weights_zero=None):
        return self.sums(data, weights, data_zero, weights_zero).astype(numpy.int64).astype(numpy.int32)

    def band(self, inputs, outputs, first, last):
        return windowed_rows(self, inputs, outputs, first, last)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * (inputs[1].elements // inputs[1].dims[0])


def _window(source, weights: int) -> tuple[Window, int]:
    source.expect_attributes("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    data, filters = source.input(0), source.input(weights)
    require(data.rank == filters.rank and data.rank >= 3, f"the input has rank {data.rank}, the weights {filters.rank}")
    return Window.from_onnx(source, data.dims[2:], kernel=filters.dims[2:]), source.integer("group", 1)


@operator("MatMulInteger")
class MatMulInteger(Operator):
    """Y = (A - a0) (B - b0) in int32, as numpy.matmul; a0 per row, b0 per column, or one number.

    Source: ONNX operator MatMulInteger.
    """

    def infer(self, inputs):
        first, second, *zeros = inputs
        require(first.rank >= 2 and second.rank >= 2, f"the inputs have the dims {list(first.dims)} and {list(second.dims)}")
        require(first.dims[-1] == second.dims[-2], f"the inner dims differ: {first.dims[-1]} and {second.dims[-2]}")
        for tensor, count in zip(zeros, (first.dims[-2], second.dims[-1])):
            require(tensor is None or tensor.elements == 1 or tensor.dims == (count,), "a zero point has the wrong dims")
        return (TensorType((*broadcast_dims(first.dims[:-2], second.dims[:-2]), first.dims[-2], second.dims[-1]), DType.int32),)

    def sums(self, first, second, first_zero=None, second_zero=None):
        """The accumulators in float64."""
        return _centred(first, first_zero, -2) @ _centred(second, second_zero, -1)

    def forward(self, first, second, first_zero=None, second_zero=None):
        return self.sums(first, second, first_zero, second_zero).astype(numpy.int64).astype(numpy.int32)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[0].dims[-1]


def _requantized(sums, first_scale, second_scale, scale, zero_point, axis: int):
    """Returns saturate(rint_half_even(float32(sums) * float32(float32(s1 * s2) / s)) + zero point)."""
    multipliers = (numpy.float32(first_scale) * numpy.float32(second_scale)) / numpy.float32(scale)
    if multipliers.size == 1:
        multipliers = multipliers.reshape(())
    else:
        shape = [1] * sums.ndim
        shape[axis] = -1
        multipliers = multipliers.reshape(shape)
    limits = numpy.iinfo(zero_point.dtype)
    return requantize(sums, multipliers, int(zero_point.reshape(())), limits.min, limits.max).astype(zero_point.dtype)


def _check_parameters(inputs, outputs: int) -> None:
    for index in (1, 2, 4, 5, 6, 7):
        tensor = inputs[index]
        many = index in (4, 5)
        require(tensor.elements == 1 or many and tensor.dims == (outputs,), f"input {index} has the dims {list(tensor.dims)}")


@operator("QLinearConv")
class QLinearConv(Operator):
    """Convolution of quantized tensors. Inputs: X, sx, x0, W, sw, w0, sy, y0, optional int32 bias.

    Source: ONNX operator QLinearConv.
    """

    window: Window = Window((1,), (1,), (1,), (0,), (0,))
    groups: int = 1

    @classmethod
    def from_onnx(cls, source):
        return cls(*_window(source, 3))

    @property
    def type(self) -> str:
        return "QLinearConv"

    def conv(self, depthwise_of: tuple[int, int] | None = None) -> Conv:
        """The convolution without quantization."""
        depthwise = depthwise_of is not None and is_depthwise(self.groups, *depthwise_of)
        return Conv(window=self.window, groups=self.groups, depthwise=depthwise)

    def infer(self, inputs):
        _check_parameters(inputs, inputs[3].dims[0])
        (result,) = self.conv().infer((inputs[0], inputs[3], *inputs[8:9]))
        return (TensorType(result.dims, inputs[7].dtype),)

    def forward(self, data, data_scale, data_zero, weights, weights_scale, weights_zero, scale, zero_point, bias=None):
        sums = self.conv().accumulate(
            _centred(data, data_zero), _centred(weights, weights_zero, 0), None if bias is None else bias.astype(numpy.float64)
        )
        return _requantized(sums, data_scale, weights_scale, scale, zero_point, 1)

    def forward_quantized(self, values, inputs, outputs):
        return (self.forward(*values),)

    def band(self, inputs, outputs, first, last):
        return windowed_rows(self, inputs, outputs, first, last)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * (inputs[3].elements // inputs[3].dims[0])


@operator("QLinearMatMul")
class QLinearMatMul(Operator):
    """Matrix product of quantized tensors. Inputs: A, sa, a0, B, sb, b0, sy, y0. Source: ONNX operator QLinearMatMul."""

    def infer(self, inputs):
        _check_parameters(inputs, inputs[3].dims[-1])
        (result,) = MatMulInteger().infer((inputs[0], inputs[3]))
        return (TensorType(result.dims, inputs[7].dtype),)

    def forward(self, first, first_scale, first_zero, second, second_scale, second_zero, scale, zero_point):
        sums = MatMulInteger().sums(first, second, first_zero, second_zero)
        return _requantized(sums, first_scale, second_scale, scale, zero_point, -1)

    def forward_quantized(self, values, inputs, outputs):
        return (self.forward(*values),)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[0].dims[-1]
