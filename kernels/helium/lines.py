# SPDX-License-Identifier: MIT
"""Pools in two steps, columns and then neighbours of a line (lines.h): the line in scratch, and what windows see."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.contract.kernel_kit.pooling import PoolNode


def line_elements(node: PoolNode) -> int:
    """Of the line that a row of outputs is made of."""
    shape = node.shape().fields
    columns = (shape["out_width"] - 1) * shape["stride_width"] + (shape["kernel_width"] - 1) * shape["dilation_width"] + 1
    return columns * shape["in_channels"]


def taps_inside(shape: Mapping[str, int], axis: str, pad: str) -> list[int]:
    """For each position along the axis how many taps of its window lie inside the image."""
    size, dilation = shape[f"in_{axis}"], shape[f"dilation_{axis}"]
    starts = [place * shape[f"stride_{axis}"] - shape[pad] for place in range(shape[f"out_{axis}"])]
    return [sum(0 <= start + tap * dilation < size for tap in range(shape[f"kernel_{axis}"])) for start in starts]
