# SPDX-License-Identifier: MIT
"""int16 maxima, two channels at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .assembly import Routine
from .conditions import FEATURES

NAME = "aidge_cortexm_largest_int16"
PARAMETERS = "int16_t *output, const int16_t *source, const aidge_cortexm_taps_int16 *taps, int32_t count"


def _unfit(view: NodeView) -> str:
    if PoolNode(view).levels() != DType.int16.range:
        return "the result is clamped"
    return "" if view.inputs[0].dims[1] > 1 else "a single channel"


def _text() -> str:
    """Pairs of channels; a last one alone comes with the one before it once more."""
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("ldm r2, {{r5-r8}}", "rows, columns, steps")
    code.label(1, "a pair of channels")
    code("mov r4, r1")
    code("ldr r9, [r4]")
    code("mov r12, r5")
    code.label(2, "a row of taps")
    code("mov lr, r6")
    code.label(3, "a tap")
    code("ldr r10, [r4]")
    code("add r4, r4, r7")
    code("ssub16 r11, r9, r10")
    code("sel r9, r9, r10")
    code("subs lr, lr, #1")
    code("bne 3b")
    code("add r4, r4, r8")
    code("subs r12, r12, #1")
    code("bne 2b")
    code("str r9, [r0], #4")
    code("adds r1, r1, #4")
    code("subs r3, r3, #2")
    code("cmp r3, #1")
    code("bgt 1b")
    code("bne 4f")
    code("subs r0, r0, #2")
    code("subs r1, r1, #2")
    code("movs r3, #2")
    code("b 1b")
    code.label(4)
    code("pop {{r4-r11, pc}}")
    portable = f"{NAME}_c(output, source, taps, count);"
    return code.function(NAME, PARAMETERS, "The largest values of a window, int16.", portable)


_LAYER = f"""/* The largest value of each window, int16, channels last; taps in the pads never win. */
static void aidge_cortexm_maxpool2d_int16(const int16_t *input, int16_t *output, const aidge_kit_window2d *shape)
{{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_cortexm_taps_int16 taps;
    int32_t batch, y, x, channel;
    taps.step = 2 * shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            taps.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t row = top + first_y * shape->dilation_height;
                const int32_t column = left + first_x * shape->dilation_width;
                taps.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                taps.row_step = 2 * shape->dilation_height * in_row - taps.columns * taps.step;
                if ((taps.rows > 0) && (taps.columns > 0)) {{
                    {NAME}(output, input + row * in_row + column * channels, &taps, channels);
                }} else {{
                    for (channel = 0; channel < channels; channel++) {{
                        output[channel] = -32768;
                    }}
                }}
                output += channels;
            }}
        }}
        input += shape->in_height * in_row;
    }}
}}"""


@kernel(
    ("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"),
    ImplSpec(
        inputs=(IOSpec(DType.int16, CHANNELS_LAST),),
        outputs=(IOSpec(DType.int16, CHANNELS_LAST),),
        features=FEATURES,
        predicates=(ALL_QUANTIZED, SAME_QUANTIZATION, Predicate("no clamp, several channels", _unfit)),
    ),
)
class MaxPool2dInt16(PoolNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands()  # an odd last channel is read twice: nothing may be overwritten

    def call(self) -> Call:
        arguments = (Input(0), Output(0), self.shape())
        return Call("aidge_cortexm_maxpool2d_int16", ("maxpool2d_int16.h",), arguments, texts=(_text(), _LAYER))
