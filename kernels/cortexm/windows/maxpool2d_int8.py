# SPDX-License-Identifier: MIT
"""int8 maxima over windows and over the whole map, 4 channels in a word."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from .narrow_windows import narrow_row, store_lanes
from .pools import pool_spec
from .windows_inside import (
    WindowsInside,
    all_channels,
    are_flat,
    cut_shape,
    is_narrow,
    lanes_of,
    loads,
    name_of,
    step_of,
)

PARAMETERS = "const int8_t *source, int8_t *output, int32_t pixels"


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), pool_spec(frozenset({"dsp"}), SAME_QUANTIZATION))
class MaxPool2dInt8(WindowsInside):
    def call(self) -> Call:
        shape = self.shape()
        name, texts = "aidge_cortexm_maxpool2d_int8", ()
        if self.has_inside() and self.levels() == DType.int8.range:
            row, text = _row_text(shape.fields)
            sizes = self.cut_sizes()
            rows = [_row_text(cut_shape(shape.fields, size)) for size in sizes]
            name = row.replace("largest", "maxpool2d_int8") + "".join(f"_{rows}x{columns}" for rows, columns in sizes)
            texts = (text, *(text for _, text in rows), self._layer_text(name, row, [function for function, _ in rows]))
        return Call(
            name,
            ("windows/maxpool2d_int8.h",),
            (
                Input(0),
                Output(0),
                Constant("levels", numpy.array(self.levels(), numpy.int8)),
                Struct("aidge_cortexm_maxima", {"shape": tuple(shape.fields.values()), **self.inside()}),
            ),
            texts=texts,
            facts=computed("4 channels" if texts else "16 channels"),
        )

    def _layer_text(self, name: str, row: str, cut: list[str]) -> str:
        """The function of a layer whose rows and cut windows have these functions."""
        single = "aidge_cortexm_maximum(input, output, levels, shape, y, x);"
        others = self.by_size_in_c(cut, "source, output, pixels", "taps.", single)
        taps = "aidge_cortexm_taps2d taps;\nconst int8_t *const source = aidge_cortexm_taps_of(&taps, input, shape, y, x);\n"
        others = textwrap.indent(taps * bool(cut) + others, " " * 20)
        return _LAYER.format(name=name, row=row, others=others, **self.run_in_c())


def _row_text(shape: Mapping[str, int]) -> tuple[str, str]:
    """Name and text of a row of windows inside the image."""
    name, code = f"aidge_cortexm_largest_{name_of(shape)}", Routine()

    def four() -> None:
        for index, word in enumerate(loads(code, shape)):
            if index:
                code(f"ssub8 %difference, %largest, {word}")
                code(f"sel %largest, %largest, {word}")
            else:
                code(f"mov %largest, {word}")
        store_lanes(code, "%largest", lanes_of(shape))

    code("%enter")
    if is_narrow(shape):
        code.constant("%channels", shape["in_channels"])
        code("mla %end, %pixels, %channels, %output")
        narrow_row(code, shape, four)
    elif are_flat(shape):
        code.constant("%channels", shape["in_channels"])
        code("mul %pixels, %pixels, %channels", "values")
        all_channels(code, shape, four, "%pixels")
    else:
        code.label("pixel", "a pixel")
        all_channels(code, shape, four)
        code("subs %pixels, %pixels, #1")
        code("bne %pixel")
    code("%leave")
    distances = shape["dilation_height"] * shape["in_width"], shape["dilation_width"]
    numbers = (shape["kernel_height"], shape["kernel_width"], *(distance * shape["in_channels"] for distance in distances))
    portable = (
        f"static const aidge_cortexm_taps2d taps = {{{', '.join(map(str, numbers))}}};\n"
        f"    aidge_cortexm_largest_of_row(source, output, pixels, {step_of(shape)}, {shape['in_channels']}, &taps);"
    )
    return name, code.function(name, PARAMETERS, "Maxima of a row of windows inside the image.", portable)


_LAYER = """\
/* Maxima of the whole range: windows that lie inside the image row by row, the others one by one. */
static void {name}(
    const int8_t *input, int8_t *output, const int8_t *levels, const aidge_cortexm_maxima *layer)
{{
    const aidge_kit_window2d *const shape = &layer->shape;
    int32_t batch, y, x;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t is_inside = (int32_t)((y >= layer->first_y) && (y < layer->end_y));
            x = 0;
            while (x < shape->out_width) {{
                int32_t pixels = x == layer->first_x ? {pixels} : 1;
                if ((is_inside != 0) && (x == layer->first_x){enough}) {{
                    {row}(aidge_cortexm_first_of_window(input, shape, y, x), output, pixels);
                }} else {{
{others}
                }}
                output += pixels * shape->in_channels;
                x += pixels;
            }}
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
