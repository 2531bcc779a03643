# SPDX-License-Identifier: MIT
"""Operators that map each element by itself."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import operator


Unary = ElementWise  # for a moment: the name that recipes in the making import


@operator("Abs")
class Abs(ElementWise):
    """y = |x|. Source: ONNX operator Abs."""

    function: ClassVar = staticmethod(numpy.abs)


@operator("Neg")
class Neg(ElementWise):
    """y = -x. Source: ONNX operator Neg."""

    function: ClassVar = staticmethod(numpy.negative)


@operator("Sqrt")
class Sqrt(ElementWise):
    """y = square root of x, NaN below zero. Source: ONNX operator Sqrt."""

    function: ClassVar = staticmethod(numpy.sqrt)


@operator("Exp")
class Exp(ElementWise):
    """y = e^x. Source: ONNX operator Exp."""

    function: ClassVar = staticmethod(numpy.exp)


@operator("Log")
class Log(ElementWise):
    """y = natural logarithm of x. Source: ONNX operator Log."""

    function: ClassVar = staticmethod(numpy.log)


@operator("Floor")
class Floor(ElementWise):
    """The largest integer that is not above x. Source: ONNX operator Floor."""

    function: ClassVar = staticmethod(numpy.floor)


@operator("Ceil")
class Ceil(ElementWise):
    """The smallest integer that is not below x. Source: ONNX operator Ceil."""

    function: ClassVar = staticmethod(numpy.ceil)


@operator("Round")
class Round(ElementWise):
    """The nearest integer, ties to even. Source: ONNX operator Round."""

    function: ClassVar = staticmethod(numpy.rint)


@operator("Reciprocal")
class Reciprocal(ElementWise):
    """y = 1 / x. Source: ONNX operator Reciprocal."""

    function: ClassVar = staticmethod(lambda data: 1.0 / data)


@operator("Erf")
class Erf(ElementWise):
    """The error function. Source: ONNX operator Erf."""

    function: ClassVar = staticmethod(numpy.vectorize(math.erf, otypes=[numpy.float64]))


@operator("Not")
class Not(ElementWise):
    """Logical not. Source: ONNX operator Not."""

    function: ClassVar = staticmethod(numpy.logical_not)


@operator("Sign")
class Sign(ElementWise):
    """-1, 0 or 1, as x is negative, zero or positive. Source: ONNX operator Sign."""

    function: ClassVar = staticmethod(numpy.sign)
