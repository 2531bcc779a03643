# SPDX-License-Identifier: MIT
"""Operators that map each element by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.operators.kinds import ElementWise


Unary = ElementWise  # for a moment: the name that recipes in the making import


@dataclass(frozen=True)
class Abs(ElementWise):
    """y = |x|. Source: ONNX operator Abs."""

    onnx_names: ClassVar = ("Abs",)
    function: ClassVar = staticmethod(numpy.abs)


@dataclass(frozen=True)
class Neg(ElementWise):
    """y = -x. Source: ONNX operator Neg."""

    onnx_names: ClassVar = ("Neg",)
    function: ClassVar = staticmethod(numpy.negative)


@dataclass(frozen=True)
class Sqrt(ElementWise):
    """y = square root of x, NaN below zero. Source: ONNX operator Sqrt."""

    onnx_names: ClassVar = ("Sqrt",)
    function: ClassVar = staticmethod(numpy.sqrt)


@dataclass(frozen=True)
class Exp(ElementWise):
    """y = e^x. Source: ONNX operator Exp."""

    onnx_names: ClassVar = ("Exp",)
    function: ClassVar = staticmethod(numpy.exp)


@dataclass(frozen=True)
class Log(ElementWise):
    """y = natural logarithm of x. Source: ONNX operator Log."""

    onnx_names: ClassVar = ("Log",)
    function: ClassVar = staticmethod(numpy.log)


@dataclass(frozen=True)
class Floor(ElementWise):
    """The largest integer that is not above x. Source: ONNX operator Floor."""

    onnx_names: ClassVar = ("Floor",)
    function: ClassVar = staticmethod(numpy.floor)


@dataclass(frozen=True)
class Ceil(ElementWise):
    """The smallest integer that is not below x. Source: ONNX operator Ceil."""

    onnx_names: ClassVar = ("Ceil",)
    function: ClassVar = staticmethod(numpy.ceil)


@dataclass(frozen=True)
class Round(ElementWise):
    """The nearest integer, ties to even. Source: ONNX operator Round."""

    onnx_names: ClassVar = ("Round",)
    function: ClassVar = staticmethod(numpy.rint)


@dataclass(frozen=True)
class Reciprocal(ElementWise):
    """y = 1 / x. Source: ONNX operator Reciprocal."""

    onnx_names: ClassVar = ("Reciprocal",)
    function: ClassVar = staticmethod(lambda data: 1.0 / data)


@dataclass(frozen=True)
class Erf(ElementWise):
    """The error function. Source: ONNX operator Erf."""

    onnx_names: ClassVar = ("Erf",)
    function: ClassVar = staticmethod(numpy.vectorize(math.erf, otypes=[numpy.float64]))


@dataclass(frozen=True)
class Not(ElementWise):
    """Logical not. Source: ONNX operator Not."""

    onnx_names: ClassVar = ("Not",)
    function: ClassVar = staticmethod(numpy.logical_not)


@dataclass(frozen=True)
class Sign(ElementWise):
    """-1, 0 or 1, as x is negative, zero or positive. Source: ONNX operator Sign."""

    onnx_names: ClassVar = ("Sign",)
    function: ClassVar = staticmethod(numpy.sign)
