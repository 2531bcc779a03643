# SPDX-License-Identifier: MIT
"""Geometry of a depthwise convolution, its rows of pixel pairs, and its stream of weights.

Weights are 256 times as large as the model's (they fit int16), so the sums carry 8 fraction bits, and zero point, rounding
and bias of the integer requantization are one exact constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import Struct
from aidge_build.contract.kernel_kit.following import row_steps
from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.packing import as_words, group_starts
from aidge_build.contract.spec import NodeView

from ..sums.window import SCRATCH_BYTES, Plane, plane_of_view
from .depthwise_integers import Integers, channel_scales

WEIGHT_REGISTERS = 6
HEAD_WORDS, FIXED_HEAD_WORDS = 2, 4  # bias and multiplier; constant and shift of a fixed-point factor, too
CURVED_HEAD_WORDS = 3  # bias of the sums; factor and bias of the floats, or multiplier and constant
NARROW_SCALE = 256  # of weights that stand in the stream as bytes, where sums carry fraction bits
LARGEST_OFFSET = 4095  # of a load
MOST_CHANNELS = 4095  # the step from pixel to pixel fits an instruction
MOST_WEIGHT_WORDS = 500


@dataclass(frozen=True)
class Depthwise:
    """The geometry of one layer; sizes of the buffer in words."""

    plane: Plane
    pairs: int  # words of one channel in a row
    band: int  # output rows at once
    are_bytes: bool = False  # the stream has the model's weights behind the heads of 4 channels, not halfwords behind each head
    head_words: int = HEAD_WORDS  # of a channel in the stream, before its weights
    is_doubled: bool = False  # weights of channels with fixed-point factors are twice as large
    is_turned: bool = False  # rows of the plane are columns of the image; then there is one band

    @property
    def row_words(self) -> int:
        return 4 * self.pairs

    @property
    def in_steps(self) -> tuple[int, int]:
        """Bytes of the input from row to row, and from pixel to pixel of a row."""
        return self._steps_of(self.plane.in_size)

    @property
    def out_steps(self) -> tuple[int, int]:
        """The same of the output."""
        return self._steps_of(self.plane.out_size)

    def _steps_of(self, size: tuple[int, int]) -> tuple[int, int]:
        channels = self.plane.in_channels
        return (channels, size[0] * channels) if self.is_turned else (size[1] * channels, channels)

    @property
    def pairs_of_outputs(self) -> int:
        """How many pairs are computed, with single outputs at the ends of rows."""
        height, width = self.plane.made_for
        return height * ((width + 1) // 2)

    @property
    def turn(self) -> str:
        """For the names of functions that depend on the steps."""
        return f"_turned{self.plane.in_size[0]}to{self.plane.out_size[0]}" if self.is_turned else ""

    @property
    def slack_words(self) -> int:
        """Behind the buffer: words that are read, but meet weights of 0."""
        return self.plane.kernel[1] + 2

    @property
    def buffer_bytes(self) -> int:
        """The bytes of the rows."""
        return 4 * (self.plane.extent(0, self.band) * self.row_words + self.slack_words)

    @property
    def weights_at(self) -> int:
        """The place of a channel's weights that are bytes and more than registers hold: after the rows, over the slack."""
        return self.buffer_bytes - 4 * self.slack_words

    @property
    def scratch_bytes(self) -> int:
        if not self.are_bytes or self.in_registers:
            return self.buffer_bytes
        return max(self.buffer_bytes, self.weights_at + 4 * self.weight_words)

    @property
    def is_one_band(self) -> bool:
        """Whether the buffer holds all rows, some of them inside the image."""
        plane = self.plane
        sees_image = -plane.pads[0] + plane.extent(0, self.band) > 0 if plane.largest is None else not plane.is_outside
        return self.band == plane.made_for[0] and sees_image

    @property
    def works_in_place(self) -> bool:
        """Whether the output may lie where the input is: a group of channels reads and writes no other's bytes, and gathers what
        a band sees before it writes the band."""
        plane = self.plane
        bands = [min(first + self.band, plane.out_size[0]) for first in range(0, plane.out_size[0], self.band)]
        steps = row_steps(
            plane.batches,
            plane.in_size[0],
            plane.out_size[0],
            (plane.in_size[1], plane.out_size[1]),
            [(end, (end - 1) * plane.strides[0] - plane.pads[0] + plane.extent(0, 1)) for end in bands],
        )
        return plane.in_channels % 4 == 0 and all(written <= unread for written, unread in steps)

    @property
    def is_even(self) -> bool:
        """Whether every output begins at an even position: with steps of 2 columns, or one output in a row."""
        return self.plane.strides[1] == 2 or self.plane.out_size[1] == 1

    @property
    def steps(self) -> int:
        """Words of activations in a row that meet the weights of one output."""
        width = self.plane.kernel[1]
        return (width + 1) // 2 if self.is_even else width // 2 + 1

    @property
    def row_weights(self) -> int:
        """Words of weights in a row of the window: without steps of 2 each two neighbours make one, of which both outputs of a
        pair take a half at the ends."""
        return self.steps if self.is_even else max(1, self.plane.kernel[1] - 1)

    @property
    def weight_words(self) -> int:
        return self.plane.kernel[0] * self.row_weights

    @property
    def taps(self) -> int:
        """Weights of a channel."""
        return self.plane.kernel[0] * self.plane.kernel[1]

    @property
    def unpacking(self) -> int:
        """Instructions that make words of halfwords of a channel's bytes."""
        return 2 + self.taps + 2 * self.weight_words + (0 if self.in_registers else (self.weight_words + 1) // 2)

    @property
    def step_words(self) -> int:
        """From the head of a channel to that of the next."""
        return self.head_words + (0 if self.are_bytes else self.weight_words)

    @property
    def group_words(self) -> int:
        """The words of 4 channels in the stream."""
        return 4 * self.step_words + (self.taps if self.are_bytes else 0)

    @property
    def in_registers(self) -> bool:
        return self.weight_words <= WEIGHT_REGISTERS

    @property
    def furthest(self) -> int:
        """The largest offset of an activation."""
        return 4 * ((self.plane.kernel[0] - 1) * self.plane.dilations[0] * self.row_words + self.steps + 1)

    @property
    def unfit(self) -> str:
        """Why the layer cannot be gathered into pairs of pixels, or nothing."""
        plane = self.plane
        if plane.strides[1] > 2 or (plane.dilations[1] > 1 and plane.kernel[1] > 1):
            return f"steps {plane.strides[1]} columns, {plane.dilations[1]} between taps; wants at most 2, and 1"
        if plane.in_channels > MOST_CHANNELS:
            return f"{plane.in_channels} channels, wants at most {MOST_CHANNELS}"
        if plane.pads[1] >= 2 * self.pairs or self.furthest > LARGEST_OFFSET or self.weight_words > MOST_WEIGHT_WORDS:
            return "the rows of a window are too far apart"
        return ""

    @property
    def most_together(self) -> int:
        """Pairs of outputs whose activations and results the offsets of instructions reach."""
        of_words = (LARGEST_OFFSET - self.furthest) // (4 * self.plane.strides[1]) + 1
        return max(1, min(of_words, (LARGEST_OFFSET // self.out_steps[1] + 1) // 2))


def layer_of(view: NodeView, are_bytes: bool = False) -> Depthwise:
    """The layer as `depthwise_of`; columns of the image are its rows if that saves pairs of outputs and needs no more memory."""
    upright = upright_layer_of(view, are_bytes)
    turned = replace(depthwise_of(upright.plane.turned, are_bytes), is_turned=True)
    saves = turned.pairs_of_outputs < upright.pairs_of_outputs
    fits = turned.weight_words <= upright.weight_words and turned.scratch_bytes <= upright.scratch_bytes
    return turned if saves and fits and view.layer is None and turned.is_one_band and not turned.unfit else upright


def upright_layer_of(view: NodeView, are_bytes: bool = False) -> Depthwise:
    """The layer as `depthwise_of`, with the rows of the image."""
    return depthwise_of(plane_of_view(view, is_upright=True), are_bytes)


def depthwise_of(plane: Plane, are_bytes: bool = False) -> Depthwise:
    """The layer with bands as large as the scratch allows."""
    positions = max(plane.extent(1, plane.out_size[1]), plane.pads[1] + plane.in_size[1])
    pairs = (positions + 1) // 2
    bands = [Depthwise(plane, pairs, band, are_bytes) for band in range(1, plane.made_for[0] + 1)]
    return max((layer for layer in bands if layer.scratch_bytes <= SCRATCH_BYTES), key=lambda layer: layer.band, default=bands[0])


def struct(layer: Depthwise, stream_words: int) -> Struct:
    """The struct of depthwise.h."""
    plane = layer.plane
    return Struct(
        "aidge_cortexm_depthwise",
        {
            "batches": plane.batches,
            "in_height": plane.in_size[0],
            "in_width": plane.in_size[1],
            "channels": plane.in_channels,
            "out_height": plane.out_size[0],
            "out_width": plane.out_size[1],
            "stride_height": plane.strides[0],
            "pad_top": plane.pads[0],
            "extent": plane.extent(0, 1),
            "row_words": layer.row_words,
            "band": layer.band,
            "group_words": layer.group_words,
            "stream_words": stream_words,
        },
    )


def row_pairs(layer: Depthwise, taps: list[int]) -> list[tuple[int, int]]:
    """The words of weights of one row of the window as (low, high), from the taps' values; the index -1 stands for 0."""
    step = 2 if layer.is_even else 1
    order = [(step * word, step * word + 1) for word in range(layer.row_weights)]
    return [tuple(taps[index] if index < len(taps) else 0 for index in pair) for pair in order]


def pack(linear: Linear, layer: Depthwise, integers: Integers, in_float: bool) -> numpy.ndarray:
    """The stream: head, then per group of 4 channels of each bias, multiplier, weights; plain ones stand behind them all.

    The multiplier is a proved integer, 0 of a proved shift alone, or with the highest bit set a float: with an FPU divided by the
    weights' scale as long as sums of that many times the weights fit, without one as whole as fractions of the biases allow, and
    its weights, too; or of a fixed-point factor, whose constant and shift follow.
    """
    words = [
        (linear.zero_point + 128) * 0x10001,
        (linear.clamp[0] + 128) | (linear.clamp[1] + 128) << 16,
        (linear.input_zero_point & 0xFF) * 0x01010101,
    ]
    proved = integers.is_proved
    scales, fixed = channel_scales(linear, integers, in_float, layer.is_doubled), linear.fixed_form()
    floats = (linear.factors / scales.astype(numpy.float32)).astype(numpy.float32).view(numpy.uint32)
    for first in group_starts(len(linear.rows)):
        heads = []
        for channel in range(first, first + 4):
            fraction = scales[channel] * linear.fractions[channel] // linear.unit
            start = scales[channel] * linear.bias[channel] + (integers.offsets[channel] if proved[channel] else fraction)
            otherwise = int(floats[channel] if fixed is None else fixed.multipliers[channel])
            head = [int(start), int(integers.multipliers[channel]) if proved[channel] else otherwise | 1 << 31]
            if fixed is not None and layer.head_words == FIXED_HEAD_WORDS:
                head += [int(fixed.constants[channel]), int(fixed.shifts[channel])]
            heads.append(head)
        scaled = 1 if layer.are_bytes else scales[first : first + 4, None]
        words += group(layer, heads, scaled * linear.rows[first : first + 4])
    return as_words(words)


def group(layer: Depthwise, heads: list[list[int]], rows: numpy.ndarray) -> list[int]:
    """4 channels in the stream, from their heads and weights [channel, tap]."""
    if layer.is_turned:
        rows = rows.reshape(len(rows), *layer.plane.kernel[::-1]).swapaxes(1, 2).reshape(rows.shape)
    if layer.are_bytes:
        return [number for head in heads for number in head] + rows.astype(numpy.int8).ravel().view("<i4").tolist()
    words: list[int] = []
    for head, taps in zip(heads, rows):
        pairs = [pair for row in taps.reshape(layer.plane.kernel).tolist() for pair in row_pairs(layer, row)]
        words += [*head, *(low & 0xFFFF | (high & 0xFFFF) << 16 for low, high in pairs)]
    return words
