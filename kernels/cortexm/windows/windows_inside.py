# SPDX-License-Identifier: MIT
"""Windows that lie inside the image: which they are, and rows of them in assembly, 4 channels at a time, all taps in the text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.kernel_kit.raster import raster_demands
from aidge_build.contract.spec import Demands, NodeView

from ..core.assembly import Routine
from ..core.conditions import in_text
from ..core.offsets import plus
from .depthwise_layout import LARGEST_OFFSET

WORD = 4  # values
TOGETHER = {"speed": 49, "balanced": 25, "size": 0}  # taps in the text
MOST_SIZES = 4  # of windows that have texts
PIXELS_TOGETHER = 4  # of 1 to 3 channels: read at most before they are written
NONE = {"first_y": 0, "end_y": 0, "first_x": 0, "end_x": 0}


def inside_of(shape: Mapping[str, int]) -> dict[str, int]:
    """The first output rows and columns whose windows lie inside, and the ends of these; of a shape as in kit/window2d.h."""
    found = {}
    for axis, pad, name in (("height", "pad_top", "y"), ("width", "pad_left", "x")):
        extent = (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"] + 1
        stride, room = shape[f"stride_{axis}"], shape[f"in_{axis}"] - extent + shape[pad]
        end = min(room // stride + 1, shape[f"out_{axis}"]) if room >= 0 else 0
        found |= {f"first_{name}": -(-shape[pad] // stride), f"end_{name}": end}
    return found


class WindowsInside(PoolNode):
    """A pool whose windows inside the image have a text of their own, where that is short."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        shape = cls(view).shape().fields
        return raster_demands(shape, view.inputs[0], view.outputs[0], PIXELS_TOGETHER if is_narrow(shape) else 1)

    def inside(self) -> dict[str, int]:
        """As `inside_of`, as far as the text knows them."""
        shape = self.shape().fields
        is_short = shape["kernel_height"] * shape["kernel_width"] <= in_text(TOGETHER, self.view)
        return inside_of(shape) if is_short else NONE

    def whole(self) -> WindowsInside:
        """For a band, the pool of the whole layer."""
        layer = self.view.layer
        return type(self)(replace(layer.whole, layer=layer)) if layer else self

    def has_inside(self) -> bool:
        """Whether there are such windows; of a band, in its layer."""
        found, least = self.whole().inside(), least_pixels(self.shape().fields)
        return found["end_y"] > found["first_y"] and found["end_x"] - found["first_x"] >= least

    def cut_sizes(self) -> list[tuple[int, int]]:
        """Rows and columns of taps of the windows that the image's edges cut, where texts for them, too, are short."""
        shape = self.whole().shape().fields
        sizes = list(product(*(_sizes_of(shape, axis, pad) for axis, pad in (("height", "pad_top"), ("width", "pad_left")))))
        fits = len(sizes) <= MOST_SIZES and sum(map(math.prod, sizes)) <= in_text(TOGETHER, self.view)
        return [size for size in sizes if size != (shape["kernel_height"], shape["kernel_width"])] if fits else []

    def run_in_c(self) -> dict[str, str]:
        """The parts of a layer's C text about rows: how many windows from the first column inside the image on a text computes,
        and when these are enough."""
        shape = self.shape().fields
        short = " - ((y + 1 >= layer->end_y) ? 1 : 0)" if reads_beyond(shape) else ""  # where the image may end
        return {
            "pixels": f"layer->end_x - x{short}",
            "enough": f" && (pixels >= {least_pixels(shape)})" if is_narrow(shape) else "",
        }

    def by_size_in_c(self, functions: Sequence[str], arguments: str, taps: str, otherwise: str) -> str:
        """C: windows that the image's edges cut, by a function for each of `cut_sizes`, or one by one; `taps` says how many there
        are: its rows and columns. With few channels, single windows have no function."""
        row = f" && (x == layer->first_x){self.run_in_c()['enough']}" if is_narrow(self.shape().fields) else ""
        cases = [
            f"if (({taps}rows == {rows}) && ({taps}columns == {columns}){row}) {{\n    {function}({arguments});\n}}"
            for (rows, columns), function in zip(self.cut_sizes(), functions, strict=True)
        ]
        single = f"pixels = 1;\n{otherwise}"
        return " else ".join([*cases, f"{{\n{textwrap.indent(single, '    ')}\n}}"]) if cases else single


def cut_shape(shape: Mapping[str, int], size: tuple[int, int]) -> dict[str, int]:
    """The shape with windows of so many rows and columns of taps."""
    return {**shape, "kernel_height": size[0], "kernel_width": size[1]}


