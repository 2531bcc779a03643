# SPDX-License-Identifier: MIT
"""Depthwise convolution over one axis: 16 channels are turned at once, so that each one's values lie in runs, then computed one
at a time.

VST4 writes 16 channels of four values: four bytes of each channel, 64 bytes to the next four. A gather of four words gives 16
values of a channel, and VMLADAV with the window at its places in them one output each, up to four.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.geometry import Geometry
from ..core.rounding import Fixed
from .single_channels import channel_stream
from .strip_rows import LARGEST_OFFSET

LANES = 16  # channels that are turned at once, and values that one product sees
GROUP = 4  # values whose bytes of a channel lie side by side
GROUP_BYTES = GROUP * LANES
LARGEST_PLANE = 4096  # bytes of scratch
TILE = 8  # outputs that are stored at once
MOST_UNROLLED = 6  # gathers of a channel: beyond, tiles are a loop, whose code is a third


@dataclass(frozen=True)
class Series:
    """All channels of one image of height 1. `adds`, `fixed`: levels are rounded as in rounding.py."""

    shape: Geometry
    clamps: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py
    fixed: Fixed | None = None
    overlaps: bool = False  # the first products of a tile come before the one before is stored, as the next channel's window

    @classmethod
    def of(cls, shape: Geometry, clamps: bool) -> Series | None:
        """None where it does not fit."""
        is_one_axis = shape.kernel_height == 1 and shape.top == 0 and shape.out_height == shape.in_height
        if not is_one_axis or shape.stride_width not in (1, 2, 4):
            return None
        lines = replace(shape, batches=shape.batches * shape.in_height, in_height=1, out_height=1)
        form = cls(lines, clamps)
        return form if form.fits else None

    @property
    def fits(self) -> bool:
        """Whether the window at all its places fits 16 values, and offsets and the copy are within limits."""
        return (
            self.taps + (self.windows - 1) * self.stride <= LANES
            and self.bytes <= LARGEST_PLANE
            and (TILE - 1) * self.shape.channels <= LARGEST_OFFSET
            and self.copied > 0
        )

    @property
    def stride(self) -> int:
        return self.shape.stride_width

    @property
    def taps(self) -> int:
        """With those between dilated ones, which are zero."""
        return (self.shape.kernel_width - 1) * self.shape.dilation_width + 1

    @property
    def together(self) -> int:
        """Outputs of one gather, at most."""
        return GROUP // self.stride

    @property
    def windows(self) -> int:
        """Places of the window."""
        return min(self.together, self.shape.out_width)

    @property
    def gathers(self) -> int:
        """The gathers of a channel."""
        return -(-self.shape.out_width // self.together)

    @property
    def groups(self) -> int:
        """That gathers of a channel read."""
        return self.gathers + LANES // GROUP - 1

    @property
    def width(self) -> int:
        """Values of a channel that gathers read."""
        return GROUP * self.groups

    @property
    def bytes(self) -> int:
        return GROUP_BYTES * self.groups

    @property
    def copied(self) -> int:
        """Values of the input that windows see."""
        return min(self.shape.in_width, self.shape.reached_width - self.shape.left)

    @property
    def sees_pads(self) -> bool:
        """Whether windows see values outside of the input."""
        return self.copied < self.shape.reached_width

    @property
    def has_runs(self) -> bool:
        """Whether there are too many tiles to write each out."""
        return self.gathers > MOST_UNROLLED

    @property
    def may_overlap(self) -> bool:
        """Whether registers are free for the first products of the next tile, and for the window of the next channel."""
        return not (self.clamps or self.has_runs)

    @property
    def turned(self) -> list[list[bool]]:
        """For each group with bytes of the input, which of its values are such bytes; the first is group `first`."""
        end = self.shape.left + self.copied
        return [
            [self.shape.left <= GROUP * group + value < end for value in range(GROUP)]
            for group in range(self.first, -(-end // GROUP))
        ]

    @property
    def first(self) -> int:
        """The first group with bytes of the input."""
        return self.shape.left // GROUP

    @property
    def is_all(self) -> bool:
        """Whether the function does all that there is: one image, without pads."""
        return self.shape.batches == 1 and not self.sees_pads

    @property
    def works_in_place(self) -> bool:
        """Whether the output may lie where the input is: channels are turned as a whole before they are written."""
        return self.shape.batches == 1 or self.shape.out_width <= self.shape.in_width

    @property
    def name(self) -> str:
        way = "_adding" if self.adds else self.fixed.way if self.fixed else ""
        ways = f"{'_clamped' * self.clamps}{way}" + (f"_finer_{self.bits}" if self.bits else "") + "_overlapping" * self.overlaps
        return f"aidge_helium_series_{self.shape.name}{ways}"

    @property
    def description(self) -> str:
        return f"one channel at a time, {TILE} outputs of one axis, requantized in {'fixed point' if self.fixed else 'float'}"

    @property
    def numbers_bytes(self) -> int:
        """The bytes of a channel's numbers."""
        return 12 if self.fixed else 8

    @property
    def instructions(self) -> int:
        """The instructions of all images, nearly."""
        whole, left = divmod(self.shape.out_width, TILE)
        vectors = -(-left // (TILE // 2))
        tiles = whole * (TILE + TILE // self.together + 16 + self.has_runs)
        tiles += left + -(-left // self.together) + 6 * vectors + 4 if left else 0
        channel = 5 + 2 * self.windows + 7 * self.has_runs + 2 * bool(left)
        is_cut = bool(self.shape.channels % LANES)
        block = 21 + 4 * is_cut + len(self.turned) * (13 + is_cut)
        blocks = -(-self.shape.channels // LANES)
        fill = (20 + self.bytes // 8) * self.sees_pads
        return fill + self.shape.batches * (30 + blocks * block + self.shape.channels * (channel + tiles))

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """`taps` [channels, 1, taps]: the head, bias and multiplier of each channel, all taps with zeros between dilated ones."""
        spread = numpy.zeros((len(taps), self.taps), numpy.int8)
        spread[:, :: self.shape.dilation_width] = taps.reshape(len(taps), -1)
        stream = channel_stream(spread, numbers, self.bits)
        return numpy.pad(stream, (0, self.taps if self.overlaps else 0))  # the window behind the last one is read, too
