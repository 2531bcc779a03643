# SPDX-License-Identifier: MIT
"""Trigonometric and hyperbolic functions of each element."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import operator

@operator("Acos")
class Acos(ElementWise):
    """The angle in 0..pi whose cosine is x. Source: ONNX operator Acos."""

    function: ClassVar = staticmethod(numpy.arccos)


@operator("Acosh")
class Acosh(ElementWise):
    """The inverse of cosh for x >= 1. Source: ONNX operator Acosh."""

    function: ClassVar = staticmethod(numpy.arccosh)


@operator("Asin")
class Asin(ElementWise):
    """The angle in -pi/2..pi/2 whose sine is x. Source: ONNX operator Asin."""

    function: ClassVar = staticmethod(numpy.arcsin)


@operator("Asinh")
class Asinh(ElementWise):
    """The inverse of sinh. Source: ONNX operator Asinh."""

    function: ClassVar = staticmethod(numpy.arcsinh)


@operator("Atan")
class Atan(ElementWise):
    """The angle in -pi/2..pi/2 whose tangent is x. Source: ONNX operator Atan."""

    function: ClassVar = staticmethod(numpy.arctan)


@operator("Atanh")
class Atanh(ElementWise):
    """The inverse of tanh. Source: ONNX operator Atanh."""

    function: ClassVar = staticmethod(numpy.arctanh)


@operator("Cos")
class Cos(ElementWise):
    """y = cos(x), x in radians. Source: ONNX operator Cos."""

    function: ClassVar = staticmethod(numpy.cos)


@operator("Cosh")
class Cosh(ElementWise):
    """y = cosh(x). Source: ONNX operator Cosh."""

    function: ClassVar = staticmethod(numpy.cosh)


@operator("Sin")
class Sin(ElementWise):
    """y = sin(x), x in radians. Source: ONNX operator Sin."""

    function: ClassVar = staticmethod(numpy.sin)


@operator("Sinh")
class Sinh(ElementWise):
    """y = sinh(x). Source: ONNX operator Sinh."""

    function: ClassVar = staticmethod(numpy.sinh)


@operator("Tan")
class Tan(ElementWise):
    """y = tan(x), x in radians. Source: ONNX operator Tan."""

    function: ClassVar = staticmethod(numpy.tan)
