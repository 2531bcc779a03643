# SPDX-License-Identifier: MIT
"""Means of int8 windows: the arguments of kernels for kit/mean.h."""

from __future__ import annotations

import math

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Argument, Constant, Literal, Struct
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import FACTOR, IntegerMean, Order, integer_mean


def partial_window(view: NodeView) -> str:
    """Returns why a mean is not of the whole map, that is of one window as large as the map, without pads; "" if it is."""
    view = view.layer.whole if view.layer else view
    window = getattr(view.operator, "window", None)
    if (
        window is None
        or window.kernel == view.inputs[0].dims[2:]
        and not window.has_pads
        and set(view.outputs[0].dims[2:]) == {1}
    ):
        return ""
    return f"the window is {'x'.join(map(str, window.kernel))}, wants the whole map"


class MeanPool(PoolNode):
    """A mean: the integer sum decides its quantized value, or, near a tie, the float32 sum of the values in order."""

    def is_row(self) -> bool:
        return not partial_window(self.view) and self.order() is not Order.COLUMNS

    def order(self) -> Order:
        """Returns the order in which the values of a window are added up."""
        view = self.view.layer.whole if self.view.layer else self.view
        return view.operator.order(view.inputs[0].dims[2:])

    def means(self) -> list[IntegerMean | None]:
        """Returns the integer form for each of `counts`; None for a count that has none."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        return [integer_mean(count, data, result) for count in self.counts()]

    def numbers(self) -> Constant:
        """Returns the constants of kit/mean.h for each of `counts`."""
        rows = [self._numbers(mean, mean.multiplier) for mean in self.means()]
        return Constant("numbers", _int32(rows))

    def numbers_of_map(self) -> Constant:
        """Returns the constants of the mean over the whole map, with the factor in the multiplier (`UNSCALED`)."""
        (mean,) = self.means()
        return Constant("numbers", _int32(self._numbers(mean, mean.multiplier * FACTOR)))

    def _numbers(self, mean: IntegerMean, multiplier: int) -> list[int]:
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        bytes_ = numpy.array([data.zero_point, result.zero_point, *self.levels()], numpy.int8)
        scales = numpy.array([data.scale, result.scale], "<f4").view("<u4")
        return [multiplier, mean.first, int(bytes_.view("<u4")[0]), *map(int, scales)]

    def clamps(self) -> bool:
        """Whether the stored values are limited to less than their type holds."""
        return self.levels() != DType.int8.range

    def values(self) -> Struct:
        """The values of the mean over the whole map; channels last."""
        channels, *spatial = self.inputs[0].dims[1:]
        columns = math.prod(spatial) if self.is_row() else spatial[-1]
        rows = math.prod(spatial) // columns
        return Struct(
            "aidge_kit_values", {"rows": rows, "columns": columns, "row_step": columns * channels, "column_step": channels}
        )

    def kinds(self) -> Constant:
        """The counts of values that a mean may have."""
        return Constant("counts", numpy.array(self.counts(), numpy.int32))

    def window_arguments(self) -> tuple[Argument, ...]:
        """The constants for each count, the order, the counts and their number, the ends of the counted positions, the shape."""
        counts = self.counts()
        return (
            self.numbers(),
            Literal(int(self.order())),
            self.kinds(),
            Literal(len(counts)),
            *self.counted_ends(),
            self.shape(),
        )


def _int32(numbers: list) -> numpy.ndarray:
    return numpy.array(numbers, numpy.int64).astype(numpy.uint32).view(numpy.int32)


def _scaled(view: NodeView) -> str:
    fitting = (mean is not None and mean.multiplier * FACTOR < 1 << 31 for mean in MeanPool(view).means())
    return "" if all(fitting) else "a step of the sum is half an output step or more"


def _without(view: NodeView) -> str:
    try:
        means = MeanPool(view).means()
    except AidgeError:
        return ""  # the call refuses it with this reason
    return "32 bits or float32 are too narrow for these scales and so many values" if None in means else ""


def _whole_map(view: NodeView) -> str:
    return "" if partial_window(view) else "the window is the whole map"


PARTIAL = Predicate("windows smaller than the map", _whole_map)
UNSCALED = Predicate("a step of the sum is less than half an output step", _scaled)
WHOLE_MAP = Predicate("the mean of the whole map", partial_window)
IN_INTEGERS = Predicate("every sum decides its level, except near a tie", _without)
