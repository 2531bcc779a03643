# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization: one or two pixels are gathered as int16 less the zero point, then meet all output channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.dynamic import (
    DEPTHWISE,
    SEVERAL_GROUPS,
    bias_of,
    data_arguments,
    dynamic_spec,
    is_signed,
)
from aidge_build.contract.kernel_kit.packing import as_words, group_starts, taps_last_channels
from aidge_build.contract.kernel_kit.window2d import rows_as_image, window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, Demands, NodeView, Predicate
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.dynamic import DATA, FACTORS, WEIGHTS

from ..core.conditions import FEATURES, GROUP, Loop, keeps_words_of_groups
from .dynamic import depthwise, routine
from .dynamic_driver import ROW, WINDOWS, data_in_c, driver, kind_of, run_of
from .packed_sums import fit_halfwords, pack_nibbles
from .packing import quads, weights_by_tap
from .weights import NIBBLES, PACKED, WIDE, fit_nibbles

_LARGEST = 255  # |byte - zero point|
HARDWARE = FEATURES | {"fpu"}


class DynamicLayer(KernelNode):
    assembly = "needed"
    unroll = Loop(56, {"speed": 40, "balanced": 16, "size": 2})

    @classmethod
    def kind(cls, view: NodeView) -> str:
        """The source of the taps."""
        return kind_of(cls.shape_of(view).fields)

    @classmethod
    def order(cls, view: NodeView) -> list[int]:
        """The taps in the order of the column."""
        fields = cls.shape_of(view).fields
        return order_of(run_of(fields), fields["kernel_height"])

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        fields, kind = cls.shape_of(view).fields, cls.kind(view)
        pixels, table = 1 if kind == ROW else 2, 8 * len(group_starts(fields["out_channels"]))
        copies = 2 * run_of(fields) * fields["kernel_height"] if kind == WINDOWS else 0
        return Demands(scratch_bytes=4 * table + 2 * pixels * len(cls.order(view)) + -(-copies // 4) * 4)

    @staticmethod
    def shape_of(view: NodeView) -> Struct:
        """The layer, or one of its parts that read different channels, as a convolution in two dimensions."""
        raise NotImplementedError

    def call(self) -> Call:
        shape, kind, count = self.shape_of(self.view), self.kind(self.view), parts_of(self.view)
        order, pixels = self.order(self.view), 1 if kind == ROW else 2
        rows = taps_last_channels(self.inputs[WEIGHTS].data).astype(numpy.int64)
        rows = numpy.where(numpy.array(order) < 0, 0, rows[:, order])
        parts = [of_a_group(part) for part in numpy.split(rows, count)]
        starts, channels = group_starts(len(parts[0])), len(parts[0])
        if pack_nibbles(self.view) and fit_nibbles(rows, 0, _LARGEST):
            weights = NIBBLES
        else:
            weights = PACKED if all(can_pack(part, starts) for part in parts) else WIDE
        words = [word for part in parts for first in starts for word in weights.words(part[first : first + GROUP])]
        bounds, unroll = (self.operator.minimum, self.operator.maximum), self.unroll.steps(self.view)
        function, text = routine(pixels, len(order) // 2, weights, bounds, unroll, -channels % GROUP)
        name, texts = driver(function, shape.fields, kind, is_signed(self.inputs), count)
        counts = {
            "groups": len(starts),
            "group_words": len(words) // (count * len(starts)),
            "channels": channels,
            "pairs": len(order) // 2,
        }
        return Call(
            name,
            ("sums/dynamic.h",),
            (
                *data_arguments(self.inputs),
                Output(0),
                Constant("stream", as_words(words)),
                Constant("numbers", numbers_of(self.inputs, starts, weights.is_packed, count)),
                Scratch(),
                shape,
                Struct("aidge_cortexm_dynamic", counts),
            ),
            texts=(text, *texts),
            note=f"{weights.note}, {pixels} x {GROUP} sums at a time",
        )


def parts_of(view: NodeView) -> int:
    """How many parts of the channels are layers of their own."""
    return getattr(view.operator, "groups", 1)


def numbers_of(inputs: Sequence[Tensor | None], starts: list[int], is_packed: bool = False, count: int = 1) -> numpy.ndarray:
    """4 factors and 4 biases of each group, for `count` parts; packed sums of odd channels are 256 times as large."""
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


def order_of(length: int, runs: int) -> list[int]:
    """The taps in the order in which runs go to the column, two for each word; -1 for one that is there already."""
    whole = length // 4 * 4
    tail = {0: [], 1: [-1, 0], 2: [0, 1], 3: [-1, 1, 0, 2]}[length - whole]
    order = [*quads(whole), *(whole + place if place >= 0 else -1 for place in tail)]
    return [run * length + place if place >= 0 else -1 for run in range(runs) for place in order]


def can_pack(rows: numpy.ndarray, starts: list[int]) -> bool:
    """Whether two weights share a halfword, and 256 times each sum fits a word."""
    groups = [list(range(first, first + GROUP)) for first in starts]
    largest = numpy.abs(rows).sum(axis=1) * _LARGEST
    return fit_halfwords(rows, groups, False) and bool((257 * largest < 1 << 31).all())


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, 1, ONE_GROUP))
class DynamicConv(DynamicLayer):
    @staticmethod
    def shape_of(view: NodeView) -> Struct:
        return window2d(view.inputs[DATA], view.outputs[0], view.operator.window)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, 1, SEVERAL_GROUPS))
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


