# SPDX-License-Identifier: MIT
"""Levels of the sums of int8 windows by one product, proved for every sum but those where float32's order of summation shows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy

from aidge_build.contract.call import Constant, Struct
from aidge_build.contract.kernel_kit.mean_pooling import MeanPool
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import integer_mean

from .lines import taps_inside

NARROWED = 16  # by which products are shifted before they are narrowed, the rest afterwards
DROPS = (6, 5, 4)  # tried in this order
MOST_TAPS = 255  # whose sums fit int16
MOST_SUSPECTS = 2
NONE = 1 << 15  # no sum: a suspect that never occurs
LOWEST, HIGHEST = DType.int8.range


@dataclass(frozen=True)
class Line:
    """level = ((sum * multiplier + start >> NARROWED) + half of 1 << drop) >> drop, but for the suspects."""

    multiplier: int
    start: int
    suspects: tuple[int, ...]


def line_through(
    sums: numpy.ndarray, wanted: numpy.ndarray, free: numpy.ndarray, slope: float, drop: int, away: bool
) -> Line | None:
    """The line that gives the levels `wanted` of all sums but those that are `free`; saturated levels bound it on one side.

    `away`: 1 is taken from negative sums first.
    """
    shift = NARROWED + drop
    points = sums - (sums < 0) if away else sums
    from_below, from_above = ~free & (wanted > LOWEST), ~free & (wanted < HIGHEST)
    middle = round(slope * (1 << shift))
    for multiplier in (middle, middle - 1, middle + 1):
        least = int(((wanted << shift) - points * multiplier)[from_below].max(initial=-(1 << 40)))
        most = int((((wanted + 1) << shift) - 1 - points * multiplier)[from_above].min(initial=1 << 40))
        start = (least + most) // 2 - (1 << (shift - 1))
        ends = [int(point) * multiplier + start for point in (points[0], points[-1])]
        if least <= most and max(map(abs, (start, *ends))) < 1 << 31:
            return Line(multiplier, start, tuple(map(int, sums[free])))
    return None


def possible_sums(taps: int) -> numpy.ndarray:
    """All that so many int8 values can have."""
    return numpy.arange(LOWEST * taps, HIGHEST * taps + 1)


class MeanLines(MeanPool):
    """A mean of windows smaller than the map; kinds of rows and of columns differ in what their windows see and count."""

    away: ClassVar[bool] = False  # halves of negative sums go away from zero

    def axis_kinds(self, axis: str) -> list[tuple[int, int]]:
        """For each position along the axis how many taps lie inside the image, and how many count."""
        shape = self.shape().fields
        pad = {"height": "pad_top", "width": "pad_left"}[axis]
        inside = taps_inside(shape, axis, pad)
        end = dict(zip(("height", "width"), self.counted_ends()))[axis].value
        if not getattr(self.operator, "counts_pads", False):
            return list(zip(inside, inside))
        starts = [place * shape[f"stride_{axis}"] - shape[pad] for place in range(shape[f"out_{axis}"])]
        taps = range(shape[f"kernel_{axis}"])
        counted = [sum(start + tap * shape[f"dilation_{axis}"] < end for tap in taps) for start in starts]
        return list(zip(inside, counted))

    def window_kinds(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The different ones of rows, and of columns; of a band those of its whole layer."""
        layer = self.view.layer
        node = type(self)(replace(layer.whole, layer=layer)) if layer else self
        rows, columns = (sorted(set(node.axis_kinds(axis))) for axis in ("height", "width"))
        return rows, columns

    def lines(self) -> tuple[int, list[Line]]:
        """What all lines drop, and one for each of the pairs; none where one has none."""
        for drop in DROPS:
            found = [line for pair in self.pairs() if (line := self.line(*pair, drop)) is not None]
            if len(found) == len(self.pairs()):
                return drop, found
        return 0, []

    def of_rows(
        self, function: str, texts: tuple[str, ...], kinds: list[int], parameters: tuple[tuple[str, str], ...], type_: str
    ) -> tuple[str, Constant | Struct, tuple[str, ...]]:
        """The function, what it gets for the kinds of rows, and the texts; those of a band come with it. `parameters` follow
        the scratch, the struct of `type_` is the last one."""
        if self.view.layer is None:
            return function, Constant("rows", numpy.array(kinds, numpy.int32)), texts
        most = self.view.layer.rows
        name = f"{function}_bands_of_{most}"
        declared = ", ".join(f"{kind}{parameter}" for kind, parameter in parameters)
        text = f"""typedef struct {{
    int32_t kinds[{most}];
}} {name}_rows;

/* The same for some rows. */
static void {name}(const int8_t *x, int8_t *y, void *scratch, {declared},
    const {name}_rows *rows, const int32_t *segments, const {type_} *layer)
{{
    {function}(x, y, scratch, {", ".join(parameter for _, parameter in parameters)}, rows->kinds, segments, layer);
}}"""
        return name, Struct(f"{name}_rows", {"kinds": (*kinds, *(0,) * (most - len(kinds)))}), (*texts, text)

    def pairs(self) -> list[tuple[int, int]]:
        """How many positions windows see and count: of each kind of rows with each kind of columns."""
        rows, columns = self.window_kinds()
        return [(row[0] * column[0], row[1] * column[1]) for row, column in itertools.product(rows, columns)]

    def line(self, taps: int, count: int, drop: int) -> Line | None:
        """Of windows that see and count so many positions; None where there is none."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        mean = integer_mean(count, data, result)
        if mean is None or taps > MOST_TAPS:
            return None
        sums = possible_sums(taps)
        levels, decided = mean.decided(sums - taps * data.zero_point)
        below = numpy.clip(levels + result.zero_point - 1, LOWEST, HIGHEST)
        above = numpy.clip(levels + result.zero_point + 1, LOWEST, HIGHEST)
        wanted = numpy.clip(levels + result.zero_point, LOWEST, HIGHEST)
        free = ~decided & (below != above)
        slope = float(data.scale) / (float(result.scale) * count)
        return None if free.sum() > MOST_SUSPECTS else line_through(sums, wanted, free, slope, drop, self.away)

    def numbers_of(self, line: Line, count: int) -> list[int]:
        """As mean_line.h wants them for a kind of windows."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        suspects = (*line.suspects, *(NONE,) * MOST_SUSPECTS)[:MOST_SUSPECTS]
        mean = integer_mean(count, data, result)
        assert mean is not None
        return [line.multiplier, line.start, *suspects, count, *self._numbers(mean, mean.multiplier)]
