# SPDX-License-Identifier: MIT
"""Trigonometric and hyperbolic functions of each element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.operators.kinds import ElementWise

@dataclass(frozen=True)
class Acos(ElementWise):
    """The angle in 0..pi whose cosine is x. Source: ONNX operator Acos."""

    onnx_names: ClassVar = ("Acos",)
    function: ClassVar = staticmethod(numpy.arccos)


@dataclass(frozen=True)
class Acosh(ElementWise):
    """The inverse of cosh for x >= 1. Source: ONNX operator Acosh."""

    onnx_names: ClassVar = ("Acosh",)
    function: ClassVar = staticmethod(numpy.arccosh)


@dataclass(frozen=True)
class Asin(ElementWise):
    """The angle in -pi/2..pi/2 whose sine is x. Source: ONNX operator Asin."""

    onnx_names: ClassVar = ("Asin",)
    function: ClassVar = staticmethod(numpy.arcsin)


@dataclass(frozen=True)
class Asinh(ElementWise):
    """The inverse of sinh. Source: ONNX operator Asinh."""

    onnx_names: ClassVar = ("Asinh",)
    function: ClassVar = staticmethod(numpy.arcsinh)


@dataclass(frozen=True)
class Atan(ElementWise):
    """The angle in -pi/2..pi/2 whose tangent is x. Source: ONNX operator Atan."""

    onnx_names: ClassVar = ("Atan",)
    function: ClassVar = staticmethod(numpy.arctan)


@dataclass(frozen=True)
class Atanh(ElementWise):
    """The inverse of tanh. Source: ONNX operator Atanh."""

    onnx_names: ClassVar = ("Atanh",)
    function: ClassVar = staticmethod(numpy.arctanh)


@dataclass(frozen=True)
class Cos(ElementWise):
    """y = cos(x), x in radians. Source: ONNX operator Cos."""

    onnx_names: ClassVar = ("Cos",)
    function: ClassVar = staticmethod(numpy.cos)


@dataclass(frozen=True)
class Cosh(ElementWise):
    """y = cosh(x). Source: ONNX operator Cosh."""

    onnx_names: ClassVar = ("Cosh",)
    function: ClassVar = staticmethod(numpy.cosh)


@dataclass(frozen=True)
class Sin(ElementWise):
    """y = sin(x), x in radians. Source: ONNX operator Sin."""

    onnx_names: ClassVar = ("Sin",)
    function: ClassVar = staticmethod(numpy.sin)


@dataclass(frozen=True)
class Sinh(ElementWise):
    """y = sinh(x). Source: ONNX operator Sinh."""

    onnx_names: ClassVar = ("Sinh",)
    function: ClassVar = staticmethod(numpy.sinh)


@dataclass(frozen=True)
class Tan(ElementWise):
    """y = tan(x), x in radians. Source: ONNX operator Tan."""

    onnx_names: ClassVar = ("Tan",)
    function: ClassVar = staticmethod(numpy.tan)
