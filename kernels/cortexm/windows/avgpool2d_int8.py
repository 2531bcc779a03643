# SPDX-License-Identifier: MIT
"""int8 means of windows, 4 channels in two words of sums."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL, MeanPool
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import MeanLine, Order, mean_line

from ..core.conditions import FEATURES, has_fpu
from .mean_halves import are_halves, halves_text
from .mean_windows import unsure_text, window_text, window_text_without_fpu
from .pools import pool_spec
from .windows_inside import WindowsInside, cut_shape

MOST_TAPS = 255  # whose sums fit int16
BITS = range(22, 11, -1)  # of the fraction of a scaled sum
EVERYTHING = -1  # is unsure


def _sizes(view: NodeView) -> str:
    window = getattr(view.operator, "window", None)
    taps = math.prod(window.kernel if window else view.inputs[0].dims[2:])
    return "" if taps <= MOST_TAPS else f"{taps} taps, wants at most {MOST_TAPS}"


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    pool_spec(FEATURES, Predicate(f"at most {MOST_TAPS} taps", _sizes), PARTIAL, IN_INTEGERS),
)
class AvgPool2dInt8(WindowsInside, MeanPool):
    def _lines(self) -> tuple[int, list[MeanLine]]:
        """The most fraction bits with which every count has a line, and these; 0 bits and none where there are no such."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        ends = [end - data.zero_point for end in DType.int8.range]
        pairs = list(zip(self.counts(), self.means()))
        for bits in BITS if not self.clamps() else ():
            lines = [mean_line(mean, bits, result.zero_point, *(count * end for end in ends)) for count, mean in pairs]
            if None not in lines:
                return bits, lines
        return 0, []

    def _counts_pads(self) -> bool:
        return getattr(self.operator, "counts_pads", False)

    def _row_text(self, bits: int, shape: Mapping[str, int], is_cut: bool = False) -> tuple[str, str]:
        """Name and text of a row of windows of this shape inside the image; `is_cut`: they are what lies inside of others."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        taps = shape["kernel_height"] * shape["kernel_width"]
        if not has_fpu(self.view):
            return window_text_without_fpu(shape, bits, self.order())
        if is_cut and self._counts_pads():
            return window_text(shape, bits, self.order(), counts_pads=True)
        if are_halves(taps, dict(zip(self.counts(), self.means()))[taps], data, result):
            return halves_text(shape, self.order(), data.zero_point != result.zero_point)
        return window_text(shape, bits, self.order())

    def _texts(self, bits: int) -> tuple[str, tuple[str, ...]]:
        """Name of the function of a layer, texts of its rows and its own."""
        shape, sizes = self.shape().fields, self.cut_sizes()
        row, text = self._row_text(bits, shape)
        cut = [self._row_text(bits, cut_shape(shape, size), is_cut=True) for size in sizes]
        name = row.replace("means", "avgpool2d_int8") + "".join(map(_of_cut, sizes, (function for function, _ in cut)))
        single = "aidge_cortexm_means_of_window(source, output, &mean, shape->in_channels);"
        others = self.by_size_in_c([function for function, _ in cut], "source, output, &mean, pixels", "mean.window.", single)
        rows = _KEPT if has_fpu(self.view) else _FOUND
        inside = {part: text.format(row=row) for part, text in rows.items()}
        layer = _LAYER.format(name=name, others=textwrap.indent(others, " " * 20), **inside, **self.run_in_c())
        unsure = () if has_fpu(self.view) else (unsure_text(self.order()),)
        return name, (*unsure, text, *(text for _, text in cut), layer)

    def _numbers_of(self, bits: int, lines: list[MeanLine]) -> numpy.ndarray:
        """For each count as in avgpool2d_int8.h."""
        own = [[line.multiplier, line.start, line.unsure << (32 - bits), bits] for line in lines]
        own = own or [[0, 0, EVERYTHING, 1]] * len(self.counts())
        shared = self.numbers().values.reshape(len(own), -1).tolist()
        return as_words([number for row in zip(shared, self.counts(), own) for number in (*row[0], row[1], *row[2])])

    def call(self) -> Call:
        counts, ends, inside = self.counts(), self.counted_ends(), self.inside()
        bits, lines = self._lines()
        name, texts = "aidge_cortexm_avgpool2d_int8", ()
        if bits and self.has_inside() and (has_fpu(self.view) or self.order() is not Order.LANES):
            name, texts = self._texts(bits)
        layer = Struct(
            "aidge_cortexm_means",
            {
                "shape": tuple(self.shape().fields.values()),
                "order": int(self.order()),
                "kinds": len(counts),
                "counted_height": ends[0].value,
                "counted_width": ends[1].value,
                **inside,
            },
        )
        return Call(
            name,
            ("windows/avgpool2d_int8.h",),
            (Input(0), Output(0), Constant("numbers", self._numbers_of(bits, lines)), layer),
            "integers, near a tie float32 in onnxruntime's order",
            texts=texts,
            facts=computed("4 channels"),
        )


def _of_cut(size: tuple[int, int], function: str) -> str:
    """The part of a layer's name that describes the function of cut windows."""
    kinds = [kind for kind in ("counted", "halves", "saturated") if kind in function]
    return "_".join(["", f"{size[0]}x{size[1]}", *kinds])


# The begin of a row of windows inside the image: its mean is kept, or found again for each window, which takes less stack.
_KEPT = {
    "declared": """\
    const int32_t step = shape->stride_height * shape->in_width * shape->in_channels;
    aidge_cortexm_mean2d mean, of_inside;
    const int8_t *inside = input;""",
    "begun": "    of_inside = mean;\n",
    "inside": """\
                    inside = y > layer->first_y ? inside + step : aidge_cortexm_window_at(&of_inside, input, y, x);
                    {row}(inside, output, &of_inside, pixels);""",
}
_FOUND = {
    "declared": "    aidge_cortexm_mean2d mean;",
    "begun": "",
    "inside": """\
                    const int8_t *const inside = aidge_cortexm_window_at(&mean, input, y, x);
                    {row}(inside, output, &mean, pixels);""",
}
_LAYER = """\
/* Means whose windows lie inside the image row by row, the others one by one. */
static void {name}(
    const int8_t *input, int8_t *output, const int32_t *numbers, const aidge_cortexm_means *layer)
{{
    const aidge_kit_window2d *const shape = &layer->shape;
{declared}
    int32_t batch, y, x;
    aidge_cortexm_mean2d_begin(&mean, numbers, layer);
{begun}    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t is_inside = (int32_t)((y >= layer->first_y) && (y < layer->end_y));
            x = 0;
            while (x < shape->out_width) {{
                int32_t pixels = x == layer->first_x ? {pixels} : 1;
                if ((is_inside != 0) && (x == layer->first_x){enough}) {{
{inside}
                }} else {{
                    const int8_t *const source = aidge_cortexm_window_at(&mean, input, y, x);
{others}
                }}
                output += pixels * shape->in_channels;
                x += pixels;
            }}
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
