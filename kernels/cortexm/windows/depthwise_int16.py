# SPDX-License-Identifier: MIT
"""Depthwise convolutions of int16 data with int8 weights, 4 channels of a pixel at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.kernel_kit.linear import linear_constants
from aidge_build.contract.kernel_kit.packing import group_starts, taps_last_channels
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, NodeView, Predicate

from ..core.assembly import Routine
from ..core.conditions import GROUP
from ..sums.linear_int16 import int16_spec
from ..sums.sums_int16 import Levels, requantize, store

PARAMETERS = "const int16_t *from, const int8_t *weights, int16_t *output, const aidge_cortexm_patch_int16 *patch"


def _offset(view: NodeView) -> str:
    point = view.inputs[0].quantization.zero_point
    return f"the data's zero point is {point}, wants 0: it comes off no sum here" if point else ""


def routine(levels: Levels) -> tuple[str, str]:
    """Name and text of all groups of channels of a pixel."""
    name, code = f"aidge_cortexm_depthwise_int16_pixel{levels.name}", Routine()
    sums = [f"%sum{channel}" for channel in range(4)]
    code("%enter.floats")
    code("ldm %patch, {%rows, %columns, %step, %weights_step, %row_step, %weights_row_step, %groups, %table}")
    code.label("group", "4 channels")
    code(f"ldm %table!, {{{', '.join(sums)}}}", "biases")
    code("vldmia %table!, {%s.factor0, %s.factor1, %s.factor2, %s.factor3}", "multipliers")
    code("mov %data, %from")
    code("mov %taps, %weights")
    code("movs %rows_left, %rows")
    code("beq %summed")
    code.label("row", "of taps")
    code("mov %columns_left, %columns")
    code.label("tap")
    code("ldr %low, [%data]")
    code("ldr %high, [%data, #4]")
    code("ldr %odd, [%taps]")
    code("add %data, %data, %step")
    code("add %taps, %taps, %weights_step")
    code("sxtb16 %even, %odd")
    code("sxtb16 %odd, %odd, ror #8")
    code("smlabb %sum0, %low, %even, %sum0")
    code("smlatb %sum1, %low, %odd, %sum1")
    code("smlabt %sum2, %high, %even, %sum2")
    code("smlatt %sum3, %high, %odd, %sum3")
    code("subs %columns_left, %columns_left, #1")
    code("bne %tap")
    code("add %data, %data, %row_step")
    code("add %taps, %taps, %weights_row_step")
    code("subs %rows_left, %rows_left, #1")
    code("bne %row")
    code.label("summed")
    requantize(code, sums, levels)
    store(code, sums, "%output")
    code("add %from, %from, #8")
    code("add %weights, %weights, #4")
    code("subs %groups, %groups, #1")
    code("bne %group")
    code("%leave")
    portable = f"aidge_cortexm_depthwise_int16_c(from, weights, output, patch, {levels.low}, {levels.high}, {levels.zero_point});"
    return name, code.function(name, PARAMETERS, "Depthwise, int16: groups of 4 channels of a pixel.", portable)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), int16_spec(CHANNELS_LAST, Predicate("the data's zero point is 0", _offset)))
class DepthwiseInt16(KernelNode):
    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        function, text = routine(Levels(numbers.low, numbers.high, numbers.zero_point))
        table = [
            part[first : first + GROUP]
            for first in group_starts(len(rows))
            for part in (numbers.plain_bias.astype(numpy.int32), numbers.multipliers.view(numpy.int32))
        ]
        name = function.replace("pixel", "image", 1)
        return Call(
            name,
            ("windows/depthwise_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", numpy.ascontiguousarray(rows.T).reshape(-1)),
                Constant("table", numpy.concatenate(table)),
                window2d(self.inputs[0], self.outputs[0], self.operator.window),
            ),
            texts=(text, _DRIVER.format(name=name, function=function)),
            facts=computed("1 pixel x 4 channels"),
        )


_DRIVER = """/* Pixel by pixel; where channels are no multiple of 4, the last group overlaps the one before. */
static void {name}(const int16_t *input, int16_t *output, const int8_t *weights, const int32_t *table,
    const aidge_kit_window2d *shape)
{{
    const int32_t channels = shape->in_channels;
    aidge_cortexm_patch_int16 patch;
    int32_t batch, y, x;
    patch.step = 2 * shape->dilation_width * channels;
    patch.weights_step = channels;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t row = top + first_y * shape->dilation_height;
                const int32_t column = left + first_x * shape->dilation_width;
                const int32_t place = rows > 0 ? (row * shape->in_width + column) * channels : 0;
                const int8_t *const first = weights + (first_y * shape->kernel_width + first_x) * channels;
                patch.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                patch.rows = patch.columns > 0 && rows > 0 ? rows : 0;
                patch.row_step = 2 * shape->dilation_height * shape->in_width * channels - patch.columns * patch.step;
                patch.weights_row_step = (shape->kernel_width - patch.columns) * channels;
                patch.groups = channels / 4;
                patch.table = table;
                {function}(input + place, first, output, &patch);
                if (channels % 4 != 0) {{
                    patch.table += 8 * patch.groups;
                    patch.groups = 1;
                    {function}(input + place + channels - 4, first + channels - 4, output + channels - 4, &patch);
                }}
                output += channels;
            }}
        }}
        input += shape->in_height * shape->in_width * channels;
    }}
}}"""
