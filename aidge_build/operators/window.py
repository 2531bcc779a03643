# SPDX-License-Identifier: MIT
"""The sliding window that convolutions and pools share: kernel, strides, dilations, pads."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy

from aidge_build.operators.base import require

MOST_ELEMENTS = 1 << 28  # of a padded input that numpy evaluates
LARGEST = 1 << 16  # of a kernel, stride, dilation or pad: far above every real model, far below an overflow


@dataclass(frozen=True)
class Window:
    """One number per spatial axis; pads before and after."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]
    ceil_mode: bool = False

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def has_pads(self) -> bool:
        """Whether a window can see beyond the input."""
        return any(self.pads_begin) or any(self.pads_end)

    @classmethod
    def from_onnx(cls, source, spatial: tuple[int, ...], kernel: tuple[int, ...] | None = None) -> Window:
        """Returns the window of a Conv or pool node over an input with these spatial dims; auto_pad is resolved."""
        rank = len(spatial)
        declared = source.integers("kernel_shape", kernel)
        require(declared is not None, "the attribute kernel_shape is missing")
        require(kernel is None or tuple(declared) == tuple(kernel), f"kernel_shape {declared} differs from the weights' {kernel}")
        strides, dilations = source.integers("strides", (1,) * rank), source.integers("dilations", (1,) * rank)
        pads = source.integers("pads", None)
        auto = source.text("auto_pad", "NOTSET")
        for name, numbers, low, count in (
            ("kernel_shape", declared, 1, rank),
            ("strides", strides, 1, rank),
            ("dilations", dilations, 1, rank),
            ("pads", pads or (0,) * 2 * rank, 0, 2 * rank),
        ):
            require(len(numbers) == count, f"{name} {numbers} has {len(numbers)} numbers, wants {count}")
            require(all(low <= n < LARGEST for n in numbers), f"{name} {numbers}: each must be in {low}..{LARGEST - 1}")
        require(auto in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"), f"auto_pad {auto!r} is unknown")
        require(auto == "NOTSET" or not pads or not any(pads), f"both pads {pads} and auto_pad {auto}")
        window = cls(
            tuple(declared),
            tuple(strides),
            tuple(dilations),
            tuple((pads or (0,) * 2 * rank)[:rank]),
            tuple((pads or (0,) * 2 * rank)[rank:]),
            bool(source.integer("ceil_mode", 0)),
        )
        return window.same(spatial, upper=auto == "SAME_UPPER") if auto.startswith("SAME") else window

    def same(self, spatial: tuple[int, ...], upper: bool = True) -> Window:
        """Returns the window with pads such that output = ceil(input / stride); the odd pad is at the end, or (not `upper`) at
        the begin."""
        begin, end = [], []
        for size, extent, stride in zip(spatial, self.extents, self.strides):
            total = max(0, (-(-size // stride) - 1) * stride + extent - size)
            small, large = total // 2, total - total // 2
            begin.append(small if upper else large)
            end.append(large if upper else small)
        return Window(self.kernel, self.strides, self.dilations, tuple(begin), tuple(end), False)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of input positions that the kernel spans per axis."""
        return tuple((size - 1) * dilation + 1 for size, dilation in zip(self.kernel, self.dilations))

    def output_dims(self, spatial: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the output positions per axis (ceil_mode: a last window must start inside the input or the begin pad)."""
        dims = []
        positive = min((*self.strides, *self.dilations), default=1) > 0
        require(positive, f"strides {self.strides} and dilations {self.dilations} must be positive")
        for size, extent, stride, begin, end in zip(spatial, self.extents, self.strides, self.pads_begin, self.pads_end):
            room = size + begin + end - extent
            require(room >= 0, f"the kernel spans {extent} positions, the padded input has {size + begin + end}")
            count = (-(-room // stride) if self.ceil_mode else room // stride) + 1
            if self.ceil_mode and (count - 1) * stride >= size + begin:
                count -= 1
            dims.append(count)
        return tuple(dims)

    def band(self, size: int, first: int, last: int) -> tuple[Window, tuple[int, int]] | None:
        """Returns the window that computes only the positions `[first, last)` of axis 0, and the rows of an input of `size` rows
        that it reads.

        Its pads are the positions outside of the input that these windows read, including positions that only ceil_mode adds.
        Returns None if they read no row.
        """
        stride, shift = self.strides[0], self.pads_begin[0]
        begin, end = first * stride - shift, (last - 1) * stride - shift + self.extents[0]
        low, high = max(0, begin), min(size, end)
        if low >= high:
            return None
        pads = (low - begin, *self.pads_begin[1:]), (end - high, *self.pads_end[1:])
        return replace(self, pads_begin=pads[0], pads_end=pads[1]), (low, high)


def windows(data: numpy.ndarray, window: Window, fill: float) -> numpy.ndarray:
    """Returns a view [N, C, out..., kernel...] of the padded input [N, C, spatial...]; pads hold `fill`."""
    rank = window.rank
    out = window.output_dims(data.shape[2:])
    pads = ((0, 0), (0, 0), *_pads(window, data.shape[2:]))
    elements = math.prod(size + sum(pad) for size, pad in zip(data.shape, pads))
    require(elements <= MOST_ELEMENTS, f"the padded input has {elements} elements, too many to evaluate")
    padded = numpy.pad(data, pads, constant_values=fill) if any(map(any, pads)) else data
    view = numpy.lib.stride_tricks.sliding_window_view(padded, window.extents, tuple(range(2, 2 + rank)))
    steps = (
        slice(None),
        slice(None),
        *(slice(0, (n - 1) * s + 1, s) for n, s in zip(out, window.strides)),
        *(slice(None, None, d) for d in window.dilations),
    )
    return view[steps]


def overlaid(parts: numpy.ndarray, window: Window, shape: tuple[int, ...]) -> numpy.ndarray:
    """Returns an array of the input's shape with the elements of windows [N, C, out..., kernel...] added up at their places: the
    transpose of `windows`."""
    pads = _pads(window, shape[2:])
    padded = numpy.zeros((*shape[:2], *(size + sum(pad) for size, pad in zip(shape[2:], pads))))
    out = parts.shape[2 : 2 + window.rank]
    for taps in itertools.product(*map(range, window.kernel)):
        places = (
            slice(tap * dilation, tap * dilation + (count - 1) * stride + 1, stride)
            for tap, dilation, count, stride in zip(taps, window.dilations, out, window.strides)
        )
        at: tuple = (..., *taps)
        padded[:, :, *places] += parts[at]
    return padded[(slice(None), slice(None), *(slice(begin, begin + size) for (begin, _), size in zip(pads, shape[2:])))]


def _pads(window: Window, spatial: tuple[int, ...]) -> list[tuple[int, int]]:
    """Returns the pads before and after each axis; with ceil_mode the last window may reach beyond the end pad."""
    after = [
        max(end, (count - 1) * stride + extent - size - begin)
        for end, count, stride, extent, size, begin in zip(
            window.pads_end, window.output_dims(spatial), window.strides, window.extents, spatial, window.pads_begin
        )
    ]
    return list(zip(window.pads_begin, after))
