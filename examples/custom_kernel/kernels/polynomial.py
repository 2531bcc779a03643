# SPDX-License-Identifier: MIT
"""The operator `com.example::Polynomial`, what it means in numpy, and its kernel in C."""

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise as ElementWiseKernel
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import attribute, operator


@operator("com.example::Polynomial")
class Polynomial(ElementWise):
    """y = c[0] + c[1] x + c[2] x^2 + ..., the linearization of a sensor."""

    coefficients: tuple[float, ...] = attribute((0.0, 1.0), accepts=lambda numbers: len(numbers) >= 1)

    def forward(self, data):
        result = numpy.zeros_like(data)
        for number in reversed(self.coefficients):
            result = result * data + data.dtype.type(number)
        return result

    def derivative(self, data, result):
        found = numpy.zeros_like(data)
        for power in range(len(self.coefficients) - 1, 0, -1):
            found = found * data + power * self.coefficients[power]
        return found


@kernel("Polynomial", ImplSpec((IOSpec(DType.float32, SAME),), (IOSpec(DType.float32, SAME),)))
class PolynomialFloat32(ElementWiseKernel):
    def call(self):
        numbers = Constant("coefficients", numpy.array(self.operator.coefficients, numpy.float32))
        sizes = Literal(len(self.operator.coefficients)), Literal(self.outputs[0].elements)
        return Call("sensor_polynomial", ("polynomial.h",), (Input(), Output(), numbers, *sizes))
