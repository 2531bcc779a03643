# SPDX-License-Identifier: MIT
"""Operators on two tensors, element by element, with numpy's broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims, summed_to
from aidge_build.operators.kinds import Broadcast
from aidge_build.operators.real import RealQuantized
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


class Arithmetic(Activated, Broadcast):
    """A binary operator that may clamp its result (a fused activation)."""

    def forward(self, first, second):
        return self.clamp(type(self).function(first, second))

    def backward(self, gradients, inputs, outputs):
        return super().backward((self.unclamp(gradients[0], outputs[0]),), inputs, outputs)

    @classmethod
    def examples(cls):
        return cls(), cls(minimum=-0.61, maximum=1.03)


@operator("Add")
class Add(Arithmetic, RealQuantized):
    """y = clamp(a + b). Source: ONNX operator Add."""

    function: ClassVar = staticmethod(numpy.add)

    def derivatives(self, first, second, result):
        return 1.0, 1.0


@operator("Sub")
class Sub(Arithmetic, RealQuantized):
    """y = clamp(a - b). Source: ONNX operator Sub."""

    function: ClassVar = staticmethod(numpy.subtract)

    def derivatives(self, first, second, result):
        return 1.0, -1.0


@operator("Mul")
class Mul(Arithmetic, RealQuantized):
    """y = clamp(a * b). Source: ONNX operator Mul."""

    function: ClassVar = staticmethod(numpy.multiply)

    def derivatives(self, first, second, result):
        return second, first


def _quotient(first: numpy.ndarray, second: numpy.ndarray) -> numpy.ndarray:
    """Returns a / b; for integers the quotient rounded towards zero."""
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
    other_domain: ClassVar = (0.3, 2.0)

    def derivatives(self, first, second, result):
        return 1 / second, -first / second**2


@operator("Pow")
class Pow(Operator):
    """y = a ^ b in the type of a. Source: ONNX operator Pow."""

    def infer(self, inputs):
        base, exponent = inputs
        return (TensorType(broadcast_dims(base.dims, exponent.dims), base.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last, len(inputs))

    def forward(self, base, exponent):
        exact = base.dtype.kind in "iu" and exponent.dtype.kind in "iu" and bool((exponent >= 0).all())
        return numpy.power(base, exponent) if exact else numpy.power(base.astype(numpy.float64), exponent)

    def backward(self, gradients, inputs, outputs):
        (gradient,), (base, exponent) = gradients, inputs
        result = numpy.power(base, exponent)
        below = exponent * numpy.power(base, exponent - 1)
        # The exponent counts only where the base is positive; at others y is defined for whole exponents alone.
        by_exponent = numpy.where(base > 0, result * numpy.log(numpy.where(base > 0, base, 1)), 0)
        return summed_to(gradient * below, base.shape), summed_to(gradient * by_exponent, exponent.shape)

    @classmethod
    def samples(cls):
        return tuple(
            Sample(cls(), (numbers(*first, low=0.3), numbers(*second, seed=1))) for first, second in Broadcast.sample_pairs()
        )


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

    def derivatives(self, first, second, result):
        return 1.0, (result - first) / second

    @classmethod
    def examples(cls):
        return (cls(fmod=True),)


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

    @classmethod
    def sample_values(cls, *dims, second=False):
        return super().sample_values(*dims, second=second) > 0


@operator("Or")
class Or(Comparison):
    """Logical or. Source: ONNX operator Or."""

    function: ClassVar = staticmethod(numpy.logical_or)

    @classmethod
    def sample_values(cls, *dims, second=False):
        return super().sample_values(*dims, second=second) > 0


@operator("Xor")
class Xor(Comparison):
    """Either a or b. Source: ONNX operator Xor."""

    function: ClassVar = staticmethod(numpy.logical_xor)

    @classmethod
    def sample_values(cls, *dims, second=False):
        return super().sample_values(*dims, second=second) > 0


class Variadic(Operator):
    """y = function(a, b, ...) over one or more tensors."""

    function: ClassVar[Callable]

    def infer(self, inputs):
        require(all(tensor is not None for tensor in inputs), "an input in the middle is not given")
        return (TensorType(broadcast_dims(*(tensor.dims for tensor in inputs)), inputs[0].dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last, len(inputs))

    def forward(self, *inputs):
        result = inputs[0]
        for other in inputs[1:]:
            result = type(self).function(result, other)
        return result

    def shares(self, inputs: Sequence[numpy.ndarray], result: numpy.ndarray) -> Iterator[numpy.ndarray | float]:
        """Yields dy / dx at each element of the result, for one input after another."""
        raise NotImplementedError

    def backward(self, gradients, inputs, outputs):
        shape = outputs[0].shape
        return tuple(
            summed_to(numpy.broadcast_to(gradients[0] * share, shape), value.shape)
            for share, value in zip(self.shares(inputs, outputs[0]), inputs)
        )

    @classmethod
    def has_backward(cls):
        return cls.shares is not Variadic.shares

    @classmethod
    def samples(cls):
        dims = ((2, 3), (2, 3), (3,), (2, 1))
        return tuple(Sample(cls(), tuple(numbers(*dims[index], seed=index) for index in range(count))) for count in (1, 2, 4))


def first_equal(inputs: Sequence[numpy.ndarray], result: numpy.ndarray) -> Iterator[numpy.ndarray]:
    """Yields for each input a mask of the elements that are the first to equal the result: among equal elements the first gets
    the gradient."""
    free = numpy.ones(result.shape, bool)
    for value in inputs:
        taken = free & (value == result)
        free &= ~taken
        yield taken


@operator("Max")
class Max(Variadic):
    """The largest of the inputs. Source: ONNX operator Max."""

    hands_on: ClassVar = True
    function: ClassVar = staticmethod(numpy.maximum)

    def shares(self, inputs, result):
        yield from first_equal(inputs, result)


@operator("Min")
class Min(Variadic):
    """The smallest of the inputs. Source: ONNX operator Min."""

    hands_on: ClassVar = True
    function: ClassVar = staticmethod(numpy.minimum)

    def shares(self, inputs, result):
        yield from first_equal(inputs, result)


@operator("Sum")
class Sum(Variadic):
    """The sum of the inputs. Source: ONNX operator Sum."""

    by_steps: ClassVar = True
    function: ClassVar = staticmethod(numpy.add)

    def shares(self, inputs, result):
        return (1.0 for _ in inputs)


@operator("Mean")
class Mean(Variadic):
    """The mean of the inputs. Source: ONNX operator Mean."""

    by_steps: ClassVar = True
    function: ClassVar = staticmethod(numpy.add)

    def forward(self, *inputs):
        return super().forward(*inputs) * (1 / len(inputs))

    def shares(self, inputs, result):
        return (1 / len(inputs) for _ in inputs)


@operator("Where")
class Where(Operator):
    """y = a where the condition holds, else b. Source: ONNX operator Where."""

    def infer(self, inputs):
        condition, first, second = inputs
        return (TensorType(broadcast_dims(condition.dims, first.dims, second.dims), first.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last, len(inputs))

    def forward(self, condition, first, second):
        return numpy.where(condition, first, second)

    def backward(self, gradients, inputs, outputs):
        (gradient,), (condition, first, second) = gradients, inputs
        return None, summed_to(gradient * condition, first.shape), summed_to(gradient * ~condition, second.shape)

    @classmethod
    def samples(cls):
        return tuple(
            Sample(cls(), (numbers(*dims) > 0, numbers(2, 3), numbers(3, seed=1))) for dims in ((2, 3), (2, 1), (4, 1, 1))
        )
