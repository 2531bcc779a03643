# SPDX-License-Identifier: MIT
"""int8 means over windows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.average import ONE_SCALE
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL, MeanPool
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.arithmetic.fixed_sums import quotients_half_up, rounded_quotients
from aidge_build.operators.arithmetic.means import Order, integer_mean
from aidge_build.operators.pool import AvgPoolingHalvesUp

from .assembly import c_function
from .float32.real import wrapper
from .mean_lines import HIGHEST, LOWEST, Line, line_through
from .mean_runs import PARAMETERS as RUN
from .mean_runs import Run
from .pooling import pool_spec
from .quotients import bits_of, quotients_hold

MOST_TAPS = 255  # whose sums fit int16
MOST_IN_TEXT, MOST_FLOATS_IN_TEXT, ALL_IN_TEXT = 25, 16, 64  # taps
NONE = 1 << 15  # no sum: a suspect that never occurs
PARAMETERS = (
    "const int8_t *x, int8_t *y, const int32_t *numbers, const int32_t *of_lines, const int32_t *of_floats, int32_t order, "
    "const int32_t *counts, int32_t count_kinds, int32_t counted_height, int32_t counted_width, const aidge_kit_window2d *shape"
).split(", ")


@kernel(("AvgPooling1D", "AvgPooling2D"), pool_spec(PARTIAL, IN_INTEGERS))
class AvgPool2dInt8(MeanPool):
    """As float32 gives them."""

    note = "integers, near a tie float32 in onnxruntime's order"
    away = False  # halves of negative sums go away from zero

    @property
    def zero_point(self) -> int:
        """Of the input; sums are sums of values minus it."""
        return self.inputs[0].quantization.zero_point

    def line(self, count: int) -> Line | None:
        """Returns the line for sums of so many values; None if there is none."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        mean = integer_mean(count, data, result)
        if mean is None or count > MOST_TAPS:
            return None
        sums = numpy.arange((LOWEST - data.zero_point) * count, (HIGHEST - data.zero_point) * count + 1)
        levels, decided = mean.decided(sums)
        stored = [numpy.clip(levels + result.zero_point + more, LOWEST, HIGHEST) for more in (-1, 0, 1)]
        slope = float(data.scale) / (float(result.scale) * count)
        return line_through(sums, stored[1], ~decided & (stored[0] != stored[2]), slope, self.away)

    @cached_property
    def lines(self) -> dict[int, Line | None]:
        """The line of each of `counts`."""
        return {count: self.line(count) for count in self.counts()}

    def numbers(self) -> Constant:
        """Returns for each of `counts` the constants of avgpool2d.h."""
        rows = super().numbers().values.reshape(len(self.counts()), -1).tolist()
        return _words([(*row, *_whole(line)) for row, line in zip(rows, self.lines.values(), strict=True)], "numbers")

    def sizes(self) -> list[tuple[int, int, int]]:
        """Returns rows and columns of taps inside the image, and how many taps count, of the windows that have texts."""
        layer = self.view.layer
        whole = type(self)(replace(layer.whole, layer=layer)) if layer else self
        shape, ends = whole.shape().fields, [int(end.value) for end in whole.counted_ends()]
        axes = [_along(shape, axis, *ends_) for axis, *ends_ in zip(("height", "width"), ("pad_top", "pad_left"), ends)]
        found = sorted({(row[0], column[0], row[1] * column[1]) for row, column in product(*axes)})
        kernel = shape["kernel_height"], shape["kernel_width"]
        is_short = sum(rows * columns for rows, columns, _ in found) <= ALL_IN_TEXT
        return [size for size in found if size[0] * size[1] <= MOST_IN_TEXT and (is_short or size[:2] == kernel)]

    def divisors(self, count: int) -> tuple[numpy.float32, ...]:
        """What sums of so many values are divided by, one after the other: once if the count is a power of two."""
        scale = numpy.float32(self.outputs[0].quantization.scale)
        return (numpy.float32(count) * scale,) if count & (count - 1) == 0 else (numpy.float32(count), scale)

    def line_runs(self) -> list[_Sized]:
        """Returns the runs of integer sums."""
        found = []
        for rows, columns, count in self.sizes():
            if (line := self.lines[count]) is not None:
                taken = rows * columns * self.zero_point
                suspects = (*(total + taken for total in line.suspects), NONE, NONE)[:2]
                run = Run.of(self.shape().fields, rows, columns, self.clamps())
                texts = run.line(line.drop, self.away, bool(line.suspects))
                numbers = (line.multiplier, line.start - taken * line.multiplier, *self.levels(), *suspects)
                found.append(_Sized((rows, columns, count), *texts, numbers))
        return found

    def float_runs(self) -> list[_Sized]:
        """Returns the runs in float32 of windows whose sums do not decide all levels."""
        found, data, result = [], self.inputs[0].quantization, self.outputs[0].quantization
        for rows, columns, count in self.sizes() if self.order() is not Order.LANES else ():
            line, divisors = self.lines[count], self.divisors(count)
            is_short = rows * columns <= MOST_FLOATS_IN_TEXT and (line is None or line.suspects)
            if is_short and quotients_hold(divisors, count, result.scale, result.zero_point):
                run = Run.of(self.shape().fields, rows, columns, self.clamps())
                texts = run.floats(self.order() is Order.COLUMNS, len(divisors))
                pairs = [(bits_of(numpy.float32(1) / divisor), bits_of(-divisor)) for divisor in divisors]
                numbers = (-data.zero_point, bits_of(numpy.float32(data.scale)), *sum((pairs * 2)[:2], ()))
                found.append(_Sized((rows, columns, count), *texts, (result.zero_point, 0, *self.levels(), *numbers)))
        return found

    def call(self) -> Call:
        both = self.line_runs(), self.float_runs()
        _, order, *rest = self.window_arguments()
        digest = hashlib.sha256("".join(_choice("", runs) for runs in both).encode()).hexdigest()[:8]
        names = [f"aidge_helium_{kind}_{digest}" if runs else "NULL" for kind, runs in zip(("lines", "floats"), both)]
        choices = [_choice(name, runs) for name, runs in zip(names, both) if runs]
        function, text = wrapper(f"avgpool2d_{digest}", "avgpool2d", names, PARAMETERS)
        texts = dict.fromkeys(run.text for runs in both for run in runs)
        numbers = (_words([run.numbers for run in runs] or [(0,)], kind) for kind, runs in zip(("lines", "floats"), both))
        return Call(
            function,
            ("avgpool2d.h",),
            (Input(0), Output(0), self.numbers(), *numbers, Literal(-1) if self.away else order, *rest),
            self.note,
            texts=(*texts, *choices, text),
            facts=computed("8 channels"),
        )


