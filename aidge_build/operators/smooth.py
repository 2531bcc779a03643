# SPDX-License-Identifier: MIT
"""Further activation functions: each element by itself."""

from __future__ import annotations

import math

import numpy

from aidge_build.operators.base import require
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import operator
from aidge_build.operators.unary import Erf


@operator("Celu")
class Celu(ElementWise):
    """y = max(0, x) + min(0, alpha * (e^(x / alpha) - 1)). Source: ONNX operator Celu."""

    alpha: float = 1.0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha")
        alpha = source.real("alpha", 1.0)
        require(alpha != 0, "alpha is 0")
        return cls(alpha)

    def forward(self, data):
        return numpy.maximum(data, 0) + numpy.minimum(0, self.alpha * numpy.expm1(data / self.alpha))


@operator("Selu")
class Selu(ElementWise):
    """y = gamma * x for x > 0, else gamma * alpha * (e^x - 1). Source: ONNX operator Selu."""

    alpha: float = float(numpy.float32(1.67326319217681884765625))
    gamma: float = float(numpy.float32(1.05070102214813232421875))

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha", "gamma")
        return cls(source.real("alpha", cls.alpha), source.real("gamma", cls.gamma))

    def forward(self, data):
        return self.gamma * numpy.where(data > 0, data, self.alpha * numpy.expm1(numpy.minimum(data, 0)))


@operator("Softplus")
class Softplus(ElementWise):
    """y = ln(1 + e^x). Source: ONNX operator Softplus."""

    def forward(self, data):
        return numpy.logaddexp(data, 0)


@operator("Softsign")
class Softsign(ElementWise):
    """y = x / (1 + |x|). Source: ONNX operator Softsign."""

    def forward(self, data):
        return data / (1 + numpy.abs(data))


@operator("Mish")
class Mish(ElementWise):
    """y = x * tanh(ln(1 + e^x)). Source: ONNX operator Mish."""

    def forward(self, data):
        return data * numpy.tanh(numpy.logaddexp(data, 0))


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
            return data / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (data + 0.044715 * data ** 3)))
        return data / 2 * (1 + Erf.function(data / math.sqrt(2)))


@operator("Shrink")
class Shrink(ElementWise):
    """y = x - bias above lambd, x + bias below -lambd, else 0. Source: ONNX operator Shrink."""

    bias: float = 0.0
    lambd: float = 0.5

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("bias", "lambd")
        return cls(source.real("bias", 0.0), source.real("lambd", 0.5))

    def forward(self, data):
        return numpy.where(data < -self.lambd, data + self.bias, numpy.where(data > self.lambd, data - self.bias, 0))


@operator("Swish")
class Swish(ElementWise):
    """y = x / (1 + e^(-alpha * x)). Source: ONNX operator Swish."""

    alpha: float = 1.0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha")
        return cls(source.real("alpha", 1.0))

    def forward(self, data):
        small = numpy.exp(-numpy.abs(self.alpha * data))  # never overflows
        return data * numpy.where(self.alpha * data >= 0, 1, small) / (1 + small)


@operator("ThresholdedRelu")
class ThresholdedRelu(ElementWise):
    """y = x above alpha, else 0. Source: ONNX operator ThresholdedRelu."""

    alpha: float = 1.0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha")
        return cls(source.real("alpha", 1.0))

    def forward(self, data):
        return numpy.where(data > self.alpha, data, 0)
