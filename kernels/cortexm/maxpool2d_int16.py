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
    code = Routine()
    code("%enter")
    code("ldm %taps, {%rows, %columns, %step, %row_step}")
    code.label("pair", "a pair of channels")
    code("mov %tap, %source")
    code("ldr %largest, [%tap]")
    code("mov %row, %rows")
    code.label("next_row", "a row of taps")
    code("mov %column, %columns")
    code.label("next_tap", "a tap")
    code("ldr %value, [%tap]")
    code("add %tap, %tap, %step")
    code("ssub16 %difference, %largest, %value")
    code("sel %largest, %largest, %value")
    code("subs %column, %column, #1")
    code("bne %next_tap")
    code("add %tap, %tap, %row_step")
    code("subs %row, %row, #1")
    code("bne %next_row")
    code("str %largest, [%output], #4")
    code("adds %source, %source, #4")
    code("subs %count, %count, #2")
    code("cmp %count, #1")
    code("bgt %pair")
    code("bne %done")
    code("subs %output, %output, #2")
    code("subs %source, %source, #2")
    code("movs %count, #2")
    code("b %pair")
    code.label("done")
    code("%leave")
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
