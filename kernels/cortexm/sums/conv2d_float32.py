# SPDX-License-Identifier: MIT
"""float32 convolution over one or two axes, 4 pixels x 4 channels at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aidge_build.contract.call import Call, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_float32 import limits, linear_float_spec
from aidge_build.contract.kernel_kit.linear_int16 import GROUPS_OF_4
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import window_or_row
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..core.conditions import GROUP
from ..core.float32 import FEATURES, CortexmLinearFloat32
from ..windows.pixels_float32 import column_text, direct_text
from .window import SCRATCH_BYTES

PIXELS = 4  # at a time
VALUE_BYTES = 4 * 4  # of a value of 4 pixels in the column


def _values(fields: Mapping[str, int]) -> int:
    return fields["kernel_height"] * fields["kernel_width"] * fields["in_channels"]


def _column_bytes(fields: Mapping[str, int], pointer_bytes: int) -> int:
    """0 where the column would be too large: then the groups of channels read the image."""
    size = VALUE_BYTES * _values(fields)
    return size if size <= SCRATCH_BYTES - _table_bytes(fields, pointer_bytes) else 0


def _table_bytes(fields: Mapping[str, int], pointer_bytes: int) -> int:
    """Pointers to where 4 pixels go, to the column and its end; runs, each 4 pointers and a length; zeros as long as a run."""
    runs = fields["kernel_height"] * fields["kernel_width"]
    return (6 + 5 * runs) * pointer_bytes + 4 * fields["kernel_width"] * fields["in_channels"]


@kernel(("Conv1D", "Conv2D"), linear_float_spec(FEATURES, GROUPS_OF_4, ONE_GROUP))
class Conv2dFloat32(CortexmLinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        fields, pointer = window_or_row(view).fields, view.pointer_bytes
        scratch = _table_bytes(fields, pointer) + _column_bytes(fields, pointer)
        return replace(convolution_demands(view, PIXELS), scratch_bytes=scratch, scratch_alignment=pointer)

    def call(self) -> Call:
        shape, stream = window_or_row(self.view), self.stream(taps_last_channels(self.inputs[1].data), GROUP)
        has_column = _column_bytes(shape.fields, self.view.pointer_bytes) > 0
        pixels, text = column_text(_values(shape.fields), self.clamp) if has_column else direct_text(self.clamp)
        layer = Struct(
            "aidge_cortexm_conv2d_float32", {"window": tuple(shape.fields.values()), "stream_words": stream.values.size}
        )
        name = pixels.replace("pixels", "conv2d", 1)
        return Call(
            name,
            ("sums/conv2d_float32.h",),
            (Input(0), Output(0), stream, limits(self.operator), Scratch(), layer),
            texts=(text, _layer(name, pixels)),
            facts=computed(f"4 pixels x 4 channels{' through a column' if has_column else ''}"),
        )


def _layer(name: str, pixels: str) -> str:
    """The C function around the assembly."""
    return f"""/* Convolution of float32, channels last: 4 pixels at a time. */
static void {name}(
    const float *input, float *output, const int32_t *stream, const float *limits, void *scratch,
    const aidge_cortexm_conv2d_float32 *layer)
{{
    const aidge_kit_window2d *const shape = &layer->window;
    aidge_cortexm_table_float32 *const table = aidge_cortexm_table_of_float32(scratch, shape);
    const int32_t in_floats = shape->in_height * shape->in_width * shape->in_channels;
    const int32_t pixels = shape->out_height * shape->out_width;
    int32_t batch, left;
    for (batch = shape->batches; batch > 0; batch--) {{
        aidge_cortexm_walk_float32 walk = {{output, -shape->pad_top, -shape->pad_left, shape->out_width}};
        for (left = pixels; left > 0; left -= 4) {{
            const int32_t runs = aidge_cortexm_next_runs_float32(&walk, table, input, left, shape);
            {pixels}(table, stream, runs, stream + layer->stream_words, limits);
        }}
        input += in_floats;
        output += pixels * shape->out_channels;
    }}
}}"""
