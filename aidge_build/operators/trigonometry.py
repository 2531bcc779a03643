# SPDX-License-Identifier: MIT
"""Trigonometric and hyperbolic functions of each element."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import operator


@operator("Acos")
class Acos(ElementWise):
    """The angle in 0..pi with the cosine x. Source: ONNX operator Acos."""

    function: ClassVar = staticmethod(numpy.arccos)
    domain: ClassVar = (-0.9, 0.9)

    def derivative(self, data, result):
        return -1 / numpy.sqrt(1 - data * data)


@operator("Acosh")
class Acosh(ElementWise):
    """The inverse of cosh for x >= 1. Source: ONNX operator Acosh."""

    function: ClassVar = staticmethod(numpy.arccosh)
    domain: ClassVar = (1.2, 3.0)

    def derivative(self, data, result):
        return 1 / numpy.sqrt(data * data - 1)


@operator("Asin")
class Asin(ElementWise):
    """The angle in -pi/2..pi/2 with the sine x. Source: ONNX operator Asin."""

    function: ClassVar = staticmethod(numpy.arcsin)
    domain: ClassVar = (-0.9, 0.9)

    def derivative(self, data, result):
        return 1 / numpy.sqrt(1 - data * data)


@operator("Asinh")
class Asinh(ElementWise):
    """The inverse of sinh. Source: ONNX operator Asinh."""

    function: ClassVar = staticmethod(numpy.arcsinh)

    def derivative(self, data, result):
        return 1 / numpy.sqrt(data * data + 1)


@operator("Atan")
class Atan(ElementWise):
    """The angle in -pi/2..pi/2 with the tangent x. Source: ONNX operator Atan."""

    function: ClassVar = staticmethod(numpy.arctan)

    def derivative(self, data, result):
        return 1 / (1 + data * data)


@operator("Atanh")
class Atanh(ElementWise):
    """The inverse of tanh. Source: ONNX operator Atanh."""

    function: ClassVar = staticmethod(numpy.arctanh)
    domain: ClassVar = (-0.9, 0.9)

    def derivative(self, data, result):
        return 1 / (1 - data * data)


@operator("Cos")
class Cos(ElementWise):
    """y = cos(x), x in radians. Source: ONNX operator Cos."""

    function: ClassVar = staticmethod(numpy.cos)

    def derivative(self, data, result):
        return -numpy.sin(data)


@operator("Cosh")
class Cosh(ElementWise):
    """y = cosh(x). Source: ONNX operator Cosh."""

    function: ClassVar = staticmethod(numpy.cosh)

    def derivative(self, data, result):
        return numpy.sinh(data)


@operator("Sin")
class Sin(ElementWise):
    """y = sin(x), x in radians. Source: ONNX operator Sin."""

    function: ClassVar = staticmethod(numpy.sin)

    def derivative(self, data, result):
        return numpy.cos(data)


@operator("Sinh")
class Sinh(ElementWise):
    """y = sinh(x). Source: ONNX operator Sinh."""

    function: ClassVar = staticmethod(numpy.sinh)

    def derivative(self, data, result):
        return numpy.cosh(data)


@operator("Tan")
class Tan(ElementWise):
    """y = tan(x), x in radians. Source: ONNX operator Tan."""

    function: ClassVar = staticmethod(numpy.tan)
    domain: ClassVar = (-1.2, 1.2)

    def derivative(self, data, result):
        return 1 + result * result
