# SPDX-License-Identifier: MIT
"""RAM against instructions as a drawing."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base import svg
from aidge_build.measure.report.arena import WIDTH

_LEFT, _TOP, _HEIGHT, _RIGHT = 110.0, 8.0, 440.0, 40.0
CURVE_HEIGHT = _TOP + _HEIGHT + 40


def draw_curve(points: Sequence[tuple[int, int, bool, str]]) -> str:
    """Plans as points of (bytes, instructions, whether it is the present one, tip), for an `svg` of WIDTH by CURVE_HEIGHT."""
    most_bytes, most = max([1, *(point[0] for point in points)]), max([1, *(point[1] for point in points)])
    across = WIDTH - _LEFT - _RIGHT
    places = [(_LEFT + across * size / most_bytes, _TOP + _HEIGHT * (1 - more / most)) for size, more, _, _ in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = []
    for part in range(5):
        x, y = _LEFT + across * part / 4, _TOP + _HEIGHT * (1 - part / 4)
        parts.append(svg.mark(y, _LEFT, WIDTH - _RIGHT, f"{most * part // 4:,}"))
        below = _TOP + _HEIGHT + 18
        parts.append(svg.text(f"{most_bytes * part // 4:,} B", x, below, class_="axis", text_anchor="middle"))
    parts.append(svg.element("polyline", class_="curve", points=line))
    for (x, y), (_, _, is_present, tip) in zip(places, points, strict=True):
        style, radius = ("present", 7) if is_present else ("point", 5)
        parts.append(svg.element("circle", svg.tip(tip), class_=style, cx=x, cy=y, r=radius))
    return "".join(parts)
