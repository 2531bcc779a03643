# SPDX-License-Identifier: MIT
"""Geometry of a depthwise convolution: which axis runs down the plane of a channel, how many rows are computed from one plane."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy

from aidge_build.contract.call import Struct
from aidge_build.contract.kernel_kit.following import following, row_steps
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.depthwise import WORDS, Plane, sweep
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.spec import Demands, NodeView

PAIR_BYTES = 20  # of the plane, with its three places
PARTS = 3
NUMBERS = 4  # of a channel, without its weights
_AXES = ("height", "width")
PADS = {"height": "top", "width": "left"}


@dataclass(frozen=True)
class Layout(ABC):
    """Rows and columns of the plane; `image` is the struct of kit/window2d.h, `rows` the name of the axis that runs down. At most
    `most_bytes` of scratch are wished for in strips and `most_whole` for a whole image; a single row may need more."""

    plane: ClassVar[Plane]
    most_bytes: ClassVar[int]
    most_whole: ClassVar[int]

    image: Mapping[str, int]
    rows: str
    strip_rows: int

    @property
    def columns(self) -> str:
        """The name of the axis that runs across."""
        return _AXES[1 - _AXES.index(self.rows)]

    @property
    def kernel(self) -> tuple[int, int]:
        """The taps down and across."""
        return self.image[f"kernel_{self.rows}"], self.image[f"kernel_{self.columns}"]

    @property
    def plane_rows(self) -> int:
        """The rows of the plane."""
        return (self.strip_rows - 1) * self.image[f"stride_{self.rows}"] + self.extent(self.rows)

    def extent(self, axis: str) -> int:
        """Input positions that one output sees."""
        return (self.image[f"kernel_{axis}"] - 1) * self.image[f"dilation_{axis}"] + 1

    @property
    def dilation(self) -> int:
        """Between the taps of a row."""
        return self.image[f"dilation_{self.columns}"] if self.kernel[1] > 1 else 1

    @property
    def depth(self) -> int:
        """The input channels that all outputs see, as neighbours in a row of the plane."""
        return self.image.get("depth", 1)

    @property
    def is_shared(self) -> bool:
        """Whether all output channels read the same plane."""
        return "depth" in self.image

    @property
    def repeats(self) -> int:
        """Turns of a loop that all taps are divided into."""
        return 1

    def has_last(self, is_wide: bool) -> bool:
        """Whether the last weight is above the width, so that the others are whole words."""
        return self.repeats == 1 and not is_wide and self.taps % 4 == 1

    @property
    def taps(self) -> int:
        """The weights of an output channel."""
        return math.prod(self.kernel) * self.depth

    @property
    @abstractmethod
    def scratch_bytes(self) -> int:
        """The bytes of the plane and of what is with it."""

    @property
    @abstractmethod
    def tile(self) -> int:
        """Outputs that are computed at a time."""

    @property
    @abstractmethod
    def work(self) -> int:
        """Instructions of a channel, more or less."""

    @abstractmethod
    def text(self, core: Core, is_wide: bool, is_sums: bool) -> tuple[str, str]:
        """Name and text of the function that computes rows of a channel (`depthwise.sweep`)."""

    def turns(self, kinds: numpy.ndarray) -> dict[str, int]:
        """Returns how often each loop turns, for predictions; {}: they need other quantities."""
        return {}

    def loading(self, core: Core) -> tuple[str, ...]:
        """The texts of functions that load a plane, if the header has none."""
        return ()

    @property
    @abstractmethod
    def plane_columns(self) -> int:
        """Items of a row of the plane."""

    @property
    def geometry(self) -> dict[str, int]:
        """The fields that the structs of all planes share, in their order."""
        image, rows, columns = self.image, self.rows, self.columns
        inputs, channels = image["in_channels"], image["out_channels"]
        steps = {"width": inputs, "height": inputs * image["in_width"]}
        out_steps = {"width": channels, "height": channels * image["out_width"]}
        return {
            "batches": image["batches"],
            "channels": channels,
            "in_rows": image[f"in_{rows}"],
            "in_columns": image[f"in_{columns}"],
            "out_rows": image[f"out_{rows}"],
            "out_columns": image[f"out_{columns}"],
            "in_row_step": steps[rows],
            "in_column_step": steps[columns],
            "out_row_step": out_steps[rows],
            "out_column_step": out_steps[columns],
            "in_image": inputs * image["in_width"] * image["in_height"],
            "out_image": channels * image["out_width"] * image["out_height"],
            "stride_row": image[f"stride_{rows}"],
            "stride_column": image[f"stride_{columns}"],
            "pad_row": image[f"pad_{PADS[rows]}"],
            "pad_column": image[f"pad_{PADS[columns]}"],
            "strip_rows": self.strip_rows,
            "window_rows": self.extent(rows),
            "columns": self.plane_columns,
        }

    @abstractmethod
    def struct(self, numbers: int) -> Struct:
        """The struct of the plane's header for `numbers` words of a channel in the stream."""

    @property
    def is_whole(self) -> bool:
        """Whether one plane holds the whole image."""
        return self.strip_rows == self.image[f"out_{self.rows}"]

    @property
    def works_in_place(self) -> bool:
        """Whether the outputs fit the input's bytes and each channel is in the plane before its own of them are written."""
        fits = self.geometry["out_image"] <= self.geometry["in_image"]
        return self.is_whole and fits

    def demands(self, view: NodeView) -> Demands:
        """The scratch; the outputs of a strip are written while other channels of it are still read, unless they are shared."""
        if self.works_in_place:
            return Demands(scratch_bytes=self.scratch_bytes, in_place=(0,))
        image, inputs, channels = self.image, self.image["in_channels"], self.image["out_channels"]
        if self.rows != "height":
            return Demands(scratch_bytes=self.scratch_bytes)
        read = self.strip_rows if self.is_shared else 0
        height, first = image["out_height"], range(0, image["out_height"], self.strip_rows)
        steps = row_steps(
            image["batches"],
            image["in_height"],
            height,
            (image["in_width"] * inputs, image["out_width"] * channels),
            [(min(row + self.strip_rows, height), (row + read) * image["stride_height"] - image["pad_top"]) for row in first],
        )
        return following(steps, view.outputs[0], self.scratch_bytes)


