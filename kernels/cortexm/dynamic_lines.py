# SPDX-License-Identifier: MIT
"""Where layers of dynamic quantization keep the rows that their windows see, with what lies beside the image."""

from __future__ import annotations

from collections.abc import Mapping

from .dynamic_gather import LEAST_RUN

_LONGEST_RUN = 100  # bytes: rows of longer ones would take much of the arena
_EDGE = 200  # instructions for each run of a window beyond the image that is gathered by itself, about


def line_bytes(shape: Mapping[str, int], length: int) -> int:
    """Of one row, from the first tap of its first window to the last tap of its last one; 0 where the windows read the image.

    In rows of their own all windows lie inside, but the last pixel of an odd number of them has none beside it in its row."""
    if shape["dilation_width"] > 1 or shape["kernel_height"] == 1 or not LEAST_RUN <= length <= _LONGEST_RUN:
        return 0
    pixels = shape["out_height"] * shape["out_width"]
    edges = pixels - _inside(shape, "height", "top") * _inside(shape, "width", "left")
    alone = shape["out_height"] * (shape["out_width"] % 2)
    if edges * _EDGE <= alone * length * shape["out_channels"]:
        return 0
    return ((shape["out_width"] - 1) * shape["stride_width"] + shape["kernel_width"]) * shape["in_channels"]


def _inside(shape: Mapping[str, int], axis: str, side: str) -> int:
    """The places along an axis whose windows lie inside the image."""
    reach = (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"]
    begins = (place * shape[f"stride_{axis}"] - shape[f"pad_{side}"] for place in range(shape[f"out_{axis}"]))
    return sum(0 <= begin < shape[f"in_{axis}"] - reach for begin in begins)
