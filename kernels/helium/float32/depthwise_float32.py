# SPDX-License-Identifier: MIT
"""float32 depthwise convolution over one or two axes, of at least four channels."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.linear_float32 import LinearFloat32, limits, linear_float_spec
from aidge_build.contract.kernel_kit.raster import depthwise_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.assembly import WORD_REACH
from ..core.conditions import MVE
from .deep import LANES, RUNS, Deep, deep_stream
from .real import clamp_of

MOST_COLUMNS = 5  # taps of a row that are known while generating
MOST_PIXELS = 4  # of a block


def _few_channels(view: NodeView) -> str:
    channels = view.inputs[0].dims[1]
    return "" if channels >= LANES else f"{channels} channels, wants at least {LANES}"


def _window(view: NodeView) -> Struct:
    """The shape; rows of a band stay rows, so that all bands are computed by the same blocks."""
    operator = view.operator
    return window2d(view.inputs[0], view.outputs[0], operator.window, operator.groups, is_upright=view.layer is not None)


def _block(view: NodeView) -> Deep:
    """The form of a block of pixels with the fewest instructions for a row, by estimate."""
    fields = _window(view).fields
    further = fields["in_channels"] % LANES > 0, clamp_of(view.operator)
    if view.objective == "size":  # the output may then follow the input more closely, too
        return Deep(1, 0, 0, *further)
    taps, width = fields["kernel_width"], fields["out_width"]
    if taps > MOST_COLUMNS or fields["dilation_width"] > 1 or width < 2:
        return Deep(RUNS, 0, 0, *further)
    step = 4 * fields["in_channels"]
    form = taps, fields["stride_width"], *further, step if step <= WORD_REACH else 0
    blocks = [Deep(pixels, *form) for pixels in range(2, min(width, MOST_PIXELS) + 1)]
    rows = fields["kernel_height"]
    return min((block for block in blocks if block.fits), key=lambda block: -(-width // block.pixels) * block.instructions(rows))


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_float_spec(MVE, Predicate("at least 4 channels", _few_channels)))
class DepthwiseFloat32(LinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        over = view.inputs[0].dims[1] % LANES
        return depthwise_demands(view, _block(view).pixels, (LANES - over) % LANES)

    def call(self) -> Call:
        block = _block(self.view)
        one = Deep(1, 0, 0, block.overlaps, block.clamp)
        weights = self.inputs[1].data
        stream = deep_stream(weights.reshape(len(weights), -1), self.bias())
        name = f"aidge_helium_depthwise_float32_{block.suffix}"
        return Call(
            name,
            ("float32/depthwise.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", numpy.ascontiguousarray(stream)),
                limits(self.operator),
                _window(self.view),
            ),
            texts=(one.text(), block.text(), _driver(name, one, block)),
            facts=computed(f"{block.pixels} pixels x {LANES} channels"),
        )


def _driver(name: str, one: Deep, block: Deep) -> str:
    """The C function around the assembly."""
    return f"""/* Depthwise convolution of float32, channels last, row by row. */
static void {name}(
    const float *x, float *y, const float *stream, const float *limits, const aidge_kit_window2d *shape)
{{
    aidge_helium_deep_float32 strip;
    int32_t batch, row, column;
    aidge_helium_deep_strips_float32(&strip, limits, shape);
    for (batch = 0; batch < shape->batches; batch++) {{
        for (row = 0; row < shape->out_height; row++) {{
            column = 0;
            while (column < shape->out_width) {{
                const int32_t end = aidge_helium_next_deep_float32(
                    &strip, x, row, column, {block.pixels}, {block.outside}, shape);
                float *const target = y + strip.column * shape->in_channels;
                if (end - strip.column > 1) {{
                    {block.name}(&strip, target, stream);
                }} else {{
                    {one.name}(&strip, target, stream);
                }}
                column = end;
            }}
            y += shape->out_width * shape->in_channels;
        }}
        x += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
