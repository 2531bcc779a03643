# SPDX-License-Identifier: MIT
"""float32 maxima and means over windows, and over the whole map, channels last."""

from __future__ import annotations

import math
import textwrap

from aidge_build.contract.call import Call, Input, Output, computed
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .conditions import in_text
from .float32 import FEATURES, REAL
from .pools_float32_text import maxima_text, means_text

FLOAT = IOSpec(DType.float32, CHANNELS_LAST)
TOGETHER = {"speed": 25, "balanced": 9, "size": 0}  # taps in the text


def _clamped(view: NodeView) -> str:
    bounds = view.operator.minimum, view.operator.maximum
    return "" if bounds in ((-math.inf, math.inf), (0, math.inf)) else "a clamp that is no ReLU"


SPEC = ImplSpec((FLOAT,), (FLOAT,), features=FEATURES, predicates=(REAL, Predicate("no clamp but ReLU", _clamped)))


class _Pool(PoolNode):
    assembly = "needed"

    @property
    def has_relu(self) -> bool:
        return self.operator.minimum == 0

    def layer(self, names: tuple[str, str], texts: tuple[str, ...], channels: int) -> Call:
        """The call of a layer: the functions of whole windows and of any others."""
        whole, others = names
        name = f"{whole}_layer"
        height, width = self.counted_ends()
        calls = textwrap.indent(_ONE.format(whole) if whole == others else _BOTH.format(whole, others), " " * 20)
        text = _LAYER.format(name=name, calls=calls, empty="0.0f" if self.has_relu else "-INFINITY")
        return Call(
            name,
            ("pools_float32.h",),
            (Input(0), Output(0), height, width, self.shape()),
            texts=(*texts, text),
            facts=computed(f"{channels} channels"),
        )


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), SPEC)
class MaxPoolFloat32(_Pool):
    """Windows with few taps have all of them in the text; of those that the image's edges cut taps are counted."""

    def call(self) -> Call:
        shape = self.shape().fields
        size = shape["kernel_height"], shape["kernel_width"]
        channels = shape["in_channels"]
        any_name, any_text = maxima_text(None, channels, self.has_relu)
        if math.prod(size) > in_text(TOGETHER, self.view) or channels < 4:
            return self.layer((any_name, any_name), (any_text,), min(channels, 4))
        name, text = maxima_text(size, channels, self.has_relu)
        return self.layer((name, any_name), (any_text, text), 4)


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), SPEC)
class AvgPoolFloat32(_Pool):
    def call(self) -> Call:
        self.counts()  # refuses windows without a position
        channels = self.shape().fields["in_channels"]
        name, text = means_text(channels, self.has_relu)
        return self.layer((name, name), (text,), min(channels, 8))


_ONE = "{}(output, source, &seen, pixels);"
_BOTH = f"""\
if ((seen.rows == shape->kernel_height) && (seen.columns == shape->kernel_width)) {{{{
    {_ONE}
}}}} else {{{{
    {_ONE}
}}}}"""
_LAYER = """\
/* Windows of float32, channels last: those side by side that see all of their columns together, the others one by one. */
static void {name}(
    const float *input, float *output, int32_t counted_height, int32_t counted_width, const aidge_kit_window2d *shape)
{{
    const int32_t in_row = shape->in_width * shape->in_channels;
    aidge_cortexm_seen_of_pool seen;
    int32_t batch, y, x, pixels, i;
    seen.channels = shape->in_channels;
    seen.advance = 4 * (shape->stride_width - 1) * shape->in_channels;
    seen.step = 4 * shape->dilation_width * shape->in_channels;
    for (batch = shape->batches; batch > 0; batch--) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t row = top + first_y * shape->dilation_height;
            seen.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x += pixels) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const float *const source = input + row * in_row + (left + first_x * shape->dilation_width) * shape->in_channels;
                pixels = aidge_cortexm_pools_together(left, x, shape);
                seen.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                seen.row_step = 4 * shape->dilation_height * in_row - seen.columns * seen.step;
                if ((seen.rows <= 0) || (seen.columns <= 0)) {{
                    pixels = 1;
                    for (i = 0; i < shape->in_channels; i++) {{
                        output[i] = {empty};
                    }}
                }} else {{
                    const int32_t inside = seen.rows * seen.columns;
                    const int32_t count = aidge_kit_count_of_taps(inside, top, left, counted_height, counted_width, shape);
                    seen.factor = 1.0f / (float)count;
{calls}
                }}
                output += pixels * shape->in_channels;
            }}
        }}
        input += shape->in_height * in_row;
    }}
}}"""