def _sizes_of(shape: Mapping[str, int], axis: str, pad: str) -> list[int]:
    """How many taps of a window may lie inside the image along this axis, but for none."""
    dilation, found = shape[f"dilation_{axis}"], set()
    for place in range(shape[f"out_{axis}"]):
        start = place * shape[f"stride_{axis}"] - shape[pad]
        taps = range(start, start + shape[f"kernel_{axis}"] * dilation, dilation)
        found.add(sum(0 <= tap < shape[f"in_{axis}"] for tap in taps))
    return sorted(found - {0})


def name_of(shape: Mapping[str, int]) -> str:
    """The part of a name that says on which shape the text of a row depends."""
    down, right = shape["dilation_height"] * shape["in_width"], shape["dilation_width"]
    size = f"{shape['kernel_height']}x{shape['kernel_width']}"
    return f"{size}_d{down}x{right}_s{shape['stride_width']}_c{shape['in_channels']}"


def step_of(shape: Mapping[str, int]) -> int:
    """Bytes from a window to the next."""
    return shape["stride_width"] * shape["in_channels"]


def loads(code: Routine, shape: Mapping[str, int], words: Sequence[str] = ("%word",)) -> Iterator[str]:
    """Every tap's 4 channels, one after another, each in the next one of these values, from the last tap to the first, with
    which %source moves on by them. Hands out the value's name."""
    rows = places_of(shape)
    last = [*words, *[words[-1]] * (sum(map(len, rows)) - len(words))]
    for places in reversed(rows):
        is_far = places[-1] > LARGEST_OFFSET
        base, moved = ("%row", places[-1] + 1) if is_far else ("%source", 0)
        for place in reversed(places):
            word = last.pop()
            if place < moved:
                moved = max(places[0], place - LARGEST_OFFSET)
                code("mov %row, %source")
                plus(code, "%row", moved)
            code(f"ldr {word}, [{base}, #{place - moved}]" if place else f"ldr {word}, [%source], #4")
            yield word


def places_of(shape: Mapping[str, int]) -> list[list[int]]:
    """Bytes from the first tap to each one of each row."""
    channels, down, right = shape["in_channels"], shape["dilation_height"] * shape["in_width"], shape["dilation_width"]
    return [
        [(row * down + tap * right) * channels for tap in range(shape["kernel_width"])] for row in range(shape["kernel_height"])
    ]


def is_narrow(shape: Mapping[str, int]) -> bool:
    """Whether a pixel has less than a word of channels."""
    return shape["in_channels"] < WORD


def are_flat(shape: Mapping[str, int]) -> bool:
    """Whether the values of neighbouring windows are neighbours, so that a row of windows is one long pixel."""
    return shape["stride_width"] == 1


def all_channels(code: Routine, shape: Mapping[str, int], four: Callable[[], None], length: str = "") -> None:
    """Label turn: `four` channels at a time of one window, which move %source and %output on, then %source is at the next window;
    or as many values as this one says, of neighbouring windows."""
    channels = shape["in_channels"]
    if length:
        code(f"add %end, %source, {length}")
    else:
        code(f"addw %end, %source, #{min(channels, LARGEST_OFFSET)}")
        plus(code, "%end", max(channels - LARGEST_OFFSET, 0))
    code.label("turn", "4 channels")
    four()
    if channels % 4:
        code("subs %left, %end, %source", "channels that are left")
        code("beq %done")
        code("subs %left, %left, #4")
        code("bge %turn")
        code("add %source, %source, %left", "the last 4 overlap those before")
        code("add %output, %output, %left")
        code("b %turn")
        code.label("done")
    else:
        code("cmp %source, %end")
        code("bne %turn")
    if not length:
        plus(code, "%source", step_of(shape) - channels)


def lanes_of(shape: Mapping[str, int]) -> tuple[int, ...]:
    """Which of 4 neighbouring values, from the first one of a window on, are values of windows."""
    channels, stride = shape["in_channels"], shape["stride_width"]
    if not is_narrow(shape) or are_flat(shape):
        return tuple(range(WORD))
    pixels = 2 if channels == 1 and stride < WORD else 1
    return tuple(pixel * stride * channels + channel for pixel in range(pixels) for channel in range(channels))


def least_pixels(shape: Mapping[str, int]) -> int:
    """The shortest row."""
    return -(-len(lanes_of(shape)) // shape["in_channels"]) if is_narrow(shape) else 1


def reads_beyond(shape: Mapping[str, int]) -> bool:
    """Whether the last windows of a row read a few bytes beyond their own values."""
    return lanes_of(shape)[-1] < WORD - 1