class WordLayout(Layout):
    """Three parts of a row, as word pairs."""

    plane = WORDS
    most_bytes = most_whole = 2560
    tile = PARTS

    @property
    def part(self) -> int:
        """Output columns of a part."""
        return -(-self.image[f"out_{self.columns}"] // PARTS)

    @property
    def plane_columns(self) -> int:
        """The word pairs of a row of the plane."""
        axis = self.columns
        return (self.part - 1) * self.image[f"stride_{axis}"] + self.extent(axis)

    @property
    def scratch_bytes(self) -> int:
        words = 1 + -(-self.image["in_channels"] // 4) + self.image[f"out_{self.columns}"]
        return PAIR_BYTES * self.plane_rows * self.plane_columns + 4 * words

    @property
    def work(self) -> int:
        outputs = self.strip_rows * self.part
        return 11 * self.plane_rows * self.plane_columns + (60 + 6 * math.prod(self.kernel)) * outputs

    def text(self, core: Core, is_wide: bool, is_sums: bool) -> tuple[str, str]:
        return sweep(core, self.kernel, self.dilation, is_wide, is_sums)

    def struct(self, numbers: int) -> Struct:
        image, rows, columns, geometry = self.image, self.rows, self.columns, self.geometry
        pair = 8
        stride, row_pairs = image[f"stride_{columns}"], self.plane_columns
        across = self.extent(columns)
        row_step = pair * (image[f"dilation_{rows}"] * row_pairs - across)
        done = pair * self.kernel[0] * across + (self.kernel[0] - 1) * row_step
        last = image[f"out_{columns}"] - self.part
        second = min(self.part, last)

        def sweep(step: int, out_row: int) -> tuple[int, ...]:
            return (
                pair * stride - done,
                step,
                second * step,
                last * step,
                row_step,
                self.part * step,
                pair * (image[f"stride_{rows}"] * row_pairs - self.part * stride),
                out_row - self.part * step,
            )

        return Struct(
            "aidge_kit_narrow_depthwise",
            {
                "sweep": sweep(geometry["out_column_step"], geometry["out_row_step"]),
                "sums": sweep(4, 0),
                **geometry,
                "second": second,
                "last": last,
                "row_step": 2 * image[f"stride_{rows}"] * row_pairs,
                "plane_words": 2 * self.plane_rows * row_pairs,
                "places": 1 + 3 * self.plane_rows * row_pairs,
                "numbers": numbers,
            },
        )


Kind = TypeVar("Kind", bound=Layout)


def layout_of(kind: type[Kind], view: NodeView) -> Kind:
    """The whole image in one plane if that is small and works in place, split along the better axis; else strips of its rows."""
    image = window2d(view.inputs[0], view.outputs[0], view.operator.window).fields
    whole = [kind(image, axis, image[f"out_{axis}"]) for axis in _AXES]
    small = [each for each in whole if each.works_in_place and each.scratch_bytes <= kind.most_whole]
    if small:
        return min(small, key=lambda each: each.work)
    strips = [kind(image, "height", rows) for rows in range(1, image["out_height"] + 1)]
    fitting = [each for each in strips if each.scratch_bytes <= kind.most_bytes]
    return fitting[-1] if fitting else strips[0]


def shared_layout(kind: type[Kind], view: NodeView, most_bytes: int) -> Kind | None:
    """The layout of a convolution without groups, of the most rows that take at most so many bytes of scratch, if any: all input
    channels of a row are neighbours in a row of the plane."""
    image = window2d(view.inputs[0], view.outputs[0], view.operator.window).fields
    depth = image["in_channels"]
    in_row = ("in_width", "stride_width", "dilation_width", "pad_left")
    flat = {**image, **{name: image[name] * depth for name in in_row}, "in_channels": 1, "depth": depth}
    strips = [kind(flat, "height", rows) for rows in range(1, image["out_height"] + 1)]
    fitting = [each for each in strips if each.scratch_bytes <= most_bytes]
    return fitting[-1] if fitting else None
