# SPDX-License-Identifier: MIT
"""Depthwise layers of one output pixel: which they are, and what their window sees."""

from __future__ import annotations

import math
from itertools import product

from aidge_build.contract.spec import NodeView, Predicate

from .conditions import wants_short

LARGEST_OFFSET = 4095  # of a load
MOST_TAPS = 64  # of 23 B each


def seen_taps(view: NodeView) -> list[tuple[int, int]]:
    """The taps inside the image, in the order of the kernel; of each its place there, and the byte of its first channel."""
    window, (_, channels, *image) = view.operator.window, view.inputs[0].dims
    axes = [
        [(tap, tap * step - pad) for tap in range(taps) if 0 <= tap * step - pad < size]
        for taps, step, pad, size in zip(window.kernel, window.dilations, window.pads_begin, image)
    ]
    found = []
    for taps in product(*axes):
        tap = pixel = 0
        for (index, position), count, size in zip(taps, window.kernel, image):
            tap, pixel = tap * count + index, pixel * size + position
        found.append((tap, pixel * channels))
    return found


def _unfit(view: NodeView) -> str:
    pixels = math.prod(view.outputs[0].dims[2:])
    if view.layer or pixels != 1:
        return f"{pixels} output pixels of a batch, wants one, of a whole layer"
    if wants_short(view):
        return "--optimize size"
    seen = seen_taps(view)
    if not 0 < len(seen) <= MOST_TAPS:
        return f"{len(seen)} taps inside the image, wants 1 to {MOST_TAPS}"
    furthest = seen[-1][1]
    return "" if furthest <= LARGEST_OFFSET else f"taps {furthest} bytes apart, wants at most {LARGEST_OFFSET}"


def _fit(view: NodeView) -> str:
    return "" if _unfit(view) else "one output pixel, with taps that are read in place"


ONE_PIXEL = Predicate("one output pixel, few near taps, not --optimize size", _unfit)
OTHERS = Predicate("several output pixels, or many or distant taps, or --optimize size", _fit)
