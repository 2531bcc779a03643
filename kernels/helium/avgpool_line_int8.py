# SPDX-License-Identifier: MIT
"""int8 means over windows, from sums of columns."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.average import ONE_SCALE
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.fixed_sums import quotients_half_up, rounded_quotients
from aidge_build.operators.pool import AvgPoolingHalvesUp

from .float32.real import wrapper
from .lines import line_elements
from .mean_lines import DROPS, MOST_TAPS, Line, MeanLines, line_through, possible_sums
from .pooling import pool_spec

UNROLLED = 4  # taps of a row
PARAMETERS = (("const int32_t *", "numbers"),)
PLACES = 16  # bytes behind the line


class _AvgPoolLine(MeanLines):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(super().demands(view), scratch_bytes=2 * line_elements(cls(view)) + PLACES)

    def call(self) -> Call:
        drop, lines = self.lines()
        numbers = [self.numbers_of(line, count) for line, (_, count) in zip(lines, self.pairs(), strict=True)]
        rows, columns = self.window_kinds()
        row_kinds = [rows.index(kind) for kind in self.axis_kinds("height")]
        segments = [(len(list(group)), columns.index(kind)) for kind, group in itertools.groupby(self.axis_kinds("width"))]
        function, text = self._function(any(line.suspects for line in lines), drop)
        function, of_rows, texts = self.of_rows(function, (text,), row_kinds, PARAMETERS, "aidge_helium_means")
        return Call(
            function,
            ("mean_line.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("numbers", numpy.array(numbers, numpy.int64).astype(numpy.uint32).view(numpy.int32)),
                of_rows,
                Constant("columns", numpy.array(segments, numpy.int32)),
                self._layer(len(columns), len(segments)),
            ),
            "integers proved equal, columns, then neighbours of a line",
            texts=texts,
            facts=computed("8 values"),
        )

    def _layer(self, kinds: int, segments: int) -> Struct:
        low, high = self.levels()
        fields = {"order": int(self.order()), "kinds": kinds, "segments": segments, "lowest": low, "highest": high}
        return Struct("aidge_helium_means", {"shape": tuple(self.shape().fields.values()), **fields})

    def _function(self, checks: bool, drop: int) -> tuple[str, str]:
        taps = int(self.shape().fields["kernel_width"])
        is_unrolled, clamps = taps <= UNROLLED, self.clamps()
        words = [str(taps) if is_unrolled else "many"]
        words += [word for word, is_said in (("checked", checks), ("clamped", clamps), ("away", self.away)) if is_said]
        words += [] if drop == DROPS[0] else [f"drop_{drop}"]
        parameters = ("const int8_t *x", "int8_t *y", "void *scratch", "const int32_t *numbers", "const int32_t *row_kinds")
        parameters += ("const int32_t *segments", "const aidge_helium_means *layer")
        given = (taps if is_unrolled else "layer->shape.kernel_width", int(checks), int(clamps), int(self.away), drop)
        return wrapper(f"mean_line_{'_'.join(words)}", "mean_line", (), parameters, given)


def _unproved(view: NodeView) -> str:
    return "" if MeanLines(view).lines()[1] else "no product in 32 bits gives the levels of nearly all sums"


@kernel(
    ("AvgPooling1D", "AvgPooling2D"),
    pool_spec(PARTIAL, IN_INTEGERS, Predicate("a product gives the levels of nearly all sums", _unproved)),
)
class AvgPoolLineInt8(_AvgPoolLine):
    """As float32 gives them."""


class _Average(_AvgPoolLine):
    """Of stored values, divided by their number."""

    away: ClassVar[bool] = True

    def line(self, taps: int, count: int, drop: int) -> Line | None:
        if taps > MOST_TAPS:
            return None
        sums = possible_sums(taps)
        return line_through(sums, self.quotients(sums, count), sums != sums, 1 / count, drop, self.away)

    def quotients(self, sums: numpy.ndarray, count: int) -> numpy.ndarray:
        """The meaning, for each sum."""
        return rounded_quotients(sums, count)

    def numbers_of(self, line: Line, count: int) -> list[int]:
        return [line.multiplier, line.start, *(0,) * 8]

    def order(self):
        return 0


class _AverageUp(_Average):
    away: ClassVar[bool] = False

    def quotients(self, sums: numpy.ndarray, count: int) -> numpy.ndarray:
        return quotients_half_up(sums, count)


def _counts_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


def _unproved_quotients(view: NodeView) -> str:
    made = _AverageUp if isinstance(view.operator, AvgPoolingHalvesUp) else _Average
    return "" if made(view).lines()[1] else "no product in 32 bits gives the quotients of all sums"


_AVERAGES = pool_spec(
    PARTIAL,
    ONE_SCALE,
    Predicate("pads do not count", _counts_pads),
    Predicate("a product gives the quotients of all sums", _unproved_quotients),
)


@kernel(("AvgPooling1D", "AvgPooling2D"), replace(_AVERAGES, rounding="double"))
class AverageLineInt8(_Average):
    """As TensorFlow Lite's kernels divide."""


@kernel("AvgPoolingHalvesUp2D", replace(_AVERAGES, rounding="double"))
class AverageUpLineInt8(_AverageUp):
    """The same of tensors that were uint8."""
