# SPDX-License-Identifier: MIT
"""A window over one or two spatial axes as numbers; a signal over one axis is an image of height 1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from aidge_build.contract.kernel_kit.following import Steps, row_steps
from aidge_build.contract.spec import NodeView


@dataclass(frozen=True)
class Bands:
    """The common facts of all bands of a layer: how many there are, nearly, how many rows of the output each has at least, and
    whether none sees a pad."""

    count: int
    fewest: int
    stays_inside: bool


@dataclass(frozen=True)
class Geometry:
    """Channels lie last: [batches][height][width][channels]. With `bands` the output is that of the largest band of a layer, and
    nothing else follows from the heights and the top of the band."""

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
    bands: Bands | None = None

    @property
    def name(self) -> str:
        """Tells everything but the number of output channels."""
        if self.bands:
            return self._name_of_bands
        return (
            f"{self.kernel_height}x{self.kernel_width}_over_{self.in_height}x{self.in_width}x{self.channels}"
            f"_gives_{self.out_height}x{self.out_width}"
            + (f"_batches_{self.batches}" if self.batches > 1 else "")
            + self._unless("stride", (1, 1), self.stride_height, self.stride_width)
            + self._unless("dilation", (1, 1), self.dilation_height, self.dilation_width)
            + self._unless("pad", (0, 0), self.top, self.left)
        )

    @property
    def _name_of_bands(self) -> str:
        """Nothing depends on what bands see above and below."""
        return (
            f"{self.kernel_height}x{self.kernel_width}_over_rows_of_{self.in_width}x{self.channels}"
            f"_gives_bands_of_{self.out_height}x{self.out_width}"
            + "_or_less" * self.has_smaller_bands
            + self._unless("stride", (1, 1), self.stride_height, self.stride_width)
            + self._unless("dilation", (1, 1), self.dilation_height, self.dilation_width)
            + (f"_pad_{self.left}" if self.left else "")
        )

    @property
    def times(self) -> int:
        """How often the functions for this geometry run in an inference."""
        return self.bands.count if self.bands else 1

    @property
    def has_smaller_bands(self) -> bool:
        return self.bands is not None and self.bands.fewest < self.out_height

    @property
    def of_one_row(self) -> Geometry:
        """The same for a row of the output, of a pointwise layer for a row."""
        return replace(self, in_height=1, out_height=1)

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
        if self.bands:
            return self.bands.stays_inside
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


def geometry_of(view: NodeView) -> Geometry:
    """The geometry of a layer or, of a band, what the functions of its layer are made for."""
    if view.layer is None:
        return of_image(view)
    whole = of_image(view.layer.whole, is_upright=True)
    bands = Bands(-(-whole.out_height // view.layer.rows), view.layer.fewest, whole.stays_inside)
    in_height = view.layer.rows if whole.is_pointwise else whole.in_height
    return replace(whole, in_height=in_height, out_height=view.layer.rows, bands=bands)


def of_band(view: NodeView) -> Geometry:
    """The geometry of what is computed; bands of a layer whose rows are pixels keep them as rows."""
    return of_image(view, is_upright=view.layer is not None)


def of_image(view: NodeView, is_upright: bool = False) -> Geometry:
    """The geometry of the window over data [N, C, (H,) W]; `is_upright`: axis 2 is the height, whatever the width."""
    data, output, window = view.inputs[0], view.outputs[0], view.operator.window
    axes = [
        index
        for index in range(window.rank)
        if (data.dims[2 + index], output.dims[2 + index], window.kernel[index], window.pads_begin[index]) != (1, 1, 1, 0)
    ]
    # Axes of length 1 go first: the inner loops then run over the axis that has taps. The stored bytes are the same.
    order = [0, *range(1, window.rank), None][:2] if is_upright else [None] * (2 - len(axes)) + axes

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