def _several(view: NodeView) -> str:
    """Whether the layer reads anything but all of its bytes once, as they are in memory, for one pixel."""
    data, weights, window = view.inputs[DATA], view.inputs[WEIGHTS], getattr(view.operator, "window", None)
    if view.outputs[0].elements != weights.dims[0] or data.elements != math.prod(weights.dims[1:]):
        return "several rows"
    if window is not None and any((*window.pads_begin, *window.pads_end)):
        return "a window with pads"
    return f"a row of {data.elements} bytes, wants a multiple of 4" if data.elements % 4 else ""


ONE_ROW = Predicate("one row of a multiple of 4 bytes", _several)


class DynamicRow(DynamicLayer):
    """One pixel alone: the last layer of a network, or one of a map of one pixel."""

    @classmethod
    def kind(cls, view: NodeView) -> str:
        return ROW

    @classmethod
    def order(cls, view: NodeView) -> list[int]:
        return quads(view.inputs[DATA].elements)


@kernel("DynamicFC", dynamic_spec(ROW_MAJOR, HARDWARE, GROUP, ONE_ROW))
class DynamicRowFC(DynamicRow, DynamicFC):
    pass


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, GROUP, ONE_GROUP, ONE_ROW))
class DynamicRowConv(DynamicRow, DynamicConv):
    """A window as large as the image."""


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, GROUP, DEPTHWISE))
class DynamicDepthwise(KernelNode):
    """Windows that the planes do not take, four channels at a time; each tap is two words of weights, of channels 0 and 2, and of
    1 and 3."""

    assembly = "needed"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * 8 * len(group_starts(view.inputs[WEIGHTS].dims[0])))

    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[WEIGHTS].data).astype(numpy.int64)
        starts = group_starts(len(rows))
        words = numpy.concatenate([as_words(weights_by_tap(rows[first : first + GROUP])) for first in starts])
        bounds, signed = (self.operator.minimum, self.operator.maximum), is_signed(self.inputs)
        function, text = depthwise(bounds, signed)
        name = f"{function}_image"
        return Call(
            name,
            ("sums/dynamic_depthwise.h",),
            (
                *data_arguments(self.inputs),
                Output(0),
                Constant("stream", words),
                Constant("numbers", numbers_of(self.inputs, starts)),
                Scratch(),
                window2d(self.inputs[DATA], self.outputs[0], self.operator.window),
            ),
            texts=(text, _DEPTHWISE.format(name=name, function=function, **data_in_c(signed))),
            note="1 pixel x 4 channels",
        )


_DEPTHWISE = """/* Pixel by pixel groups of 4 channels, the last of which overlaps the one before if need be. */
static void {name}(const {type} *input, const {type} *zero_point, const float *scale, float *output,
    const int32_t *stream, const float *numbers, void *scratch, const aidge_kit_window2d *shape)
{{
    float *const table = (float *)scratch;
    const uint8_t *bytes = (const uint8_t *)input;
    const int32_t channels = shape->in_channels;
    const int32_t row_bytes = shape->in_width * channels;
    const int32_t group_weights = 2 * shape->kernel_height * shape->kernel_width;
    aidge_cortexm_dynamic_patch patch;
    int32_t batch, y, x, group;
    aidge_cortexm_dynamic_table(table, numbers, scale[0], (channels + 3) / 4);
    patch.zeros = (uint32_t)({zero}) * 0x10001u;
    patch.step = shape->dilation_width * channels;
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
                const uint8_t *const from = bytes + row * row_bytes + left * channels + first_x * patch.step;
                const int32_t *words = stream + 2 * (first_y * shape->kernel_width + first_x);
                patch.rows = columns > 0 ? rows : 0;
                patch.length = columns * patch.step;
                patch.next_row = shape->dilation_height * row_bytes - patch.length;
                patch.next_weights = 8 * (shape->kernel_width - columns);
                for (group = 0; 4 * group < channels; group++) {{
                    const int32_t channel = 4 * group + 4 < channels ? 4 * group : channels - 4;
                    {function}(from + channel, words, table + 8 * group, output + channel, &patch);
                    words += group_weights;
                }}
                output += channels;
            }}
        }}
        bytes += shape->in_height * row_bytes;
    }}
}}"""
