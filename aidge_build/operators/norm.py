# SPDX-License-Identifier: MIT
"""Reductions that are norms and logarithms of sums."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.operators.reduce import Reduce
from aidge_build.operators.register import operator


@operator("ReduceL1")
class ReduceL1(Reduce):
    """The sum of the magnitudes over the axes. Source: ONNX operator ReduceL1."""

    function: ClassVar = staticmethod(lambda data, axis, keepdims: numpy.abs(data).sum(axis=axis, keepdims=keepdims))
    needs_elements: ClassVar = False

    def derivative(self, data, result):
        return numpy.sign(data)


@operator("ReduceL2")
class ReduceL2(Reduce):
    """The square root of the sum of squares over the axes. Source: ONNX operator ReduceL2."""

    function: ClassVar = staticmethod(
        lambda data, axis, keepdims: numpy.sqrt(numpy.square(data.astype(numpy.float64)).sum(axis=axis, keepdims=keepdims))
    )
    needs_elements: ClassVar = False

    def derivative(self, data, result):
        return data / result


@operator("ReduceSumSquare")
class ReduceSumSquare(Reduce):
    """The sum of the squares over the axes. Source: ONNX operator ReduceSumSquare."""

    function: ClassVar = staticmethod(lambda data, axis, keepdims: numpy.square(data).sum(axis=axis, keepdims=keepdims))
    needs_elements: ClassVar = False

    def derivative(self, data, result):
        return 2 * data


@operator("ReduceLogSum")
class ReduceLogSum(Reduce):
    """The natural logarithm of the sum over the axes. Source: ONNX operator ReduceLogSum."""

    function: ClassVar = staticmethod(
        lambda data, axis, keepdims: numpy.log(data.astype(numpy.float64).sum(axis=axis, keepdims=keepdims))
    )
    needs_elements: ClassVar = False
    domain: ClassVar = (0.3, 2.0)

    def derivative(self, data, result):
        return numpy.exp(-result)


def _log_sum_exp(data: numpy.ndarray, axis: tuple[int, ...], keepdims: bool) -> numpy.ndarray:
    data = data.astype(numpy.float64)
    if not data.size:
        return numpy.log(data.sum(axis=axis, keepdims=keepdims))
    largest = data.max(axis=axis, keepdims=True)
    largest = numpy.where(numpy.isfinite(largest), largest, 0)
    shift = largest if keepdims else numpy.squeeze(largest, axis)
    return shift + numpy.log(numpy.exp(data - largest).sum(axis=axis, keepdims=keepdims))


@operator("ReduceLogSumExp")
class ReduceLogSumExp(Reduce):
    """The natural logarithm of the sum of e^x over the axes. Source: ONNX operator ReduceLogSumExp."""

    function: ClassVar = staticmethod(_log_sum_exp)
    needs_elements: ClassVar = False

    def derivative(self, data, result):
        return numpy.exp(data - result)
