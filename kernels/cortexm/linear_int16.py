# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of int16 data with int8 weights: two pixels by 4 channels, sums in int32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, ONE_GROUP, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import linear_constants
from aidge_build.contract.kernel_kit.window2d import is_pointwise, rows_as_image, window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ROW_MAJOR, Demands, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators

from .conditions import GROUP
from .packing import group_starts, taps_last_channels
from .sums_int16 import Levels, Sums

FARTHEST = 4095  # of an immediate offset


def _weights(view: NodeView) -> str:
    weights = view.inputs[1]
    if weights.dtype is not DType.int8:
        return f"the weights are {weights.dtype.name}, wants int8"
    return "" if weights.dims[0] >= GROUP else f"{weights.dims[0]} output channels, wants at least {GROUP}"


def _too_large(view: NodeView) -> str:
    rows = view.inputs[1].data.reshape(view.inputs[1].dims[0], -1)
    numbers = linear_constants(view.operator, view.inputs, view.outputs[0], rows, in_int32=False)
    largest = largest_accumulators(rows, numbers.plain_bias, numbers.input_zero_point, *DType.int16.range).max()
    return "" if max(largest, numpy.abs(numbers.bias).max()) < INT32_LIMIT else "32 bits do not hold every sum"


SUMS_FIT = Predicate("int32 holds every sum", _too_large)


def int16_spec(form: DFormat, *further: Predicate) -> ImplSpec:
    """int16 data in and out, symmetric int8 weights, int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.int16, form), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int16, form),),
        features=frozenset({"dsp", "fpu"}),
        predicates=(
            CONSTANT_PARAMETERS,
            QUANTIZED,
            SYMMETRIC_WEIGHTS,
            Predicate("at least 4 output channels, weights of int8", _weights),
            *further,
            SUMS_FIT,
        ),
    )


class LinearInt16(KernelNode):
    """Base: a subclass knows the window."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=0 if _reads_in_place(view) else 8 * _pairs(view))

    def call_for(self, shape: Struct) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        places = shape.fields["out_height"] * shape.fields["out_width"]
        is_direct = _reads_in_place(self.view)
        pixels = 1 if places * (shape.fields["batches"] if is_direct else 1) == 1 else 2
        apart = 2 * rows.shape[1] if is_direct else 0
        sums = Sums(_pairs(self.view), pixels, Levels(numbers.low, numbers.high, numbers.zero_point), apart)
        starts = group_starts(len(rows))
        words = [_group(rows, numbers.bias, numbers.multipliers, first) for first in starts]
        name = sums.name.replace("sums", "layer", 1)
        text = _DIRECT if is_direct else _ONE if pixels == 1 else _TWO
        return Call(
            name,
            ("linear_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", numpy.concatenate(words)),
                *([] if is_direct else [Scratch()]),
                shape,
                Literal(len(words[0])),
                Literal(numbers.input_zero_point),
            ),
            texts=(sums.text(), text.format(name=name, function=sums.name, pixels=pixels)),
            facts=computed(f"{pixels} pixel{'s' * (pixels > 1)} x {GROUP} channels"),
        )


def _reads_in_place(view: NodeView) -> bool:
    """Whether pixels lie one behind the other as the products read them: pointwise, an even number of channels."""
    window, channels = getattr(view.operator, "window", None), view.inputs[1].dims[1]
    return (window is None or is_pointwise(window)) and channels % 2 == 0 and 2 * channels <= FARTHEST


def _pairs(view: NodeView) -> int:
    return (view.inputs[1].data[0].size + 1) // 2


def _group(rows: numpy.ndarray, bias: numpy.ndarray, multipliers: numpy.ndarray, first: int) -> numpy.ndarray:
    """Of the channels from `first` on, the words that sums_int16.py reads."""
    block = slice(first, first + GROUP)
    taps = numpy.pad(rows[block], ((0, 0), (0, rows.shape[1] % 2)))
    weights = taps.reshape(2, 2, -1, 2).transpose(2, 0, 3, 1)  # [pair of taps, pair of channels, tap, channel]
    parts = (bias[block].astype(numpy.int32), numpy.ascontiguousarray(weights).reshape(-1).view(numpy.int32))
    return numpy.concatenate([*parts, multipliers[block].view(numpy.int32)])


_DIRECT = """/* A pointwise layer of int16, {pixels} pixels at a time; an odd last one with the one before it once more. */
static void {name}(const int16_t *input, int16_t *output, const int32_t *stream, const aidge_kit_window2d *shape, int32_t words,
    int32_t fill)
{{
    const int32_t channels = shape->out_channels;
    const int32_t whole = channels / 4;
    const int32_t *const end = stream + whole * words;
    const int32_t pixels = shape->batches * shape->out_height * shape->out_width;
    int32_t pixel;
    (void)fill;
    for (pixel = 0; pixel < pixels; pixel += {pixels}) {{
        const int32_t place = pixel + {pixels} <= pixels ? pixel : pixels - {pixels};
        const uint32_t *const column = (const uint32_t *)(const void *)(input + place * shape->in_channels);
        int16_t *const first = output + place * channels;
        {function}(column, stream, first, first + channels, end);
        if (4 * whole < channels) {{
            {function}(column, end, first + channels - 4, first + 2 * channels - 4, end + words);
        }}
    }}
}}"""
_HEAD = """/* A layer of int16. Where channels are no multiple of 4, the last group overlaps the one before. */
static void {name}(const int16_t *input, int16_t *output, const int32_t *stream, void *scratch, const aidge_kit_window2d *shape,
    int32_t words, int32_t fill)
{{
    uint32_t *const column = (uint32_t *)scratch;
    const int32_t channels = shape->out_channels;
    const int32_t whole = channels / 4;
    const int32_t *const end = stream + whole * words;
    const int32_t last = channels - 4;
    int32_t batch;
    for (batch = 0; batch < shape->batches; batch++) {{
"""
_TAIL = """        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
_ONE = (
    _HEAD
    + """        aidge_cortexm_column_int16(column, 1, input, 0, 0, fill, shape);
        {function}(column, stream, output, output, end);
        if (4 * whole < channels) {{
            {function}(column, end, output + last, output + last, end + words);
        }}
        output += channels;
"""
    + _TAIL
)
_TWO = (
    _HEAD
    + """        const int32_t pixels = shape->out_height * shape->out_width;
        int32_t pixel, y = 0, x = 0;
        for (pixel = 0; pixel < pixels; pixel += 2) {{
            int16_t *const second = output + (pixel + 1 < pixels ? channels : 0);
            int32_t turn;
            for (turn = 0; turn < 2; turn++) {{
                aidge_cortexm_column_int16(column + turn, 2, input, y, x, fill, shape);
                if (pixel + turn + 1 < pixels) {{
                    x++;
                    if (x == shape->out_width) {{
                        x = 0;
                        y++;
                    }}
                }}
            }}
            {function}(column, stream, output, second, end);
            if (4 * whole < channels) {{
                {function}(column, end, output + last, second + last, end + words);
            }}
            output = second + channels;
        }}
"""
    + _TAIL
)


@kernel(("Conv1D", "Conv2D"), int16_spec(CHANNELS_LAST, ONE_GROUP))
class ConvInt16(LinearInt16):
    def call(self) -> Call:
        return self.call_for(window2d(self.inputs[0], self.outputs[0], self.operator.window))


@kernel("FC", int16_spec(ROW_MAJOR))
class FcInt16(LinearInt16):
    def call(self) -> Call:
        return self.call_for(rows_as_image(self.inputs[0].dims, self.outputs[0].dims))
