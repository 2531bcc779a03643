# SPDX-License-Identifier: MIT
"""Operators on two tensors, element by element, with numpy's broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims
from aidge_build.operators.kinds import Broadcast
from aidge_build.operators.register import operator


@dataclass(frozen=True)
class Arithmetic(Activated, Broadcast):
    """A binary operator whose result may be clamped (a fused activation)."""

    def forward(self, first, second):
        return self.clamp(type(self).function(first, second))


@operator("Add")
class Add(Arithmetic):
    """y = clamp(a + b). Source: ONNX operator Add."""

    function: ClassVar = staticmethod(numpy.add)


@operator("Sub")
class Sub(Arithmetic):
    """y = clamp(a - b). Source: ONNX operator Sub."""

    function: ClassVar = staticmethod(numpy.subtract)


@operator("Mul")
class Mul(Arithmetic):
    """y = clamp(a * b). Source: ONNX operator Mul."""

    function: ClassVar = staticmethod(numpy.multiply)


def _quotient(first: numpy.ndarray, second: numpy.ndarray) -> numpy.ndarray:
    """a / b; of integers the quotient rounded towards zero."""
    if first.dtype.kind == "f":
        return first / second
    require(bool((second != 0).all()), "an integer is divided by zero")
    floor = first // second
    if first.dtype.kind == "u":
        return floor
    below_zero = (first % second != 0) & ((first < 0) != (second < 0))
    return floor + below_zero.astype(first.dtype)


@operator("Div")
class Div(Arithmetic):
    """y = clamp(a / b); integers are divided towards zero. Source: ONNX operator Div."""

    function: ClassVar = staticmethod(_quotient)


@operator("Pow")
class Pow(Operator):
    """y = a ^ b in the type of a. Source: ONNX operator Pow."""

    def infer(self, inputs):
        base, exponent = inputs
        return (TensorType(broadcast_dims(base.dims, exponent.dims), base.dtype),)

    def forward(self, base, exponent):
        exact = base.dtype.kind in "iu" and exponent.dtype.kind in "iu" and bool((exponent >= 0).all())
        return numpy.power(base, exponent) if exact else numpy.power(base.astype(numpy.float64), exponent)


@operator("Mod")
class Mod(Broadcast):
    """The remainder: with the sign of b (fmod = 0, integers) or of a (fmod = 1). Source: ONNX operator Mod."""

    fmod: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("fmod")
        fmod = bool(source.integer("fmod", 0))
        require(fmod or source.opset >= 28 or not source.input(0).dtype.is_float, "fmod must be 1 for floating-point inputs")
        return cls(fmod)

    def forward(self, first, second):
        require(first.dtype.kind == "f" or bool((second != 0).all()), "an integer is divided by zero")
        return (numpy.fmod if self.fmod else numpy.mod)(first, second)


@dataclass(frozen=True)
class Comparison(Broadcast):
    """A binary operator with a truth value as result."""

    def result_type(self, dtype):
        return DType.bool


@operator("Equal")
class Equal(Comparison):
    """y = (a == b). Source: ONNX operator Equal."""

    function: ClassVar = staticmethod(numpy.equal)


@operator("Less")
class Less(Comparison):
    """y = (a < b). Source: ONNX operator Less."""

    function: ClassVar = staticmethod(numpy.less)


@operator("LessOrEqual")
class LessOrEqual(Comparison):
    """y = (a <= b). Source: ONNX operator LessOrEqual."""

    function: ClassVar = staticmethod(numpy.less_equal)


@operator("Greater")
class Greater(Comparison):
    """y = (a > b). Source: ONNX operator Greater."""

    function: ClassVar = staticmethod(numpy.greater)


@operator("GreaterOrEqual")
class GreaterOrEqual(Comparison):
    """y = (a >= b). Source: ONNX operator GreaterOrEqual."""

    function: ClassVar = staticmethod(numpy.greater_equal)


@operator("And")
class And(Comparison):
    """Logical and. Source: ONNX operator And."""

    function: ClassVar = staticmethod(numpy.logical_and)


@operator("Or")
class Or(Comparison):
    """Logical or. Source: ONNX operator Or."""

    function: ClassVar = staticmethod(numpy.logical_or)


@operator("Xor")
class Xor(Comparison):
    """Either a or b. Source: ONNX operator Xor."""

    function: ClassVar = staticmethod(numpy.logical_xor)


@dataclass(frozen=True)
class Variadic(Operator):
    """y = function(a, b, ...) over one or more tensors."""

    function: ClassVar[Callable]

    def infer(self, inputs):
        require(all(tensor is not None for tensor in inputs), "an input in the middle is not given")
        return (TensorType(broadcast_dims(*(tensor.dims for tensor in inputs)), inputs[0].dtype),)

    def forward(self, *inputs):
        result = inputs[0]
        for other in inputs[1:]:
            result = type(self).function(result, other)
        return result


@operator("Max")
class Max(Variadic):
    """The largest of the inputs. Source: ONNX operator Max."""

    function: ClassVar = staticmethod(numpy.maximum)


@operator("Min")
class Min(Variadic):
    """The smallest of the inputs. Source: ONNX operator Min."""

    function: ClassVar = staticmethod(numpy.minimum)


@operator("Sum")
class Sum(Variadic):
    """The sum of the inputs. Source: ONNX operator Sum."""

    function: ClassVar = staticmethod(numpy.add)


@operator("Mean")
class Mean(Variadic):
    """The mean of the inputs. Source: ONNX operator Mean."""

    function: ClassVar = staticmethod(numpy.add)

    def forward(self, *inputs):
        return super().forward(*inputs) / len(inputs)


@operator("Where")
class Where(Operator):
    """y = a where the condition holds, else b. Source: ONNX operator Where."""

    def infer(self, inputs):
        condition, first, second = inputs
        return (TensorType(broadcast_dims(condition.dims, first.dims, second.dims), first.dtype),)

    def forward(self, condition, first, second):
        return numpy.where(condition, first, second)
