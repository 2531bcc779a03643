# SPDX-License-Identifier: MIT
"""Further activation functions: each element by itself."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.operators.base import require
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.unary import Erf


def _sigmoid(data: numpy.ndarray) -> numpy.ndarray:
    """Returns 1 / (1 + e^-x), computed without overflow."""
    small = numpy.exp(-numpy.abs(data))
    return numpy.where(data >= 0, 1, small) / (1 + small)


@operator("Celu")
class Celu(ElementWise):
    """y = max(0, x) + min(0, alpha * (e^(x / alpha) - 1)). Source: ONNX operator Celu."""

    alpha: float = attribute(1.0, accepts=lambda alpha: alpha != 0)

    def forward(self, data):
        return numpy.maximum(data, 0) + numpy.minimum(0, self.alpha * numpy.expm1(data / self.alpha))

    def derivative(self, data, result):
        return numpy.where(data > 0, 1, numpy.exp(numpy.minimum(data, 0) / self.alpha))


@operator("Selu")
class Selu(ElementWise):
    """y = gamma * x for x > 0, else gamma * alpha * (e^x - 1). Source: ONNX operator Selu."""

    alpha: float = attribute(1.67326319217681884765625)
    gamma: float = attribute(1.05070102214813232421875)

    def forward(self, data):
        return self.gamma * numpy.where(data > 0, data, self.alpha * numpy.expm1(numpy.minimum(data, 0)))

    def derivative(self, data, result):
        return self.gamma * numpy.where(data > 0, 1, self.alpha * numpy.exp(numpy.minimum(data, 0)))


@operator("Softplus")
class Softplus(ElementWise):
    """y = ln(1 + e^x). Source: ONNX operator Softplus."""

    def forward(self, data):
        return numpy.logaddexp(data, 0)

    def derivative(self, data, result):
        return _sigmoid(data)


@operator("Softsign")
class Softsign(ElementWise):
    """y = x / (1 + |x|). Source: ONNX operator Softsign."""

    by_steps: ClassVar = True

    def forward(self, data):
        return 1 / (1 + numpy.abs(data)) * data

    def derivative(self, data, result):
        return 1 / (1 + numpy.abs(data)) ** 2


@operator("Mish")
class Mish(ElementWise):
    """y = x * tanh(ln(1 + e^x)). Source: ONNX operator Mish."""

    def forward(self, data):
        return data * numpy.tanh(numpy.logaddexp(data, 0))

    def derivative(self, data, result):
        steep = numpy.tanh(numpy.logaddexp(data, 0))
        return steep + data * (1 - steep * steep) * _sigmoid(data)


@operator("Gelu")
class Gelu(ElementWise):
    """y = x / 2 * (1 + erf(x / sqrt(2))), or with tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).

    Source: ONNX operator Gelu.
    """

    with_tanh: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("approximate")
        kind = source.text("approximate", "none")
        require(kind in ("none", "tanh"), f"approximate {kind!r} is unknown")
        return cls(kind == "tanh")

    def forward(self, data):
        if self.with_tanh:
            return data / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (data + 0.044715 * data**3)))
        return data / 2 * (1 + Erf.function(data / math.sqrt(2)))

    def derivative(self, data, result):
        if self.with_tanh:
            slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * data**2)
            steep = numpy.tanh(math.sqrt(2 / math.pi) * (data + 0.044715 * data**3))
            return (1 + steep) / 2 + data / 2 * (1 - steep * steep) * slope
        density = numpy.exp(-data * data / 2) / math.sqrt(2 * math.pi)
        return (1 + Erf.function(data / math.sqrt(2))) / 2 + data * density

    @classmethod
    def examples(cls):
        return cls(), cls(with_tanh=True)


@operator("Shrink")
class Shrink(ElementWise):
    """y = x - bias above lambd, x + bias below -lambd, else 0. Source: ONNX operator Shrink."""

    kinks: ClassVar = (-0.5, 0.5)

    bias: float = attribute(0.0)
    lambd: float = attribute(0.5)

    def forward(self, data):
        return numpy.where(data < -self.lambd, data + self.bias, numpy.where(data > self.lambd, data - self.bias, 0))

    def derivative(self, data, result):
        return numpy.abs(data) > self.lambd


@operator("Swish")
class Swish(ElementWise):
    """y = x / (1 + e^(-alpha * x)). Source: ONNX operator Swish."""

    alpha: float = attribute(1.0)

    def forward(self, data):
        return data * _sigmoid(self.alpha * data)

    def derivative(self, data, result):
        share = _sigmoid(self.alpha * data)
        return share + self.alpha * data * share * (1 - share)

    @classmethod
    def examples(cls):
        return cls(), cls(alpha=1.7)


@operator("ThresholdedRelu")
class ThresholdedRelu(ElementWise):
    """y = x above alpha, else 0. Source: ONNX operator ThresholdedRelu."""

    kinks: ClassVar = (1.0,)

    alpha: float = attribute(1.0)

    def forward(self, data):
        return numpy.where(data > self.alpha, data, 0)

    def derivative(self, data, result):
        return data > self.alpha
