# SPDX-License-Identifier: MIT
"""Means of the whole map under the contract `double`: what kernels hand to kit/average.h."""

from __future__ import annotations

import math

import numpy

from aidge_build.arithmetic.fixed_sums import count_reciprocal
from aidge_build.contract.call import Argument, Constant, Literal
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.kernel_kit.mean_pooling import WHOLE_MAP
from aidge_build.kernel_kit.pooling import PoolNode


class AverageOfMap(PoolNode):
    """The mean of each channel's stored values."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands()

    def count(self) -> int:
        """Of the values of a mean."""
        return math.prod(self.inputs[0].dims[2:])

    def arguments(self) -> tuple[Argument, ...]:
        """Numbers as in kit/average.h, batches, pixels, channels."""
        count, (batches, channels) = self.count(), self.inputs[0].dims[:2]
        numbers = numpy.array([count_reciprocal(count), count // 2, *self.levels()], numpy.int32)
        return Constant("numbers", numbers), Literal(batches), Literal(count), Literal(channels)


def _unequal(view: NodeView) -> str:
    return "" if view.inputs[0].quantization == view.outputs[0].quantization else "input and output have different scales"


def _unproved(view: NodeView) -> str:
    count = AverageOfMap(view).count()
    return "" if count_reciprocal(count) else f"no product is the quotient by {count} for all sums of so many values"


ONE_SCALE = Predicate("one scale", _unequal)
AVERAGE_OF_MAP = (WHOLE_MAP, ONE_SCALE, Predicate("a product is the quotient by the count", _unproved))
