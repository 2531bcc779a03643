# SPDX-License-Identifier: MIT
"""Means of the whole map under the contract `double`: the arguments of kernels for kit/average.h."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Argument, Constant, Literal
from aidge_build.contract.kernel_kit.mean_pooling import WHOLE_MAP
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.fixed_sums import count_reciprocal, fixed_mean
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT


class AverageOfMap(PoolNode):
    """The mean of each channel's stored values."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands()

    def count(self) -> int:
        """The number of values in a mean."""
        return math.prod(self.inputs[0].dims[2:])

    def arguments(self) -> tuple[Argument, ...]:
        """The constants of kit/average.h, then the numbers of batches, pixels and channels."""
        count, (batches, channels) = self.count(), self.inputs[0].dims[:2]
        numbers = numpy.array([count_reciprocal(count), count // 2, *self.levels()], numpy.int32)
        return Constant("numbers", numbers), Literal(batches), Literal(count), Literal(channels)


def _unequal(view: NodeView) -> str:
    return "" if view.inputs[0].quantization == view.outputs[0].quantization else "input and output have different scales"


def _unproved(view: NodeView) -> str:
    count = AverageOfMap(view).count()
    return "" if count_reciprocal(count) else f"no product is the quotient by {count} for all sums of so many values"


def mean_factor(view: NodeView) -> tuple[int, tuple[int, int]]:
    """Returns the number of elements in a mean of a ReduceMean, and the (multiplier, shift) for their sum."""
    (data,), (output,) = view.inputs, view.outputs
    count = math.prod(data.dims[axis] for axis in view.operator.axes)
    return count, fixed_mean(float(data.quantization.scale), float(output.quantization.scale), count)


def mean_numbers(view: NodeView) -> Constant:
    """Returns the constants of kit/mean_fixed.h."""
    (data,), (output,) = view.inputs, view.outputs
    count, factor = mean_factor(view)
    made = output.quantization.zero_point, *output.dtype.range
    return Constant("numbers", numpy.array([data.quantization.zero_point * count, *factor, *made], numpy.int32))


def _leaves_int32(view: NodeView) -> str:
    count, (_, shift) = mean_factor(view)
    low, high = view.inputs[0].dtype.range
    fits = (count * (high - low)) << max(shift, 0) < INT32_LIMIT - (high - low)
    return "" if fits else f"a sum shifted to the left by {shift} bits could leave int32"


SUM_FITS = Predicate("sums that int32 holds, also shifted to the left", _leaves_int32)
ONE_SCALE = Predicate("one scale", _unequal)
AVERAGE_OF_MAP = (WHOLE_MAP, ONE_SCALE, Predicate("a product is the quotient by the count", _unproved))
