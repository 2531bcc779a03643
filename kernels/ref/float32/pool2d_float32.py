# SPDX-License-Identifier: MIT
"""float32 maxima and means of windows over one or two axes, and over the whole map; generated."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .linear_float32 import bounds

_SPEC = ImplSpec(IOSpec(DType.float32, CHANNELS_LAST))


@dataclass(frozen=True)
class _Windows:
    """The function of each window, in C."""

    name: str
    purpose: str
    variable: str
    first: str
    step: str
    result: str
    more: str = ""  # parameters
    count: str = ""  # of taps, computed for each window

    @property
    def text(self) -> str:
        return f"""/* {self.purpose}, float32, channels last, within bounds {{lowest, highest}}. */
static void {self.name}(const float *input, float *output, const float *bounds,
                                        {self.more}const aidge_kit_window2d *shape)
{{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    int32_t batch, y, x, channel, row, column;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
                const int32_t columns = end_x - first_x;
                const float *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;{self.count}
                for (channel = 0; channel < channels; channel++) {{
                    float {self.variable} = {self.first};
                    for (row = 0; row < rows; row++) {{
                        const float *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = columns; column > 0; column--) {{
                            {self.step};
                            tap += shape->dilation_width * channels;
                        }}
                    }}
                    *output++ = aidge_ref_clamp_float32({self.result}, bounds);
                }}
            }}
        }}
        input += shape->in_height * in_row;
    }}
}}"""

    def call(self, node: PoolNode, *more: Literal) -> Call:
        headers = ("shared/each.h", "float32/clamp_float32.h", "kit/window2d.h")
        return Call(self.name, headers, (Input(0), Output(0), bounds(node.operator), *more, node.shape()), texts=(self.text,))


_MAXIMA = _Windows(
    "aidge_ref_maxpool2d_float32",
    "The largest value of each window; taps in the pads never win",
    variable="largest",
    first="-INFINITY",
    step="largest = *tap > largest ? *tap : largest",
    result="largest",
)
_MEANS = _Windows(
    "aidge_ref_avgpool2d_float32",
    "The mean of each window: of taps inside the image or, if counted_height is not 0, above and left of where counting ends",
    variable="sum",
    first="0.0f",
    step="sum += *tap",
    result="sum / count",
    more="int32_t counted_height, int32_t counted_width, ",
    count="""
                const float count = (float)(counted_height == 0 ? rows * columns
                    : aidge_kit_end_tap(top, shape->dilation_height, counted_height, shape->kernel_height)
                      * aidge_kit_end_tap(left, shape->dilation_width, counted_width, shape->kernel_width));""",
)


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), _SPEC)
class MaxPool2dFloat32(PoolNode):
    def call(self) -> Call:
        return _MAXIMA.call(self)


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), _SPEC)
class AvgPool2dFloat32(PoolNode):
    def call(self) -> Call:
        self.counts()  # refuses windows without a position
        return _MEANS.call(self, *self.counted_ends())
