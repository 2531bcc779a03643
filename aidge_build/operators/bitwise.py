# SPDX-License-Identifier: MIT
"""Operators on the bits of integers, and tests of single numbers."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import TensorType, require
from aidge_build.operators.kinds import Broadcast, ElementWise
from aidge_build.operators.register import operator


@operator("BitwiseAnd")
class BitwiseAnd(Broadcast):
    """Each bit of a and b. Source: ONNX operator BitwiseAnd."""

    function: ClassVar = staticmethod(numpy.bitwise_and)
    domain: ClassVar = (-90.0, 90.0)
    other_domain: ClassVar = (-50.0, 70.0)

    @classmethod
    def sample_values(cls, *dims, second=False):
        return super().sample_values(*dims, second=second).astype(numpy.int32)


@operator("BitwiseOr")
class BitwiseOr(Broadcast):
    """Each bit of a or b. Source: ONNX operator BitwiseOr."""

    function: ClassVar = staticmethod(numpy.bitwise_or)
    domain: ClassVar = (-90.0, 90.0)
    other_domain: ClassVar = (-50.0, 70.0)

    @classmethod
    def sample_values(cls, *dims, second=False):
        return super().sample_values(*dims, second=second).astype(numpy.int32)


@operator("BitwiseXor")
class BitwiseXor(Broadcast):
    """Each bit of either a or b. Source: ONNX operator BitwiseXor."""

    function: ClassVar = staticmethod(numpy.bitwise_xor)
    domain: ClassVar = (-90.0, 90.0)
    other_domain: ClassVar = (-50.0, 70.0)

    @classmethod
    def sample_values(cls, *dims, second=False):
        return super().sample_values(*dims, second=second).astype(numpy.int32)


@operator("BitwiseNot")
class BitwiseNot(ElementWise):
    """Every bit the other way. Source: ONNX operator BitwiseNot."""

    function: ClassVar = staticmethod(numpy.invert)
    domain: ClassVar = (-90.0, 90.0)

    @classmethod
    def sample_values(cls, *dims):
        return super().sample_values(*dims).astype(numpy.int32)


@operator("BitShift")
class BitShift(Broadcast):
    """The bits of a moved by b places; bits that leave are lost, a signed number keeps its sign to the right.

    A negative shift, or one by the width or more, gives 0, or -1 for a negative number to the right.
    Source: ONNX operator BitShift.
    """

    left: bool = True

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("direction")
        direction = source.text("direction")
        require(direction in ("LEFT", "RIGHT"), f"direction {direction!r} is unknown")
        return cls(direction == "LEFT")

    def forward(self, first, second):
        width = 8 * first.dtype.itemsize
        beyond = (second < 0) | (second >= width)
        places = numpy.where(beyond, 0, second).astype(second.dtype)
        if self.left:
            return numpy.where(beyond, 0, numpy.left_shift(first, places)).astype(first.dtype)
        return numpy.where(beyond, numpy.where(first < 0, -1, 0), numpy.right_shift(first, places)).astype(first.dtype)

    @classmethod
    def examples(cls):
        return cls(left=True), cls(left=False)

    @classmethod
    def sample_values(cls, *dims, second=False):
        return numpy.abs(4 * super().sample_values(*dims, second=second)).astype(numpy.uint32)


class Truth(ElementWise):
    """Base: a truth value for each element."""

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, DType.bool),)


@operator("IsNaN")
class IsNaN(Truth):
    """Whether x is not a number. Source: ONNX operator IsNaN."""

    function: ClassVar = staticmethod(numpy.isnan)


@operator("IsInf")
class IsInf(Truth):
    """Whether x is infinite, of the detected signs. Source: ONNX operator IsInf."""

    detect_negative: bool = True
    detect_positive: bool = True

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("detect_negative", "detect_positive")
        return cls(bool(source.integer("detect_negative", 1)), bool(source.integer("detect_positive", 1)))

    def forward(self, data):
        return self.detect_positive & numpy.isposinf(data) | self.detect_negative & numpy.isneginf(data)
