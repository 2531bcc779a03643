# SPDX-License-Identifier: MIT
"""Where layers of dynamic quantization keep the rows that their windows see, with what lies beside the image."""

from __future__ import annotations

from collections.abc import Mapping

from .dynamic_gather import LEAST_RUN

_LONGEST_RUN = 100  # bytes: rows of longer ones would take much of the arena
_EDGE = 200  # instructions for each run of a window beyond the image that is gathered by itself, about


def line_bytes(shape: Mapping[str, int], length: int, parts: int = 1) -> int:
    """Of one row, from the first tap of its first window to the last tap of its last one; 0 where the windows read the image.

    In rows of their own all windows lie inside, but the last pixel of an odd number of them has none beside it in its row. Runs
    that are shorter than what is read at once have other bytes before them only there; those of one of several `parts` of the
    channels lie side by side only there."""
    if parts > 1:
        return 0 if is_one_tap(shape) else _of_a_row(shape)
    if shape["dilation_width"] > 1 or length > _LONGEST_RUN:
        return 0
    if length < LEAST_RUN:
        return _of_a_row(shape)
    if shape["kernel_height"] == 1:
        return 0
    pixels = shape["out_height"] * shape["out_width"]
    edges = pixels - _inside(shape, "height", "top") * _inside(shape, "width", "left")
    alone = shape["out_height"] * (shape["out_width"] % 2)
    if edges * _EDGE <= alone * length * shape["out_channels"]:
        return 0
    return _of_a_row(shape)


def is_one_tap(shape: Mapping[str, int]) -> bool:
    """Whether each pixel of the output is made of the pixel in its place, of 4 bytes at least."""
    ones = all(shape[f"{what}_{axis}"] == 1 for what in ("kernel", "stride") for axis in ("height", "width"))
    is_image = all(shape[f"in_{axis}"] == shape[f"out_{axis}"] for axis in ("height", "width"))
    return ones and is_image and shape["pad_top"] == shape["pad_left"] == 0 and shape["in_channels"] >= LEAST_RUN


def _of_a_row(shape: Mapping[str, int]) -> int:
    return ((shape["out_width"] - 1) * shape["stride_width"] + shape["kernel_width"]) * shape["in_channels"]


def _inside(shape: Mapping[str, int], axis: str, side: str) -> int:
    """The places along an axis whose windows lie inside the image."""
    reach = (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"]
    begins = (place * shape[f"stride_{axis}"] - shape[f"pad_{side}"] for place in range(shape[f"out_{axis}"]))
    return sum(0 <= begin < shape[f"in_{axis}"] - reach for begin in begins)
