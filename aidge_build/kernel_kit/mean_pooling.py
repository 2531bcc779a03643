# SPDX-License-Identifier: MIT
"""Means of int8 windows by one float32 multiplier for each number of taps, proved for every sum that can occur."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.means import float_mean
from aidge_build.contract.call import Argument, Constant, Literal
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.errors import AidgeError
from aidge_build.kernel_kit.pooling import PoolNode


class MeanPool(PoolNode):
    """A mean whose sums are scaled in float32."""

    def multipliers(self) -> list[numpy.float32 | None]:
        """One for each of `counts`; None where none is proved."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        return [float_mean(count, data, result, self.levels()) for count in self.counts()]

    def mean_arguments(self) -> tuple[Argument, ...]:
        """Levels {lowest, highest, zero point of the output, zero point of the input}, multipliers, counts, how many; the ends of
        what counts, the shape."""
        counts, (low, high) = self.counts(), self.levels()
        levels = [low, high, self.outputs[0].quantization.zero_point, self.inputs[0].quantization.zero_point]
        return (
            Constant("levels", numpy.array(levels, numpy.int32)),
            Constant("multipliers", numpy.array(self.multipliers(), numpy.float32)),
            Constant("counts", numpy.array(counts, numpy.int32)),
            Literal(len(counts)),
            *self.counted_ends(),
            self.shape(),
        )


def _unproved(view: NodeView) -> str:
    try:
        multipliers = MeanPool(view).multipliers()
    except AidgeError as error:
        return error.what
    return "no float32 multiplier is proved for every sum" if None in multipliers else ""


MULTIPLIED = Predicate("the mean in float32 is proved for every sum", _unproved)