@dataclass(frozen=True)
class _Sized:
    """A run of windows with so many rows and columns of taps inside the image, of which so many taps count."""

    size: tuple[int, int, int]
    name: str
    text: str
    numbers: tuple[int, ...]


def _choice(name: str, runs: Sequence[_Sized]) -> str:
    """Returns the C function that calls the run for a window."""
    cases, place = [], 0
    for run in runs:
        same = (f"(mean->{field} == {number})" for field, number in zip(("window.rows", "window.columns", "count"), run.size))
        cases += [f"if ({' && '.join(same)}) {{", f"    return {run.name}(y, x, pixels, numbers + {place});", "}"]
        place += len(run.numbers)
    return c_function(name, f"{RUN}, const aidge_helium_mean *mean", [*cases, "return pixels;"], "int32_t")


def _along(shape: Mapping[str, int], axis: str, pad: str, end: int) -> set[tuple[int, int]]:
    """Returns how many taps of windows are inside the image along an axis, and how many count: up to `end`, if it is not 0."""
    size, dilation, taps = shape[f"in_{axis}"], shape[f"dilation_{axis}"], range(shape[f"kernel_{axis}"])
    found = set()
    for place in range(shape[f"out_{axis}"]):
        places = [place * shape[f"stride_{axis}"] - shape[pad] + tap * dilation for tap in taps]
        inside = sum(0 <= tap < size for tap in places)
        found.add((inside, sum(tap < end for tap in places) if end else inside))
    return found


def _whole(line: Line | None) -> tuple[int, int, int]:
    """Returns the constants of a line that gives the levels of all sums, else zeros."""
    return (line.multiplier, line.start, line.drop) if line and not line.suspects else (0, 0, 0)


def _words(rows: Sequence[Sequence[int]], name: str) -> Constant:
    return Constant(name, numpy.array(list(chain(*rows)), numpy.int64).astype(numpy.uint32).view(numpy.int32))


class _Average(AvgPool2dInt8):
    """Of stored values, divided by their number; every sum decides."""

    note = "integers, a line that gives all quotients"
    away = True
    quotients = staticmethod(rounded_quotients)

    @property
    def zero_point(self) -> int:
        return 0

    def line(self, count: int) -> Line | None:
        if count > MOST_TAPS:
            return None
        sums = numpy.arange(LOWEST * count, HIGHEST * count + 1)
        return line_through(sums, self.quotients(sums, count), sums != sums, 1 / count, self.away)

    def numbers(self) -> Constant:
        low, high = (level & 0xFF for level in self.levels())
        return _words([(0, 0, low << 16 | high << 24, 0, 0, *_whole(line)) for line in self.lines.values()], "numbers")

    def order(self) -> Order:
        return Order.LANES


class _AverageUp(_Average):
    away = False
    quotients = staticmethod(quotients_half_up)


def _counts_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


def _unproved(view: NodeView) -> str:
    made = (_AverageUp if isinstance(view.operator, AvgPoolingHalvesUp) else _Average)(view)
    return "no product in 32 bits gives the quotients of all sums" if None in map(made.line, made.counts()) else ""


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
class AverageInt8(_Average):
    """As TensorFlow Lite's kernels divide."""


@kernel("AvgPoolingHalvesUp2D", _AVERAGES)
class AverageUpInt8(_AverageUp):
    """The same of tensors that were uint8."""
