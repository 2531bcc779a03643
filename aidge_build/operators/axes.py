# SPDX-License-Identifier: MIT
"""Axis numbers as ONNX writes them (negative ones count from the end) to axis numbers from the front."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.operators.base import require


def counted_axis(axis: int, rank: int, name: str = "axis", beyond: int = 0) -> int:
    """The axis counted from the front; `beyond` = 1 also allows the place after the last axis."""
    require(-rank <= axis < rank + beyond, f"{name} {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis


def counted_axes(axes: Sequence[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Returns several axes counted from the front, in the given order; an axis given twice is refused."""
    counted = tuple(counted_axis(axis, rank, name) for axis in axes)
    require(len(set(counted)) == len(counted), f"{name} {tuple(axes)} name an axis twice")
    return counted
