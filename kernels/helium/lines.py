# SPDX-License-Identifier: MIT
"""Pools in two steps, columns and then neighbours of a line (lines.h): the line in scratch."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.pooling import PoolNode


def line_elements(node: PoolNode) -> int:
    """Of the line that a row of outputs is made of."""
    shape = node.shape().fields
    columns = (shape["out_width"] - 1) * shape["stride_width"] + (shape["kernel_width"] - 1) * shape["dilation_width"] + 1
    return columns * shape["in_channels"]
