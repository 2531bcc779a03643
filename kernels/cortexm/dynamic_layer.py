# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization: two pixels are gathered as int16 less the zero point, then meet all output channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.dynamic import (
    DEPTHWISE,
    ONE_GROUP,
    SEVERAL_GROUPS,
    bias_of,
    data_arguments,
    dynamic_spec,
    is_signed,
)
from aidge_build.contract.kernel_kit.window2d import rows_as_image, window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, Demands, NodeView, Predicate
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.dynamic import DATA, FACTORS, WEIGHTS

from .conditions import FEATURES, GROUP, Loop, keeps_words_of_groups
from .dynamic import depthwise, routine
from .dynamic_driver import data_in_c, driver
from .dynamic_lines import line_bytes
from .packing import as_words, group_starts, pair_words, quads, taps_last_channels, weights_by_tap

_LARGEST = 255  # |byte - zero point|
HARDWARE = FEATURES | {"fpu"}


class DynamicLayer(KernelNode):
    unroll = Loop(56, {"speed": 40, "balanced": 16, "size": 2})

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        shape = cls.shape_of(view)
        length, runs = runs_of(shape)
        lines = shape.fields["kernel_height"] * line_bytes(shape.fields, length, parts_of(view)) * (view.objective != "size")
        room = 4 * ((max(length + 4, lines) + 3) // 4)
        table = 8 * len(group_starts(shape.fields["out_channels"]))
        return Demands(scratch_bytes=4 * (table + 2 * runs * math.ceil(length / 2)) + room)

    @staticmethod
    def shape_of(view: NodeView) -> Struct:
        """The layer, or one of its parts that read different channels, as a convolution in two dimensions."""
        raise NotImplementedError

    def call(self) -> Call:
        shape, count = self.shape_of(self.view), parts_of(self.view)
        order = order_of(*runs_of(shape))
        rows = taps_last_channels(self.inputs[WEIGHTS].data).astype(numpy.int64)
        rows = numpy.where(numpy.array(order) < 0, 0, rows[:, order])
        parts = [of_a_group(part) for part in numpy.split(rows, count)]
        starts, channels = group_starts(len(parts[0])), len(parts[0])
        is_packed = all(can_pack(part, starts) for part in parts)
        words = [word for part in parts for first in starts for word in pair_words(part[first : first + GROUP], is_packed)]
        bounds = self.operator.minimum, self.operator.maximum
        function, text = routine(len(order) // 2, is_packed, bounds, self.unroll.steps(self.view), -channels % GROUP)
        name, texts = driver(function, shape.fields, runs_of(shape)[0], is_signed(self.inputs), self.view.objective, count)
        counts = {
            "groups": len(starts),
            "group_words": len(words) // (count * len(starts)),
            "channels": channels,
            "pairs": len(order) // 2,
        }
        return Call(
            name,
            ("dynamic.h",),
            (
                *data_arguments(self.inputs),
                Output(0),
                Constant("stream", as_words(words)),
                Constant("numbers", numbers_of(self.inputs, starts, is_packed, count)),
                Scratch(),
                shape,
                Struct("aidge_cortexm_dynamic", counts),
            ),
            texts=(text, *texts),
            note=f"{'two weights per halfword' if is_packed else 'int16 weights'}, 2 pixels x {GROUP} channels",
        )


def parts_of(view: NodeView) -> int:
    """How many parts of the channels are layers of their own."""
    return getattr(view.operator, "groups", 1)


def numbers_of(inputs: Sequence[Tensor | None], starts: list[int], is_packed: bool = False, count: int = 1) -> numpy.ndarray:
    """Of `count` parts, per group 4 factors and 4 biases; packed sums of odd channels are 256 times as large."""
    scales = numpy.array([1, 1 / 256] * 2 if is_packed else [1] * 4, numpy.float32)
    found = []
    for part in zip(numpy.split(inputs[FACTORS].data, count), numpy.split(bias_of(inputs), count)):
        factors, bias = map(of_a_group, part)
        found += [row for first in starts for row in (factors[first : first + GROUP] * scales, bias[first : first + GROUP])]
    return numpy.concatenate(found).astype(numpy.float32)


def of_a_group(channels: numpy.ndarray) -> numpy.ndarray:
    """`channels` [channels, ...], with zeros where there are fewer than a group."""
    missing = max(0, GROUP - len(channels))
    return numpy.concatenate([channels, numpy.zeros((missing, *channels.shape[1:]), channels.dtype)])


def runs_of(shape: Struct) -> tuple[int, int]:
    """The bytes of a run, which lie side by side in the image, and the runs of a window: as in dynamic.h."""
    fields = shape.fields
    taps = fields["kernel_width"] if fields["dilation_width"] == 1 else 1
    return taps * fields["in_channels"], fields["kernel_height"] * fields["kernel_width"] // taps


def order_of(length: int, runs: int) -> list[int]:
    """The taps in the order in which runs go to the column, two for each word; -1 for one that is there already."""
    whole = length // 4 * 4
    tail = {0: [], 1: [-1, 0], 2: [0, 1], 3: [-1, 1, 0, 2]}[length - whole]
    order = [*quads(whole), *(whole + place if place >= 0 else -1 for place in tail)]
    return [run * length + place if place >= 0 else -1 for run in range(runs) for place in order]


def groups_of(view: NodeView) -> int:
    return len(group_starts(view.inputs[WEIGHTS].dims[0]))


def can_pack(rows: numpy.ndarray, starts: list[int]) -> bool:
    """Whether two weights share a halfword, and 256 times each sum fits a word."""
    if rows.min(initial=0) < -128 or rows.max(initial=0) > 127:
        return False
    largest = numpy.abs(rows).sum(axis=1) * _LARGEST
    halves = [256 * rows[first + 1 : first + 4 : 2] + rows[first : first + 4 : 2] for first in starts]
    return bool((257 * largest < 1 << 31).all()) and all(half.min() >= -32768 and half.max() <= 32767 for half in halves)


def _no_lines(view: NodeView) -> str:
    if window2d(view.inputs[DATA], view.outputs[0], view.operator.window).fields["dilation_width"] > 1:
        return "taps that are not adjacent"
    return "--optimize size" if view.objective == "size" else ""


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, 1, ONE_GROUP))
class DynamicConv(DynamicLayer):
    @staticmethod
    def shape_of(view: NodeView) -> Struct:
        return window2d(view.inputs[DATA], view.outputs[0], view.operator.window)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, 1, SEVERAL_GROUPS, Predicate("rows in scratch", _no_lines)))
