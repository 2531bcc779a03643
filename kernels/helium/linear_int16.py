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

from .conditions import MVE
from .sums_int16 import GROUP, Levels, Sums, starts_of, stream_of

OFFSETS = 1 << 16  # of a gathering load


def _weights(view: NodeView) -> str:
    weights = view.inputs[1]
    return "" if weights.dtype is DType.int8 else f"the weights are {weights.dtype.name}, wants int8"


def _too_large(view: NodeView) -> str:
    rows = view.inputs[1].data.reshape(view.inputs[1].dims[0], -1)
    numbers = linear_constants(view.operator, view.inputs, view.outputs[0], rows, in_int32=False)
    largest = largest_accumulators(rows, numbers.plain_bias, numbers.input_zero_point, *DType.int16.range).max()
    return "" if max(largest, numpy.abs(numbers.bias).max()) < INT32_LIMIT else "32 bits do not hold every sum"


def _few(view: NodeView) -> str:
    count = view.inputs[1].dims[0]
    return "" if count >= GROUP else f"{count} output channels, wants at least {GROUP}"


def _too_far(view: NodeView) -> str:
    return "" if _reads_in_place(view) or _offsets(_window(view)).max() < OFFSETS else "a window spans more than 16 bits address"


SUMS_FIT = Predicate("int32 holds every sum", _too_large)


def int16_spec(form: DFormat, *further: Predicate) -> ImplSpec:
    """int16 data in and out, symmetric int8 weights, int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.int16, form), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int16, form),),
        features=MVE,
        predicates=(
            CONSTANT_PARAMETERS,
            QUANTIZED,
            SYMMETRIC_WEIGHTS,
            Predicate("weights of int8", _weights),
            *further,
            SUMS_FIT,
        ),
    )


GROUPS_OF_4 = Predicate("at least 4 output channels", _few)


class LinearInt16(KernelNode):
    """Base: a subclass knows the window."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=0 if _reads_in_place(view) else 4 * view.inputs[1].data[0].size)

    def call_for(self, shape: Struct) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        places = shape.fields["out_height"] * shape.fields["out_width"]
        is_direct = _reads_in_place(self.view)
        pixels = 1 if places * (shape.fields["batches"] if is_direct else 1) == 1 else 2
        sums = Sums(rows.shape[1], pixels, Levels.of(numbers))
        name = sums.name.replace("sums", "pointwise" if is_direct else "window", 1)
        stream = stream_of(rows, numbers)
        given = () if is_direct else (Constant("offsets", _offsets(shape).astype(numpy.uint16)), Scratch())
        behind = () if is_direct else (Literal(numbers.input_zero_point),)
        text = (_DIRECT if is_direct else _WINDOW).format(name=name, function=sums.name, pixels=pixels)
        return Call(
            name,
            ("linear_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", stream),
                *given,
                shape,
                Literal(stream.size // len(starts_of(len(rows)))),
                *behind,
            ),
            texts=(sums.text(), text),
            facts=computed(f"{pixels} pixel{'s' * (pixels > 1)} x {GROUP} channels"),
        )


def taps_last_channels(weights: numpy.ndarray) -> numpy.ndarray:
    """Weights [outputs, channels, kernel...] as [outputs, kernel... * channels], channels fastest."""
    return numpy.moveaxis(weights, 1, -1).reshape(weights.shape[0], -1)


def _reads_in_place(view: NodeView) -> bool:
    """Whether pixels lie one behind the other as the products read them."""
    window = getattr(view.operator, "window", None)
    return window is None or is_pointwise(window)


def _window(view: NodeView) -> Struct:
    return window2d(view.inputs[0], view.outputs[0], view.operator.window)


def _offsets(shape: Struct) -> numpy.ndarray:
    """How many values the taps of a window lie behind the first one."""
    fields = shape.fields
    rows, columns = (numpy.arange(fields[f"kernel_{axis}"]) * fields[f"dilation_{axis}"] for axis in ("height", "width"))
    places = rows[:, None] * fields["in_width"] + columns
    return (places[..., None] * fields["in_channels"] + numpy.arange(fields["in_channels"])).reshape(-1)


_DIRECT = """/* A pointwise layer of int16, {pixels} at a time; an odd last pixel with the one before it once more. */
static void {name}(const int16_t *input, int16_t *output, const int8_t *stream, const aidge_kit_window2d *shape, int32_t bytes)
{{
    const int32_t channels = shape->out_channels;
    const int32_t whole = channels / 4;
    const int8_t *const end = stream + whole * bytes;
    const int32_t pixels = shape->batches * shape->out_height * shape->out_width;
    int32_t pixel;
    for (pixel = 0; pixel < pixels; pixel += {pixels}) {{
        const int32_t place = pixel + {pixels} <= pixels ? pixel : pixels - {pixels};
        const int16_t *const x = input + place * shape->in_channels;
        int16_t *const y = output + place * channels;
        {function}(x, x + shape->in_channels, stream, y, y + channels, end);
        if (4 * whole < channels) {{
            int16_t *const last = y + channels - 4;
            {function}(x, x + shape->in_channels, end, last, last + channels, end + bytes);
        }}
    }}
}}"""
_WINDOW = """/* A layer of int16, {pixels} at a time. Where channels are no multiple of 4, the last group overlaps another. */
static void {name}(const int16_t *input, int16_t *output, const int8_t *stream, const uint16_t *offsets, void *scratch,
    const aidge_kit_window2d *shape, int32_t bytes, int32_t fill)
{{
    const int32_t taps = shape->kernel_height * shape->kernel_width * shape->in_channels;
    const int32_t channels = shape->out_channels;
    const int32_t whole = channels / 4;
    const int8_t *const end = stream + whole * bytes;
    const int32_t pixels = shape->out_height * shape->out_width;
    int16_t *const columns = (int16_t *)scratch;
    int32_t batch;
    for (batch = 0; batch < shape->batches; batch++) {{
        int32_t pixel, y = 0, x = 0;
        for (pixel = 0; pixel < pixels; pixel += {pixels}) {{
            int16_t *const second = output + (pixel + {pixels} <= pixels ? ({pixels} - 1) * channels : 0);
            int32_t turn;
            for (turn = 0; turn < {pixels}; turn++) {{
                aidge_helium_column_int16(columns + turn * taps, input, offsets, y, x, fill, shape);
                if (pixel + turn + 1 < pixels) {{
                    x++;
                    if (x == shape->out_width) {{
                        x = 0;
                        y++;
                    }}
                }}
            }}
            {function}(columns, columns + taps, stream, output, second, end);
            if (4 * whole < channels) {{
                {function}(columns, columns + taps, end, output + channels - 4, second + channels - 4, end + bytes);
            }}
            output = second + channels;
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""


@kernel(
    ("Conv1D", "Conv2D"),
    int16_spec(CHANNELS_LAST, ONE_GROUP, GROUPS_OF_4, Predicate("offsets of a window that 16 bits hold", _too_far)),
)
class ConvInt16(LinearInt16):
    def call(self) -> Call:
        return self.call_for(_window(self.view))


@kernel("FC", int16_spec(ROW_MAJOR, GROUPS_OF_4))
class FcInt16(LinearInt16):
    def call(self) -> Call:
        return self.call_for(rows_as_image(self.inputs[0].dims, self.outputs[0].dims))
