# SPDX-License-Identifier: MIT
"""The operators of onnxruntime's domain com.microsoft that name their quantization: another spelling of quantized operators.

The recipe `expand_qlinear` replaces them by DequantizeLinear, the operator itself, and QuantizeLinear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.activation import LeakyReLU, Sigmoid
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.binary import Add, Mul
from aidge_build.operators.matmul import Gemm
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.register import operator
from aidge_build.operators.softmax import Softmax


@dataclass(frozen=True)
class QLinear(Operator):
    """Base: `inner` on real numbers.

    `operands` are indices of the inputs (values, scale, zero point), `result` of the inputs (scale, zero point).
    """

    folds: ClassVar = False

    inner: Operator = Operator()
    operands: tuple[tuple[int, int, int], ...] = ((0, 1, 2),)
    result: tuple[int, int] = (3, 4)

    def infer(self, inputs):
        tensors = [inputs[place] for place, _, _ in self.operands]
        (found,) = self.inner.infer(tensors)
        for place in (*(index for _, *rest in self.operands for index in rest), *self.result):
            tensor = self.optional(inputs, place)
            require(
                tensor is None or tensor.elements == 1,
                f"input {place} has the dims {list(tensor.dims) if tensor else ''}, wants one number",
            )
        zero_point = self.optional(inputs, self.result[1])
        return (TensorType(found.dims, zero_point.dtype if zero_point is not None else tensors[0].dtype),)

    @staticmethod
    def optional(values: Sequence, place: int):
        """Returns the input at a place, or None."""
        return values[place] if place < len(values) else None

    def forward(self, *inputs):
        tensors = [self._quantized(inputs, place, *rest) for place, *rest in self.operands]
        zero = self.optional(inputs, self.result[1])
        dtype = DType((tensors[0].data if zero is None else zero).dtype.name)
        (found,) = self.inner.infer(tensors)
        result = Tensor("result", found.dims, dtype, quantization=self._quantization(inputs, *self.result))
        return self.inner.forward_quantized([tensor.data for tensor in tensors], tensors, [result])[0]

    def _quantized(self, inputs: Sequence[numpy.ndarray | None], place: int, scale: int, zero_point: int) -> Tensor:
        return constant("operand", inputs[place], self._quantization(inputs, scale, zero_point))

    def _quantization(self, inputs: Sequence[numpy.ndarray | None], scale: int, zero_point: int) -> Quantization:
        zero = self.optional(inputs, zero_point)
        return per_tensor(inputs[scale].item(), 0 if zero is None else zero.item())

    def forward_quantized(self, values, inputs, outputs):
        return (self.forward(*values),)


@operator("com.microsoft::QLinearAdd", "com.microsoft::QLinearMul")
class QLinearBinary(QLinear):
    """Sum or product of two quantized tensors. Source: com.microsoft operators QLinearAdd and QLinearMul."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes()
        return cls(Add() if source.op_type == "QLinearAdd" else Mul(), ((0, 1, 2), (3, 4, 5)), (6, 7))


@operator(
    "com.microsoft::QLinearAveragePool",
    "com.microsoft::QLinearGlobalAveragePool",
    "com.microsoft::QLinearLeakyRelu",
    "com.microsoft::QLinearSigmoid",
    "com.microsoft::QLinearSoftmax",
)
class QLinearUnary(QLinear):
    """A function of one quantized tensor. Source: com.microsoft operators QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax,
    QLinearAveragePool and QLinearGlobalAveragePool.
    """

    @classmethod
    def from_onnx(cls, source):
        require(not source.integer("channels_last", 0), "channels_last is not supported")
        return cls(_INNER[source.op_type](source))


def _average_pool(source) -> Operator:
    source.expect_attributes("auto_pad", "ceil_mode", "channels_last", "count_include_pad", "kernel_shape", "pads", "strides")
    return AvgPooling.of(source)


def _softmax(source) -> Operator:
    source.expect_attributes("axis", "opset")
    rank, old = source.input(0).rank, source.integer("opset", 13) < 13
    axis = source.axis("axis", 1 if old else -1, rank)
    return Softmax(axis, old and axis != rank - 1)


def _leaky_relu(source) -> Operator:
    source.expect_attributes("alpha")
    return LeakyReLU(source.real("alpha", float(numpy.float32(0.01))))


_INNER = {
    "QLinearAveragePool": _average_pool,
    "QLinearGlobalAveragePool": lambda source: GlobalAveragePooling(),
    "QLinearLeakyRelu": _leaky_relu,
    "QLinearSigmoid": lambda source: Sigmoid(),
    "QLinearSoftmax": _softmax,
}


@operator("com.microsoft::QLinearConcat")
class QLinearConcat(QLinear):
    """Quantized tensors one after another. Source: com.microsoft operator QLinearConcat."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        count, rest = divmod(len(source.input_names) - 2, 3)
        require(count > 0 and rest == 0, f"{len(source.input_names)} inputs")
        return cls(
            Concat(source.axis("axis", 0, source.input(2).rank)),
            tuple((2 + 3 * k, 3 + 3 * k, 4 + 3 * k) for k in range(count)),
            (0, 1),
        )


@operator("com.microsoft::QGemm")
class QGemm(Operator):
    """Matrix product of quantized tensors with an int32 addend. Inputs: A, sa, a0, B, sb, b0, C, sy, y0.

    Source: com.microsoft operator QGemm.
    """

    folds: ClassVar = False

    inner: Gemm = Gemm()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha", "transA", "transB")
        require(source.real("alpha", 1.0) == 1.0, "alpha other than 1 is not supported")
        require(len(source.input_names) == 9, "a result in float32 (no y_scale) is not supported")
        return cls(Gemm(1.0, 1.0, bool(source.integer("transA", 0)), bool(source.integer("transB", 0))))

    def infer(self, inputs):
        for place in (1, 2, 7, 8):
            dims = list(inputs[place].dims)
            require(inputs[place].elements == 1, f"input {place} has the dims {dims}, wants one number")
        (found,) = self.inner.infer((inputs[0], inputs[3], *([inputs[6]] if inputs[6] is not None else ())))
        return (TensorType(found.dims, inputs[8].dtype),)

    def forward(self, first, first_scale, first_zero, second, second_scale, second_zero, third, scale, zero_point):
        real = [
            (values.astype(numpy.float64) - zero.astype(numpy.float64))
            for values, zero in ((first, first_zero), (second, second_zero))
        ]
        sums = self.inner.forward(*real) + (0 if third is None else third.astype(numpy.float64))
        factors = numpy.float32(first_scale) * numpy.float32(second_scale) / numpy.float32(scale)
        limits = numpy.iinfo(zero_point.dtype)
        levels = numpy.rint(sums.astype(numpy.float32) * factors).astype(numpy.float64) + int(zero_point.reshape(()))
        return numpy.clip(levels, limits.min, limits.max).astype(zero_point.dtype)

    def forward_quantized(self, values, inputs, outputs):
        return (self.forward(*values),)
