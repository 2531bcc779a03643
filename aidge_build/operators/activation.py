# SPDX-License-Identifier: MIT
"""Activation functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import operator


@operator("Relu")
class ReLU(ElementWise):
    """y = max(x, 0). Source: ONNX operator Relu."""

    def forward(self, data):
        return numpy.maximum(data, 0)


@operator("Clip")
class Clip(Activated):
    """y = min(max(x, minimum), maximum); the bounds are constants. Source: ONNX operator Clip."""

    @classmethod
    def from_onnx(cls, source):
        if source.opset < 11:
            source.expect_attributes("min", "max")
            low, high = source.real("min", -math.inf), source.real("max", math.inf)
        elif any(tensor is not None and not tensor.is_constant for tensor in map(source.optional_input, (1, 2))):
            source.expect_attributes()
            return ClipBetween(), source.input_names
        else:
            source.expect_attributes()
            low, high = _bound(source, 1, -math.inf), _bound(source, 2, math.inf)
        require(not (math.isnan(low) or math.isnan(high)), f"the bounds {low} and {high} are not numbers")
        return cls(minimum=low, maximum=high), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data):
        if data.dtype.kind == "f":
            return self.clamp(data)
        limits = numpy.iinfo(data.dtype)
        # numpy refuses bounds that the type cannot hold.
        return numpy.minimum(numpy.maximum(data, _within(self.minimum, limits)), _within(self.maximum, limits))


@dataclass(frozen=True)
class ClipBetween(Operator):
    """y = min(max(x, low), high) with bounds that are computed at run time; each may be absent. Clip becomes it."""

    def infer(self, inputs):
        data, *bounds = inputs
        for name, tensor in zip(("low", "high"), bounds):
            require(tensor is None or tensor.elements == 1, f"the bound {name} has several values, wants one")
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data, low=None, high=None):
        result = data if low is None else numpy.maximum(data, low.reshape(()))
        return result if high is None else numpy.minimum(result, high.reshape(()))


def _bound(source, index: int, default: float) -> float:
    values = source.optional_constant(index)
    if values is None:
        return default
    require(values.size == 1, f"bound {index} has {values.size} values, wants one")
    return values.reshape(()).item()


def _within(bound: float, limits) -> int:
    return int(min(max(bound, limits.min), limits.max))


@operator("LeakyRelu")
class LeakyReLU(Operator):
    """y = x for x >= 0, else alpha * x. Source: ONNX operator LeakyRelu."""

    alpha: float = 0.01

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha")
        return cls(source.real("alpha", float(numpy.float32(0.01))))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data):
        return numpy.where(data < 0, data * self.alpha, data)


@operator("PRelu")
class PReLU(Operator):
    """y = x for x >= 0, else slope * x; the slope broadcasts to the data. Source: ONNX operator PRelu."""

    def infer(self, inputs):
        data, slope = inputs
        require(broadcast_dims(data.dims, slope.dims) == data.dims, f"the slope {slope.dims} does not broadcast to {data.dims}")
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data, slope):
        return numpy.where(data < 0, data * slope, data)


@operator("Elu")
class Elu(Operator):
    """y = x for x >= 0, else alpha * (e^x - 1). Source: ONNX operator Elu."""

    alpha: float = 1.0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha")
        return cls(source.real("alpha", 1.0))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data):
        return numpy.where(data < 0, self.alpha * numpy.expm1(numpy.minimum(data, 0)), data)


@operator("Sigmoid")
class Sigmoid(ElementWise):
    """y = 1 / (1 + e^-x). Source: ONNX operator Sigmoid."""

    def forward(self, data):
        small = numpy.exp(-numpy.abs(data))  # never overflows
        return numpy.where(data >= 0, 1 / (1 + small), small / (1 + small))


@operator("Tanh")
class Tanh(ElementWise):
    """y = tanh(x). Source: ONNX operator Tanh."""

    function: ClassVar = staticmethod(numpy.tanh)


@operator("HardSigmoid")
class HardSigmoid(Operator):
    """y = max(0, min(1, alpha * x + beta)). Source: ONNX operator HardSigmoid."""

    alpha: float = float(numpy.float32(0.2))
    beta: float = 0.5

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha", "beta")
        return cls(source.real("alpha", cls.alpha), source.real("beta", cls.beta))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data):
        return numpy.clip(self.alpha * data + self.beta, 0, 1)


@operator("HardSwish")
class HardSwish(ElementWise):
    """y = x * max(0, min(1, x / 6 + 1/2)). Source: ONNX operator HardSwish."""

    def forward(self, data):
        return data * numpy.clip(data / 6 + 0.5, 0, 1)
