# SPDX-License-Identifier: MIT
"""float32 convolution over one or two axes, three pixels x eight output channels at a time; no scratch."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Struct, computed
from aidge_build.contract.kernel_kit.linear_float32 import LinearFloat32, limits, linear_float_spec
from aidge_build.contract.kernel_kit.raster import raster_demands
from aidge_build.contract.kernel_kit.window2d import window_or_row
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..core.assembly import loop, pays_for_text
from ..core.conditions import MVE
from .gathered import LANES, Gathered, pays
from .real import clamp_of, is_limited
from .strip import GROUP, PIXELS, SLACK, Strip, stream_of

MOST_STRAIGHT = 16  # values of a row


@kernel(("Conv1D", "Conv2D"), linear_float_spec(MVE))
class Conv2dFloat32(LinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        shape = window_or_row(view)
        fields = shape.fields
        # Groups of channels come one after the other along a row.
        together = most_pixels(view) if fields["groups"] == 1 else fields["out_width"]
        together = LANES if is_gathered(view, shape) else together
        return replace(raster_demands(fields, view.inputs[0], view.outputs[0], together), output_stride=True)

    def call(self) -> Call:
        rows = numpy.moveaxis(self.inputs[1].data, 1, -1).reshape(self.inputs[1].dims[0], -1).astype(numpy.float32)
        return conv2d_call(self.view, window_or_row(self.view), rows, self.bias(), self.output_gap)


def most_pixels(view: NodeView) -> int:
    """That are computed together: for a small image and little RAM one, as the output may follow the input more closely."""
    return 1 if view.objective == "size" else PIXELS


def conv2d_call(view: NodeView, shape: Struct, rows: numpy.ndarray, bias: numpy.ndarray, gap: int = 0) -> Call:
    """A convolution with weights `rows` [outputs, values of a window], clamped as the operator says."""
    operator = view.operator
    groups, dilation, taps = (shape.fields[name] for name in ("groups", "dilation_width", "kernel_width"))
    outputs = len(rows) // groups
    if is_gathered(view, shape):
        return _gathered_call(view, shape, rows, bias, gap)
    blocks = [slice(first, first + outputs) for first in range(0, len(rows), outputs)]
    parts = [stream_of(rows[block], bias[block]) for block in blocks]
    apart = taps > 1 and (groups > 1 or dilation > 1)
    strips = [Strip.of(pixels, outputs, apart, is_limited(operator)) for pixels in range(1, most_pixels(view) + 1)]
    if len(strips) == PIXELS and not apart:
        strips[-1] = replace(strips[-1], run=_straight_run(shape, outputs))
    name = f"aidge_helium_conv2d_float32_{len(strips)}x{'groups_of_' * (groups > 1)}{strips[-1].suffix}"
    stream = Constant("stream", numpy.concatenate([*parts, SLACK]))
    sizes = [Literal(parts[0].size)] if groups > 1 else []
    return Call(
        name,
        ("float32/conv2d.h",),
        (Input(0), Output(0), stream, limits(operator), *sizes, Literal(gap), shape),
        texts=(*(strip.text() for strip in strips), driver(name, strips, groups > 1)),
        facts=computed(f"{len(strips)} pixels x {min(GROUP, outputs)} channels"),
    )


def _straight_run(shape: Struct, outputs: int) -> int:
    """Values of a row of the window that PIXELS neighbours see in a straight line; 0 where that does not pay."""
    fields = shape.fields
    rows, run = fields["kernel_height"], fields["kernel_width"] * fields["in_channels"]
    end = (fields["out_height"] - 1) * fields["stride_height"] - fields["pad_top"]
    if run > MOST_STRAIGHT or fields["dilation_height"] > 1 or fields["pad_top"] >= rows or end >= fields["in_height"]:
        return 0
    strips = fields["batches"] * fields["out_height"] * (fields["out_width"] // PIXELS) * -(-outputs // GROUP)
    return run if pays_for_text(strips * rows * 10, 10 * run) else 0


def is_gathered(view: NodeView, shape: Struct) -> bool:
    """Whether the layer is one row of pixels, each of which becomes a pixel, and the pixels in the lanes take less."""
    fields = shape.fields
    sizes = (fields[name] for name in ("batches", "groups", "out_height", "kernel_height", "kernel_width", "stride_width"))
    if most_pixels(view) == 1 or set(sizes) != {1} or fields["in_width"] != fields["out_width"] or fields["pad_left"] > 0:
        return False
    (output,) = (view.layer.whole if view.layer else view).outputs  # all bands of a layer have the same weights
    return pays(output.elements // fields["out_channels"], fields["in_channels"], fields["out_channels"])


def _gathered_call(view: NodeView, shape: Struct, rows: numpy.ndarray, bias: numpy.ndarray, gap: int) -> Call:
    """The same with four pixels in the lanes."""
    operator, (outputs, values) = view.operator, rows.shape
    form, counts = Gathered.best(shape.fields["out_width"], outputs, values, clamp_of(operator))
    stream = Constant("stream", form.stream(rows, bias, counts))
    size = form.shape(shape.fields["out_width"], values, outputs, counts, gap)
    return Call(
        form.name,
        ("float32/gathered.h",),
        (Input(0), Output(0), stream, limits(operator), size),
        texts=(form.text(),),
        facts=computed(f"4 pixels x {form.group.outputs} channels"),
    )


def pixels_lines(strips: list[Strip], places: tuple[str, str]) -> list[str]:
    """C that computes a strip of `pixels`: where its outputs go, and where its stream begins."""
    calls = [f"{strip.name}(&strip, {', '.join(places)});" for strip in strips]
    if len(strips) == 1:
        return calls
    starts = zip(("if (pixels > 2) {", "} else if (pixels == 2) {", "} else {"), reversed(calls))
    return [*(line for start, call in starts for line in (start, f"    {call}")), "}"]


def driver(name: str, strips: list[Strip], in_groups: bool) -> str:
    """The C function around the assembly."""
    lines = pixels_lines(strips, ("y", "stream"))
    if in_groups:
        lines = [
            "const aidge_helium_strip_float32 first = strip;",
            *loop(
                "group",
                "shape->groups",
                [
                    "strip.source = first.source + group * aidge_kit_divide(shape->in_channels, shape->groups);",
                    "strip.blocks = first.blocks;",
                    *pixels_lines(strips, ("y + group * strip.channels", "stream + group * stream_values")),
                ],
            ),
        ]
    calls = "\n".join("                " + line for line in lines)
    return f"""/* Convolution of float32, channels last, row by row. */
static void {name}(
    const float *x, float *y, const float *stream, const float *limits, {"int32_t stream_values, " * in_groups}int32_t gap,
    const aidge_kit_window2d *shape)
{{
    aidge_helium_strip_float32 strip;
    int32_t batch, row, column, {"group, " * in_groups}pixels;
    aidge_helium_strips_float32(&strip, limits, gap, shape);
    for (batch = 0; batch < shape->batches; batch++) {{
        for (row = 0; row < shape->out_height; row++) {{
            for (column = 0; column < shape->out_width; column += pixels) {{
                pixels = aidge_helium_next_strip_float32(&strip, x, row, column, {len(strips)}, {int(strips[0].apart)}, shape);
{calls}
                y += pixels * (shape->out_channels + gap);
            }}
        }}
        x += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
