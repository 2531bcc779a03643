# SPDX-License-Identifier: MIT
"""Squarified treemaps (Bruls, Huizing, van Wijk, 2000): areas in proportion to sizes, rectangles as square as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rectangle:
    """A rectangle in drawing units, from the top left."""

    left: float
    top: float
    width: float
    height: float

    def inset(self, margin: float, top: float) -> Rectangle:
        """The rectangle without a margin, and without a heading of `top`; never negative."""
        width, height = max(self.width - 2 * margin, 0.0), max(self.height - top - margin, 0.0)
        return Rectangle(self.left + margin, self.top + top, width, height)


def squarify(sizes: Sequence[int], area: Rectangle) -> list[Rectangle]:
    """Returns one rectangle per size, in the order of `sizes`, which must be descending."""
    total = sum(sizes)
    if not total or area.width <= 0 or area.height <= 0:
        return [Rectangle(area.left, area.top, 0.0, 0.0) for _ in sizes]
    scale = area.width * area.height / total
    placed: list[Rectangle] = []
    rest, position = area, 0
    while position < len(sizes):
        side = min(rest.width, rest.height)
        end = position + 1
        while end < len(sizes) and _worst(sizes[position : end + 1], side, scale) <= _worst(sizes[position:end], side, scale):
            end += 1
        row, rest = _lay_row(sizes[position:end], rest, scale)
        placed += row
        position = end
    return placed


def _worst(row: Sequence[int], side: float, scale: float) -> float:
    """The largest ratio of sides in a row along `side`."""
    areas = [max(size, 1e-9) * scale for size in row]
    total = sum(areas)
    if side <= 0:
        return float("inf")
    return max(side * side * max(areas) / (total * total), total * total / (side * side * min(areas)))


def _lay_row(row: Sequence[int], rest: Rectangle, scale: float) -> tuple[list[Rectangle], Rectangle]:
    """Returns the row along the shorter side of `rest`, and the rest after it."""
    along_height = rest.height <= rest.width
    side = rest.height if along_height else rest.width
    thickness = sum(row) * scale / side if side > 0 else 0.0
    placed, offset = [], 0.0
    for size in row:
        length = size * scale / thickness if thickness > 0 else 0.0
        placed.append(
            Rectangle(rest.left, rest.top + offset, thickness, length)
            if along_height
            else Rectangle(rest.left + offset, rest.top, length, thickness)
        )
        offset += length
    if along_height:
        return placed, Rectangle(rest.left + thickness, rest.top, max(rest.width - thickness, 0.0), rest.height)
    return placed, Rectangle(rest.left, rest.top + thickness, rest.width, max(rest.height - thickness, 0.0))
