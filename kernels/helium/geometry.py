# SPDX-License-Identifier: MIT
"""A window over one or two spatial axes as numbers; a signal over one axis is an image of height 1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aidge_build.graph.tensor import Tensor
from aidge_build.kernel_kit.following import Steps, row_steps
from aidge_build.operators.window import Window


@dataclass(frozen=True)
class Geometry:
    """Channels lie last: [batches][height][width][channels]."""

    batches: int
    in_height: int
    in_width: int
    channels: int
    out_height: int
    out_width: int
    outputs: int
    kernel_height: int
    kernel_width: int
    stride_height: int
    stride_width: int
    dilation_height: int
    dilation_width: int
    top: int
    left: int

    @property
    def name(self) -> str:
        """Tells everything but the number of output channels."""
        return (
            f"{self.kernel_height}x{self.kernel_width}_over_{self.in_height}x{self.in_width}x{self.channels}"
            f"_gives_{self.out_height}x{self.out_width}"
            + (f"_batches_{self.batches}" if self.batches > 1 else "")
            + self._unless("stride", (1, 1), self.stride_height, self.stride_width)
            + self._unless("dilation", (1, 1), self.dilation_height, self.dilation_width)
            + self._unless("pad", (0, 0), self.top, self.left)
        )

    @staticmethod
    def _unless(word: str, usual: tuple[int, int], *numbers: int) -> str:
        return "" if numbers == usual else f"_{word}_{numbers[0]}x{numbers[1]}"

    @property
    def reached_height(self) -> int:
        """Rows from the first to the last that any window sees, pads included."""
        return (self.out_height - 1) * self.stride_height + (self.kernel_height - 1) * self.dilation_height + 1

    @property
    def reached_width(self) -> int:
        return (self.out_width - 1) * self.stride_width + (self.kernel_width - 1) * self.dilation_width + 1

    @property
    def stays_inside(self) -> bool:
        """Whether no window sees a pad."""
        return self.top == self.left == 0 and self.reached_height <= self.in_height and self.reached_width <= self.in_width

    def row_steps(self, rows: Iterable[tuple[int, int]]) -> Steps:
        """Steps of output rows, with the input rows that are needed no more."""
        return row_steps(
            self.batches, self.in_height, self.out_height, (self.in_width * self.channels, self.out_width * self.outputs), rows
        )

    @property
    def is_pointwise(self) -> bool:
        return (
            self.kernel_height == self.kernel_width == self.stride_height == self.stride_width == 1
            and self.stays_inside
            and (self.out_height, self.out_width) == (self.in_height, self.in_width)
        )


def geometry_of(data: Tensor, output: Tensor, window: Window) -> Geometry:
    """The geometry of a window over `data` [N, C, (H,) W]."""
    axes = [
        index
        for index in range(window.rank)
        if (data.dims[2 + index], output.dims[2 + index], window.kernel[index], window.pads_begin[index]) != (1, 1, 1, 0)
    ]
    # Axes of length 1 go first: the inner loops then run over the axis that has taps. The stored bytes are the same.
    order = [None] * (2 - len(axes)) + axes

    def pair(numbers: tuple[int, ...], missing: int) -> tuple[int, int]:
        first, second = (missing if axis is None else numbers[axis] for axis in order)
        return first, second

    return Geometry(
        data.dims[0],
        *pair(data.dims[2:], 1),
        data.dims[1],
        *pair(output.dims[2:], 1),
        output.dims[1],
        *pair(window.kernel, 1),
        *pair(window.strides, 1),
        *pair(window.dilations, 1),
        *pair(window.pads_begin, 0),
    )
