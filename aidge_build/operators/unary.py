# SPDX-License-Identifier: MIT
"""Operators that map each element by itself."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import operator


@operator("Abs")
class Abs(ElementWise):
    """y = |x|. Source: ONNX operator Abs."""

    function: ClassVar = staticmethod(numpy.abs)

    def derivative(self, data, result):
        return numpy.sign(data)


@operator("Neg")
class Neg(ElementWise):
    """y = -x. Source: ONNX operator Neg.

    `stored`: under the contract `double` the stored value changes its sign, whatever its zero point is, as TensorFlow Lite's NEG.
    """

    stored: bool = False

    function: ClassVar = staticmethod(numpy.negative)

    def derivative(self, data, result):
        return -1.0


@operator("Sqrt")
class Sqrt(ElementWise):
    """y = square root of x, NaN below zero. Source: ONNX operator Sqrt."""

    function: ClassVar = staticmethod(numpy.sqrt)
    domain: ClassVar = (0.2, 3.0)

    def derivative(self, data, result):
        return 0.5 / result


@operator("Exp")
class Exp(ElementWise):
    """y = e^x. Source: ONNX operator Exp."""

    function: ClassVar = staticmethod(numpy.exp)

    def derivative(self, data, result):
        return result


@operator("Log")
class Log(ElementWise):
    """y = natural logarithm of x. Source: ONNX operator Log."""

    function: ClassVar = staticmethod(numpy.log)
    domain: ClassVar = (0.2, 3.0)

    def derivative(self, data, result):
        return 1 / data


@operator("Floor")
class Floor(ElementWise):
    """The largest integer that is not above x. Source: ONNX operator Floor."""

    function: ClassVar = staticmethod(numpy.floor)
    domain: ClassVar = (-2.0, 2.0)
    kinks: ClassVar = (-2, -1, 0, 1, 2)

    def derivative(self, data, result):
        return 0.0


@operator("Ceil")
class Ceil(ElementWise):
    """The smallest integer that is not below x. Source: ONNX operator Ceil."""

    function: ClassVar = staticmethod(numpy.ceil)
    domain: ClassVar = (-2.0, 2.0)
    kinks: ClassVar = (-2, -1, 0, 1, 2)

    def derivative(self, data, result):
        return 0.0


@operator("Round")
class Round(ElementWise):
    """The nearest integer, ties to even. Source: ONNX operator Round."""

    function: ClassVar = staticmethod(numpy.rint)
    domain: ClassVar = (-2.0, 2.0)
    kinks: ClassVar = (-1.5, -0.5, 0.5, 1.5)

    def derivative(self, data, result):
        return 0.0


@operator("Reciprocal")
class Reciprocal(ElementWise):
    """y = 1 / x. Source: ONNX operator Reciprocal."""

    function: ClassVar = staticmethod(lambda data: 1.0 / data)
    domain: ClassVar = (0.3, 2.0)

    def derivative(self, data, result):
        return -result * result


@operator("Erf")
class Erf(ElementWise):
    """The error function. Source: ONNX operator Erf."""

    function: ClassVar = staticmethod(numpy.vectorize(math.erf, otypes=[numpy.float64]))

    def derivative(self, data, result):
        return 2 / math.sqrt(math.pi) * numpy.exp(-data * data)


@operator("Not")
class Not(ElementWise):
    """Logical not. Source: ONNX operator Not."""

    function: ClassVar = staticmethod(numpy.logical_not)

    @classmethod
    def sample_values(cls, *dims):
        return super().sample_values(*dims) > 0


@operator("Sign")
class Sign(ElementWise):
    """-1, 0 or 1, as x is negative, zero or positive. Source: ONNX operator Sign."""

    function: ClassVar = staticmethod(numpy.sign)

    def derivative(self, data, result):
        return 0.0
