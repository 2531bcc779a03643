# SPDX-License-Identifier: MIT
"""Neighbouring pixels that a kernel computes together: those of a row whose windows are inside the image."""

from __future__ import annotations

from collections.abc import Mapping


def blocks_of_pixels(shape: Mapping[str, int], size: int) -> list[tuple[int, int]]:
    """Returns the (first, one past the last) pixel of each block of a window2d `shape`, in order: `size` pixels, or one."""
    columns, blocks, first = _whole(shape, "width", "pad_left"), [], 0
    for row in _whole(shape, "height", "pad_top") * shape["batches"]:
        column = 0
        while column < len(columns):
            count = size if row and columns[column : column + size] == [True] * size else 1
            blocks.append((first, first + count))
            first, column = first + count, column + count
    return blocks


def _whole(shape: Mapping[str, int], axis: str, pad: str) -> list[bool]:
    """Whether the window at each place of an axis is inside the image."""
    starts = [place * shape[f"stride_{axis}"] - shape[pad] for place in range(shape[f"out_{axis}"])]
    reach = (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"]
    return [start >= 0 and start + reach < shape[f"in_{axis}"] for start in starts]
