# SPDX-License-Identifier: MIT
"""Layers of int16 data with int8 weights, two pixels by 4 channels, sums in int32: the specs, and the C loops around a library's
function of sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.kernel_kit.linear_int8 import quantized_spec
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.window2d import is_pointwise
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import DFormat, ImplSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators

GROUP = 4  # output channels at a time
LIMITS = DType.int16.range


def _weights(view: NodeView) -> str:
    weights = view.inputs[1]
    return "" if weights.dtype is DType.int8 else f"the weights are {weights.dtype.name}, wants int8"


def _few(view: NodeView) -> str:
    count = view.inputs[1].dims[0]
    return "" if count >= GROUP else f"{count} output channels, wants at least {GROUP}"


def _too_large(view: NodeView) -> str:
    rows = view.inputs[1].data.reshape(view.inputs[1].dims[0], -1)
    numbers = linear_constants(view.operator, view.inputs, view.outputs[0], rows, in_int32=False)
    largest = largest_accumulators(rows, numbers.plain_bias, numbers.input_zero_point, *LIMITS).max()
    return "" if max(largest, numpy.abs(numbers.bias).max()) < INT32_LIMIT else "32 bits do not hold every sum"


GROUPS_OF_4 = Predicate(f"at least {GROUP} output channels", _few)


def int16_spec(features: frozenset[str], form: DFormat, *further: Predicate) -> ImplSpec:
    """Returns the spec of int16 data in and out, symmetric int8 weights, int32 bias."""
    weights, sums = Predicate("weights of int8", _weights), Predicate("int32 holds every sum", _too_large)
    return quantized_spec(form, weights, *further, sums, data=DType.int16, features=features)


@dataclass(frozen=True)
class Levels:
    """The zero point that is added to a rounded product, and the lowest and highest stored value."""

    low: int
    high: int
    zero_point: int

    @classmethod
    def of(cls, numbers: LinearConstants):
        """Returns the levels of a layer with these constants."""
        return cls(numbers.low, numbers.high, numbers.zero_point)

    @property
    def name(self) -> str:
        """The suffix of the names of functions."""
        if (self.low, self.high) == LIMITS and self.zero_point == 0:
            return ""
        return "_" + "_".join(str(level).replace("-", "m") for level in (self.low, self.high, self.zero_point))

    @property
    def in_c(self) -> str:
        """The three numbers as arguments of a function in C."""
        return f"{self.low}, {self.high}, {self.zero_point}"


def is_pixelwise(view: NodeView) -> bool:
    """Whether the taps of a pixel are neighbours in the data: a fully connected or pointwise layer."""
    window = getattr(view.operator, "window", None)
    return window is None or is_pointwise(window)


class LinearInt16(KernelNode):
    """The base of kernels. A library's subclass names the C types of its stream and of a tap in its columns, and says how its
    function takes pixels: (`pixels`, stream, first output, second output, end of the stream)."""

    word: ClassVar[str]
    cell: ClassVar[str]
    pixels_at_x: ClassVar[str]  # the first arguments where pixels are read in place
    pixels_in_columns: ClassVar[str]
    column: ClassVar[str]  # the C statement that writes pixel number `turn` of the columns
    offsets: ClassVar[str] = ""  # a further parameter of the loops around columns

    @classmethod
    def reads_in_place(cls, view: NodeView) -> bool:
        """Whether pixels are read without columns."""
        raise NotImplementedError

    def layer(self, shape: Struct, given: tuple[Argument, ...] = ()) -> Call:
        """Returns the call over the image; `given`: the argument for the further parameter."""
        rows = taps_last_channels(self.inputs[1].data)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        is_direct = type(self).reads_in_place(self.view)
        places = shape.fields["out_height"] * shape.fields["out_width"] * (shape.fields["batches"] if is_direct else 1)
        pixels = 1 if places == 1 else 2
        function, text = self.sums(rows, pixels, numbers)
        name = function.replace("sums", "pointwise" if is_direct else "window", 1)
        stream = self.stream(rows, numbers)
        column = self.column.format(pixels=pixels)
        loops = (_DIRECT if is_direct else _WINDOW).format(
            name=name, function=function, pixels=pixels, column=column, this=type(self)
        )
        return Call(
            name,
            ("sums/linear_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", stream),
                *(() if is_direct else (*given, Scratch())),
                shape,
                Literal(stream.size // -(-len(rows) // GROUP)),
                *(() if is_direct else (Literal(numbers.input_zero_point),)),
            ),
            texts=(text, loops),
            facts=computed(f"{pixels} pixel{'s' * (pixels > 1)} x {GROUP} channels"),
        )

    def sums(self, rows: numpy.ndarray, pixels: int, numbers: LinearConstants) -> tuple[str, str]:
        """Returns name and text of the function."""
        raise NotImplementedError

    def stream(self, rows: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """Returns what the function reads of weights [outputs, taps], group by group: the last group ends at the last output."""
        raise NotImplementedError


_DIRECT = """/* A pointwise layer of int16, {pixels} at a time; an odd last pixel with the one before it once more. */
static void {name}(const int16_t *input, int16_t *output, const {this.word} *stream, const aidge_kit_window2d *shape,
    int32_t words)
{{
    const int32_t channels = shape->out_channels;
    const int32_t whole = channels / 4;
    const {this.word} *const end = stream + whole * words;
    const int32_t pixels = shape->batches * shape->out_height * shape->out_width;
    int32_t pixel;
    for (pixel = 0; pixel < pixels; pixel += {pixels}) {{
        const int32_t place = pixel + {pixels} <= pixels ? pixel : pixels - {pixels};
        const int16_t *const x = input + place * shape->in_channels;
        int16_t *const y = output + place * channels;
        {function}({this.pixels_at_x}, stream, y, y + channels, end);
        if (4 * whole < channels) {{
            int16_t *const last = y + channels - 4;
            {function}({this.pixels_at_x}, end, last, last + channels, end + words);
        }}
    }}
}}"""
_WINDOW = """/* A layer of int16, {pixels} at a time. Where channels are no multiple of 4, the last group overlaps another. */
static void {name}(const int16_t *input, int16_t *output, const {this.word} *stream, {this.offsets}void *scratch,
    const aidge_kit_window2d *shape, int32_t words, int32_t fill)
{{
    const int32_t taps = shape->kernel_height * shape->kernel_width * shape->in_channels;
    const int32_t channels = shape->out_channels;
    const int32_t whole = channels / 4;
    const {this.word} *const end = stream + whole * words;
    const int32_t pixels = shape->out_height * shape->out_width;
    {this.cell} *const columns = ({this.cell} *)scratch;
    int32_t batch;
    (void)taps;
    for (batch = 0; batch < shape->batches; batch++) {{
        int32_t pixel, y = 0, x = 0;
        for (pixel = 0; pixel < pixels; pixel += {pixels}) {{
            int16_t *const second = output + (pixel + {pixels} <= pixels ? ({pixels} - 1) * channels : 0);
            int32_t turn;
            for (turn = 0; turn < {pixels}; turn++) {{
                {column}
                if (pixel + turn + 1 < pixels) {{
                    x++;
                    if (x == shape->out_width) {{
                        x = 0;
                        y++;
                    }}
                }}
            }}
            {function}({this.pixels_in_columns}, stream, output, second, end);
            if (4 * whole < channels) {{
                {function}({this.pixels_in_columns}, end, output + channels - 4, second + channels - 4, end + words);
            }}
            output = second + channels;
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
