# SPDX-License-Identifier: MIT
"""int8 means over windows, pixel by pixel: from the sums of columns where they decide the levels, else in float32."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import Order

from .assembly import c_function
from .lines import line_elements
from .mean_direct_text import MOST_SUMS, MOST_TAPS, FloatRun, LineRun
from .mean_lines import DROPS, NONE, Line, MeanLines
from .pooling import pool_spec
from .quotients import bits_of, quotients_hold

FEWEST_CHANNELS = 5  # fewer are gathered from several pixels (mean_line.h)
TABLE_BYTES = 4 * 256
NEAR_END = 0.4  # of a level: float32 errs by much less than what is left to the middle
PLACES = 16  # bytes behind the line that a vector may read
LARGE = 0x4B400000  # the bits of 2^23 + 2^22: the sum with it rounds half to even, where the zero point is even
PARAMETERS = (("const int32_t *", "numbers"),)


@dataclass(frozen=True)
class _Kinds:
    """Of each pair of a kind of rows and one of columns a line that gives the levels, or None: they are computed in float32."""

    lines: tuple[Line | None, ...]
    drop: int


class AvgPoolDirect(MeanLines):
    """Both ways in one layer."""

    @cached_property
    def found(self) -> _Kinds:
        """The drop with the most lines."""
        best = _Kinds((), DROPS[0])
        for drop in DROPS:
            found = [self.line(*pair, drop) for pair in self.pairs()]
            lines = tuple(line if line and not line.suspects else None for line in found)
            if not best.lines or lines.count(None) < best.lines.count(None):
                best = _Kinds(lines, drop)
        return best

    @property
    def in_float(self) -> list[int]:
        """The pairs that are computed in float32."""
        return [index for index, line in enumerate(self.found.lines) if line is None]

    @property
    def windows(self) -> list[tuple[int, int]]:
        """Rows and columns that the windows of each pair see."""
        rows, columns = self.window_kinds()
        return [(row[0], column[0]) for row, column in itertools.product(rows, columns)]

    def divisors(self, count: int) -> tuple[numpy.float32, ...]:
        """What sums of so many values are divided by, one after the other: once where the count is a power of two."""
        scale = numpy.float32(self.outputs[0].quantization.scale)
        return (numpy.float32(count) * scale,) if count & (count - 1) == 0 else (numpy.float32(count), scale)

    def run(self, index: int) -> FloatRun:
        """The function that computes a pair in float32."""
        (rows, columns), (taps, count) = self.windows[index], self.pairs()[index]
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        values = numpy.array([taps * (end - data.zero_point) for end in DType.int8.range], numpy.float64) * float(data.scale)
        ends = values / (count * float(result.scale)) + result.zero_point
        saturates = bool(ends[0] < DType.int8.range[0] - NEAR_END or ends[1] > DType.int8.range[1] + NEAR_END)
        adds = not saturates and result.zero_point % 2 == 0
        return FloatRun(rows, columns, len(self.divisors(count)), saturates, adds, self.clamps())

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        node = cls(view)
        line = 2 * line_elements(node) + PLACES if len(node.in_float) < len(node.pairs()) else 0
        return replace(super().demands(view), scratch_bytes=line + TABLE_BYTES * bool(node.in_float))

    def call(self) -> Call:
        runs = list(dict.fromkeys(self.run(index) for index in self.in_float))
        numbers = [self._numbers_of(index, runs) for index in range(len(self.pairs()))]
        rows, _ = self.window_kinds()
        row_kinds = [rows.index(kind) for kind in self.axis_kinds("height")]
        segments = self._segments()
        function, texts = self._texts(runs)
        function, of_rows, texts = self.of_rows(function, texts, row_kinds, PARAMETERS, "aidge_helium_direct_means")
        return Call(
            function,
            ("mean_direct.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("numbers", numpy.array(numbers, numpy.int64).astype(numpy.uint32).view(numpy.int32)),
                of_rows,
                Constant("columns", numpy.array(segments, numpy.int32)),
                self._layer(len(segments)),
            ),
            "integers proved equal where sums decide, else float32 in onnxruntime's order" if runs else "integers proved equal",
            texts=texts,
            facts=computed("8 values" if len(self.in_float) < len(self.pairs()) else "4 values"),
        )

    def _segments(self) -> list[tuple[int, int]]:
        """Neighbouring pixels of one kind whose windows begin at the same tap, and the kind."""
        shape, (_, columns) = self.shape().fields, self.window_kinds()
        starts = (place * shape["stride_width"] - shape["pad_left"] for place in range(shape["out_width"]))
        places = [(kind, min(start, 0)) for kind, start in zip(self.axis_kinds("width"), starts)]
        return [(len(list(group)), columns.index(kind)) for (kind, _), group in itertools.groupby(places)]

    def _layer(self, segments: int) -> Struct:
        (low, high), data = self.levels(), self.inputs[0].quantization
        fields = {
            "shape": tuple(self.shape().fields.values()),
            "kinds": len(self.window_kinds()[1]),
            "segments": segments,
            "zero_point": data.zero_point,
            "scale": bits_of(numpy.float32(data.scale)),
            "lowest": low,
            "highest": high,
        }
        return Struct("aidge_helium_direct_means", fields)

    def _numbers_of(self, index: int, runs: list[FloatRun]) -> list[int]:
        """As mean_direct.h names them."""
        line, (_, count) = self.found.lines[index], self.pairs()[index]
        if line is not None:
            exact = self.numbers_of(line, count)[-5:]
            return [0, line.multiplier, line.start, 0, 0, 0, count, *exact]
        run = self.run(index)
        pairs = [number for divisor in self.divisors(count) for number in (bits_of(1 / divisor), bits_of(-divisor))]
        zero_point = self.outputs[0].quantization.zero_point
        exact = self.numbers_of(Line(0, 0, (NONE, NONE)), count)[-5:]
        return [1 + runs.index(run), *(pairs * 2)[:4], zero_point + LARGE * run.adds, count, *exact]

    def _texts(self, runs: list[FloatRun]) -> tuple[str, tuple[str, ...]]:
        """The function of the layer, and all that it needs."""
        columns = int(self.shape().fields["kernel_width"])
        is_odd = bool(self.shape().fields["in_channels"] % 2)
        has_lines = len(self.in_float) < len(self.pairs())
        line = LineRun(columns, self.found.drop, self.clamps(), is_odd) if has_lines else None
        texts = [run.text() for run in (*([line] if line else []), *runs)]
        names = [run.name.removeprefix("aidge_helium_").replace("_run", "") for run in (*([line] if line else []), *runs)]
        name = "aidge_helium_direct_" + "_and_".join(names)
        return name, (*texts, _driver(name, line, runs, self.found.drop))


def _driver(name: str, line: LineRun | None, runs: list[FloatRun], drop: int) -> str:
    """The function for all images."""
    cases: list[str] = []
    if line:
        cases += [
            "if (own[AIDGE_HELIUM_DIRECT_RUN] == 0) {",
            "    if (is_summed == 0) {",
            "        aidge_helium_sums_of_rows(sums + shape->pad_left * channels, from, line.row_step, rows, "
            "line.inside * channels);",
            "        is_summed = 1;",
            "    }",
            "    aidge_helium_run_of(&run, own, pixels, &line, 8, 2);",
            f"    {line.name}(y, sums + column * line.stride, &run);",
            "}",
        ]
    if runs:
        seen = [
            "const int32_t left = column * shape->stride_width - shape->pad_left;",
            "const int32_t tap = aidge_kit_first_tap(left, shape->dilation_width);",
            "const int8_t *const seen = from + (left + tap * shape->dilation_width) * channels;",
            "aidge_helium_run_of(&run, own, pixels, &line, 4, 1);",
        ]
        calls = [f"{one.name}(y, seen, &run);" for one in runs]
        chosen = calls if len(calls) == 1 else ["switch (own[AIDGE_HELIUM_DIRECT_RUN]) {"]
        for number, call in enumerate(calls if len(calls) > 1 else [], 1):
            label = f"case {number}:" if number < len(calls) else "default:"
            chosen += [label, f"    {call}", "    break;"]
        chosen += ["}"] if len(calls) > 1 else []
        body = [*seen, *chosen]
        cases = [*cases[:-1], "} else {", *(f"    {text}" for text in body), "}"] if line else body
    rows = [
        "#if AIDGE_HELIUM_ASSEMBLY",
        "        const int32_t rows =",
        "            aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first;",
        "        int32_t is_summed = 0;",
        "#endif",
    ]
    indented = [f"            {text}" for text in cases]
    return c_function(
        name,
        "const int8_t *x, int8_t *y, void *scratch, const int32_t *numbers, const int32_t *row_kinds, const int32_t *segments, "
        "const aidge_helium_direct_means *layer",
        [
            "const aidge_kit_window2d *const shape = &layer->shape;",
            "const aidge_helium_line line = aidge_helium_line_of(shape);",
            "const int32_t channels = line.channels;",
            "int32_t batch, out_y, segment;",
            "#if AIDGE_HELIUM_ASSEMBLY",
            "aidge_helium_mean_run run;",
            *([f"int16_t *const sums = (int16_t *)scratch + {TABLE_BYTES // 2 * bool(runs)};"] if line else []),
            *(["(void)memset(sums, 0, (uint32_t)(2 * line.columns * channels));"] if line else []),
            *(["run.table = (const float *)scratch;", "aidge_helium_values_of_bytes((float *)scratch, layer);"] if runs else []),
            "run.row_step = line.row_step;",
            "run.lowest = layer->lowest;",
            "run.highest = layer->highest;",
            "#else",
            "(void)scratch;",
            "#endif",
            "for (batch = 0; batch < shape->batches; batch++) {",
            "    for (out_y = 0; out_y < shape->out_height; out_y++) {",
            "        const int32_t top = out_y * shape->stride_height - shape->pad_top;",
            "        const int32_t first = aidge_kit_first_tap(top, shape->dilation_height);",
            "        const int8_t *const from = x + (top + first * shape->dilation_height) * line.in_row;",
            "        int32_t column = 0;",
            *(rows if line else []),
            "        for (segment = 0; segment < 2 * layer->segments; segment += 2) {",
            "            const int32_t *const own =",
            "                numbers + AIDGE_HELIUM_DIRECT_KIND * (row_kinds[out_y] * layer->kinds + segments[segment + 1]);",
            "            const int32_t pixels = segments[segment];",
            "#if AIDGE_HELIUM_ASSEMBLY",
            *indented,
            "#else",
            f"            aidge_helium_direct_means_of(y, from, top, column, pixels, own, {drop}, layer);",
            "#endif",
            "            column += pixels;",
            "            y += pixels * channels;",
            "        }",
            "    }",
            "    x += shape->in_height * line.in_row;",
            "}",
        ],
    )


def _not_direct(view: NodeView) -> str:
    node = AvgPoolDirect(view)
    shape, in_float = node.shape().fields, node.in_float
    if shape["in_channels"] < FEWEST_CHANNELS:
        return f"{shape['in_channels']} channels, wants at least {FEWEST_CHANNELS}"
    if len(in_float) < len(node.pairs()) and shape["kernel_width"] > MOST_SUMS:
        return f"{shape['kernel_width']} taps in a row, at most {MOST_SUMS}"
    if in_float and shape["kernel_height"] > 1 and node.order() is not Order.COLUMNS:
        return "values are not added up by columns"
    if max((node.pairs()[index][0] for index in in_float), default=0) > MOST_TAPS:
        return f"a window in float32 has more than {MOST_TAPS} taps"
    if in_float and all(any(node.line(*node.pairs()[index], drop) for drop in DROPS) for index in in_float):
        return "a line misses but one or two sums of each window"
    return ""


def _unproved(view: NodeView) -> str:
    node, result = AvgPoolDirect(view), view.outputs[0].quantization
    counts = sorted({node.pairs()[index][1] for index in node.in_float})
    holds = all(quotients_hold(node.divisors(count), count, result.scale, result.zero_point) for count in counts)
    return "" if holds else "a product and its correction are no quotient near a tie"


@kernel(
    ("AvgPooling1D", "AvgPooling2D"),
    pool_spec(
        PARTIAL,
        IN_INTEGERS,
        Predicate("short windows of several channels, some levels decided by sums", _not_direct),
        Predicate("quotients near a tie are proved", _unproved),
    ),
)
class AvgPoolDirectInt8(AvgPoolDirect):
    """As float32 gives them."""