class DynamicGroupedConv(DynamicLayer):
    """One part of the channels after the other, as layers of their own."""

    @classmethod
    def keeps_words(cls, view: NodeView) -> bool:
        return super().keeps_words(view) and keeps_words_of_groups(view)

    @staticmethod
    def shape_of(view: NodeView) -> Struct:
        whole = window2d(view.inputs[DATA], view.outputs[0], view.operator.window)
        own = {name: whole.fields[name] // parts_of(view) for name in ("in_channels", "out_channels")}
        return replace(whole, fields=whole.fields | own)


@kernel("DynamicFC", dynamic_spec(ROW_MAJOR, HARDWARE, 1))
class DynamicFC(DynamicLayer):
    @staticmethod
    def shape_of(view: NodeView) -> Struct:
        return rows_as_image(view.inputs[DATA].dims, view.outputs[0].dims)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, GROUP, DEPTHWISE))
class DynamicDepthwise(KernelNode):
    """Four channels at a time; each tap is two words of weights, of channels 0 and 2, and of 1 and 3."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * 8 * groups_of(view))

    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[WEIGHTS].data).astype(numpy.int64)
        starts = group_starts(len(rows))
        words = numpy.concatenate([as_words(weights_by_tap(rows[first : first + GROUP])) for first in starts])
        bounds = self.operator.minimum, self.operator.maximum
        signed = is_signed(self.inputs)
        window = window2d(self.inputs[DATA], self.outputs[0], self.operator.window)
        function, text = depthwise(bounds, signed)
        name = f"{function}_image"
        return Call(
            name,
            ("dynamic_depthwise.h",),
            (
                *data_arguments(self.inputs),
                Output(0),
                Constant("stream", words),
                Constant("numbers", numbers_of(self.inputs, starts)),
                Scratch(),
                window,
            ),
            texts=(text, _DEPTHWISE.format(name=name, function=function, **data_in_c(signed))),
            note="1 pixel x 4 channels",
        )


_DEPTHWISE = """/* Pixel by pixel; where channels are no multiple of 4, the last group overlaps the one before. */
static void {name}(const {type} *input, const {type} *zero_point, const float *scale, float *output,
    const int32_t *stream, const float *numbers, void *scratch, const aidge_kit_window2d *shape)
{{
    float *const table = (float *)scratch;
    const uint8_t *bytes = (const uint8_t *)input;
    const uint32_t zeros = (uint32_t)({zero}) * 0x10001u;
    const int32_t channels = shape->in_channels;
    const int32_t whole = channels / 4;
    aidge_cortexm_dynamic_patch patch;
    int32_t batch, y, x;
    aidge_cortexm_dynamic_table(table, numbers, scale[0], (channels + 3) / 4);
    patch.step = shape->dilation_width * channels;
    patch.group_weights = 8 * shape->kernel_height * shape->kernel_width;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t columns =
                    aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                const int32_t row = top + first_y * shape->dilation_height;
                const uint8_t *const from =
                    bytes + (row * shape->in_width + left + first_x * shape->dilation_width) * channels;
                const int32_t *const words = stream + 2 * (first_y * shape->kernel_width + first_x);
                patch.rows = (columns > 0) && (rows > 0) ? rows : 0;
                patch.length = columns * patch.step;
                patch.next_row = shape->dilation_height * shape->in_width * channels - patch.length;
                patch.next_weights = 8 * (shape->kernel_width - columns);
                patch.groups = whole;
                {function}(from, words, table, output, &patch, zeros);
                if (4 * whole < channels) {{
                    patch.groups = 1;
                    {function}(from + channels - 4, words + whole * (patch.group_weights / 4), table + 8 * whole,
                        output + channels - 4, &patch, zeros);
                }}
                output += channels;
            }}
        }}
        bytes += shape->in_height * shape->in_width * channels;
    }}
}}"""
