# SPDX-License-Identifier: MIT
"""Activation functions."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims, summed_to
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.sample import Sample, numbers


@operator("Relu")
class ReLU(ElementWise):
    """y = max(x, 0). Source: ONNX operator Relu."""

    def forward(self, data):
        return numpy.maximum(data, 0)

    def derivative(self, data, result):
        return data > 0


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

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        if data.dtype.kind == "f":
            return self.clamp(data)
        limits = numpy.iinfo(data.dtype)
        # numpy refuses bounds that the type cannot hold.
        return numpy.minimum(numpy.maximum(data, _within(self.minimum, limits)), _within(self.maximum, limits))

    def backward(self, gradients, inputs, outputs):
        return (self.unclamp(gradients[0], outputs[0]),)

    @classmethod
    def samples(cls):
        return (Sample(cls(minimum=-0.7, maximum=0.9), (numbers(2, 7, kinks=(-0.7, 0.9)),)),)


class ClipBetween(Operator):
    """y = min(max(x, low), high) with bounds that are computed at run time; each may be absent. Clip becomes it."""

    def infer(self, inputs):
        data, *bounds = inputs
        for name, tensor in zip(("low", "high"), bounds):
            require(tensor is None or tensor.elements == 1, f"the bound {name} has several values, wants one")
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data, low=None, high=None):
        result = data if low is None else numpy.maximum(data, low.reshape(()))
        return result if high is None else numpy.minimum(result, high.reshape(()))

    def backward(self, gradients, inputs, outputs):
        (gradient,), bounds = gradients, inputs[1:]
        held = [gradient * (outputs[0] == bound) if bound is not None else 0 for bound in bounds]
        by_bounds = (None if bound is None else part.sum().reshape(bound.shape) for part, bound in zip(held, bounds))
        return gradient - sum(held), *by_bounds

    @classmethod
    def samples(cls):
        low, high, data = numpy.array(-0.7), numpy.array(0.9), numbers(2, 7, kinks=(-0.7, 0.9))
        return tuple(Sample(cls(), (data, *bounds)) for bounds in ((low, high), (None, high), (low,)))


def _bound(source, index: int, default: float) -> float:
    values = source.optional_constant(index)
    if values is None:
        return default
    require(values.size == 1, f"bound {index} has {values.size} values, wants one")
    return values.reshape(()).item()


def _within(bound: float, limits) -> int:
    return int(min(max(bound, limits.min), limits.max))


@operator("LeakyRelu")
class LeakyReLU(ElementWise):
    """y = x for x >= 0, else alpha * x. Source: ONNX operator LeakyRelu."""

    by_steps: ClassVar = True

    alpha: float = attribute(0.01)

    def forward(self, data):
        return numpy.where(data < 0, data * self.alpha, data)

    def derivative(self, data, result):
        return numpy.where(data < 0, self.alpha, 1)


@operator("PRelu")
class PReLU(Operator):
    """y = x for x >= 0, else slope * x; the slope broadcasts to the data. Source: ONNX operator PRelu."""

    def infer(self, inputs):
        data, slope = inputs
        require(broadcast_dims(data.dims, slope.dims) == data.dims, f"the slope {slope.dims} does not broadcast to {data.dims}")
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last, len(inputs))

    def forward(self, data, slope):
        return numpy.where(data < 0, data * slope, data)

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data, slope) = gradients, inputs
        return gradient * numpy.where(data < 0, slope, 1), summed_to(gradient * numpy.minimum(data, 0), slope.shape)

    @classmethod
    def samples(cls):
        return tuple(Sample(cls(), (numbers(2, 3, 4), numbers(*dims, seed=1))) for dims in ((1,), (3, 1), (2, 3, 4)))


@operator("Elu")
class Elu(ElementWise):
    """y = x for x >= 0, else alpha * (e^x - 1). Source: ONNX operator Elu."""

    alpha: float = attribute(1.0)

    def forward(self, data):
        return numpy.where(data < 0, self.alpha * numpy.expm1(numpy.minimum(data, 0)), data)

    def derivative(self, data, result):
        return numpy.where(data < 0, self.alpha * numpy.exp(numpy.minimum(data, 0)), 1)


@operator("Sigmoid")
class Sigmoid(ElementWise):
    """y = 1 / (1 + e^-x). Source: ONNX operator Sigmoid."""

    def forward(self, data):
        small = numpy.exp(-numpy.abs(data))  # never overflows
        return numpy.where(data >= 0, 1 / (1 + small), small / (1 + small))

    def derivative(self, data, result):
        return result * (1 - result)


@operator("Tanh")
class Tanh(ElementWise):
    """y = tanh(x). Source: ONNX operator Tanh."""

    function: ClassVar = staticmethod(numpy.tanh)

    def derivative(self, data, result):
        return 1 - result * result


@operator("HardSigmoid")
class HardSigmoid(ElementWise):
    """y = max(0, min(1, alpha * x + beta)). Source: ONNX operator HardSigmoid."""

    by_steps: ClassVar = True
    domain: ClassVar = (-4.0, 4.0)
    kinks: ClassVar = (-2.5, 2.5)

    alpha: float = attribute(0.2)
    beta: float = attribute(0.5)

    def forward(self, data):
        return numpy.clip(self.alpha * data + self.beta, 0, 1)

    def derivative(self, data, result):
        return numpy.where((result > 0) & (result < 1), self.alpha, 0)


@operator("HardSwish")
class HardSwish(ElementWise):
    """y = x * max(0, min(1, x / 6 + 1/2)). Source: ONNX operator HardSwish."""

    by_steps: ClassVar = True
    domain: ClassVar = (-4.0, 4.0)
    kinks: ClassVar = (-3.0, 3.0)

    def forward(self, data):
        return data * numpy.clip(data / 6 + 0.5, 0, 1)

    def derivative(self, data, result):
        return numpy.clip(data / 6 + 0.5, 0, 1) + numpy.where(numpy.abs(data) < 3, data / 6, 0)
