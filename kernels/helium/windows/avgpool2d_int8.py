# SPDX-License-Identifier: MIT
"""int8 means over windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.average import ONE_SCALE
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL, MeanPool
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.arithmetic.fixed_sums import quotients_half_up, rounded_quotients
from aidge_build.operators.arithmetic.means import Order, integer_mean
from aidge_build.operators.pool import AvgPoolingHalvesUp

from ..core.quotients import bits_of, quotients_hold
from .mean_lines import HIGHEST, LOWEST, Line, line_through
from .pool_windows import PoolOfWindows, SizedRun, words
from .pooling import pool_spec

MOST_TAPS = 255  # whose sums fit int16
MOST_FLOATS_IN_TEXT = 16  # taps
NONE = 1 << 15  # no sum: a suspect that never occurs
AWAY = -1  # an order: as the contract `double` divides, halves of negative sums away from zero


@kernel(("AvgPooling1D", "AvgPooling2D"), pool_spec(PARTIAL, IN_INTEGERS))
class AvgPool2dInt8(PoolOfWindows, MeanPool):
    """As float32 gives them."""

    word, others, lanes = "avgpool2d", "means_of_window", 8
    note = "integers, near a tie float32 in onnxruntime's order"

    @property
    def zero_point(self) -> int:
        """The zero point of the input; sums are sums of values minus the zero point."""
        return self.inputs[0].quantization.zero_point

    def order_in_c(self) -> int:
        return int(self.order())

    def line(self, count: int) -> Line | None:
        """Returns the line for sums of so many values; None if there is none."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        mean = integer_mean(count, data, result)
        if mean is None or count > MOST_TAPS:
            return None
        sums = numpy.arange((LOWEST - data.zero_point) * count, (HIGHEST - data.zero_point) * count + 1)
        levels, decided = mean.decided(sums)
        below, wanted, above = (numpy.clip(levels + result.zero_point + more, LOWEST, HIGHEST) for more in (-1, 0, 1))
        slope = float(data.scale) / (float(result.scale) * count)
        return line_through(sums, wanted, ~decided & (below != above), slope, away=False)

    @cached_property
    def lines(self) -> dict[int, Line | None]:
        """The line of each of `counts`."""
        return {count: self.line(count) for count in self.counts()}

    def numbers(self) -> Constant:
        """Returns for each of `counts` the constants of avgpool2d.h."""
        return self._with_lines(super().numbers().values.reshape(len(self.lines), -1).tolist())

    def _with_lines(self, rows: list[list[int]]) -> Constant:
        whole = [line if line and not line.suspects else Line(0, 0, 0, ()) for line in self.lines.values()]
        own = [(count, line.multiplier, line.start, line.drop) for count, line in zip(self.lines, whole, strict=True)]
        return words([(*row, *numbers) for row, numbers in zip(rows, own, strict=True)], "numbers")

    def divisors(self, count: int) -> tuple[numpy.float32, ...]:
        """The numbers that divide sums of so many values, one after the other: one number if the count is a power of two."""
        scale = numpy.float32(self.outputs[0].quantization.scale)
        return (numpy.float32(count) * scale,) if count & (count - 1) == 0 else (numpy.float32(count), scale)

    def line_runs(self) -> list[SizedRun]:
        """Returns the runs of integer sums."""
        found = []
        for rows, columns, count in self.sizes():
            if (line := self.lines[count]) is not None:
                taken = rows * columns * self.zero_point
                suspects = (*(total + taken for total in line.suspects), NONE, NONE)[:2]
                text = self.run(rows, columns).means(line.drop, self.order_in_c() == AWAY, bool(line.suspects))
                numbers = (line.multiplier, line.start - taken * line.multiplier, *self.levels(), *suspects)
                found.append(SizedRun((rows, columns, count), *text, numbers))
        return found

    def float_runs(self) -> list[SizedRun]:
        """Returns the runs in float32 of windows whose sums do not decide all levels."""
        found, data, result = [], self.inputs[0].quantization, self.outputs[0].quantization
        for rows, columns, count in self.sizes() if self.order() is not Order.LANES else ():
            line, divisors = self.lines[count], self.divisors(count)
            is_short = rows * columns <= MOST_FLOATS_IN_TEXT and (line is None or line.suspects)
            if is_short and quotients_hold(divisors, count, result.scale, result.zero_point):
                text = self.run(rows, columns).float_means(self.order() is Order.COLUMNS, len(divisors))
                pairs = [(bits_of(numpy.float32(1) / divisor), bits_of(-divisor)) for divisor in divisors]
                numbers = (-data.zero_point, bits_of(numpy.float32(data.scale)), *sum(pairs, ()))
                found.append(SizedRun((rows, columns, count), *text, (result.zero_point, 0, *self.levels(), *numbers)))
        return found

    def call(self) -> Call:
        return self.call_of(self.numbers(), (self.line_runs(), self.float_runs()), self.note)


class _Average(AvgPool2dInt8):
    """Averages stored values, divided by their number; every sum decides."""

    note = "integers, a line that gives all quotients"
    quotients: Callable[[numpy.ndarray, int], numpy.ndarray] = staticmethod(rounded_quotients)

    @property
    def zero_point(self) -> int:
        return 0

    def order_in_c(self) -> int:
        return AWAY

    def line(self, count: int) -> Line | None:
        if count > MOST_TAPS:
            return None
        sums = numpy.arange(LOWEST * count, HIGHEST * count + 1)
        return line_through(sums, self.quotients(sums, count), sums != sums, 1 / count, self.order_in_c() == AWAY)

    def numbers(self) -> Constant:
        low, high = (level & 0xFF for level in self.levels())
        return self._with_lines([[0, 0, low << 16 | high << 24, 0, 0]] * len(self.lines))

    def float_runs(self) -> list[SizedRun]:
        return []


class _AverageUp(_Average):
    quotients = staticmethod(quotients_half_up)

    def order_in_c(self) -> int:
        return 0


def _counts_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


def _unproved(view: NodeView) -> str:
    made = _AverageUp if isinstance(view.operator, AvgPoolingHalvesUp) else _Average
    return "no product in 32 bits gives the quotients of all sums" if None in made(view).lines.values() else ""


_AVERAGES = replace(
    pool_spec(
        PARTIAL,
        ONE_SCALE,
        Predicate("pads do not count", _counts_pads),
        Predicate("a product gives the quotients of all sums", _unproved),
    ),
    rounding="double",
)


@kernel(("AvgPooling1D", "AvgPooling2D"), _AVERAGES)
class AverageOfWindowsInt8(_Average):
    """As TensorFlow Lite's kernels divide."""


@kernel("AvgPoolingHalvesUp2D", _AVERAGES)
class AverageUpOfWindowsInt8(_AverageUp):
    """The same of tensors that were uint8."""
