# SPDX-License-Identifier: MIT
"""The arena as a drawing: time to the right, addresses upwards, a box for each buffer. On pages, and as a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from aidge_build.base import svg
from aidge_build.base.shortening import shortened
from aidge_build.measure.report.treemap import Rectangle
from aidge_build.plan.memory.plan import MemoryPlan

WIDTH = 1200.0
CHARACTER_WIDTH = 6.6
_HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 340.0, 70.0, 4.0, 28.0, 10.0
_TITLE = 26.0  # of a panel in a file of its own
_STEP_NUMBER = 24.0  # if steps are narrower, only some are numbered
_KINDS = {"io", "scratch", "state"}
PANEL_HEIGHT = _TOP + _HEIGHT + _BOTTOM


@dataclass(frozen=True)
class Box:
    """A buffer: `windows` are (first step, last step + 1, lowest byte, highest byte + 1) of the bytes in use."""

    name: str
    label: str
    kind: str
    offset_bytes: int
    size_bytes: int
    first: int
    last: int
    windows: tuple[tuple[int, int, int, int], ...]


def boxes_of(plan: MemoryPlan, labels: Mapping[str, str]) -> list[Box]:
    """Returns the boxes of the buffers that the planner placed; `labels` are other words for the names of buffers."""
    return [
        Box(
            placement.buffer.name,
            labels.get(placement.buffer.name, placement.buffer.name),
            placement.buffer.kind,
            placement.offset_bytes,
            placement.buffer.size_bytes,
            placement.buffer.first,
            placement.buffer.last,
            tuple((one.first, one.last, one.low_bytes, one.high_bytes) for one in placement.buffer.extents),
        )
        for placement in plan.placements
    ]


def colors() -> str:
    """The colours of all drawings, light and dark, as CSS."""
    return style_file("colors.css")


def style_file(name: str) -> str:
    """The rules of a file of this room, without its licence."""
    return files(__package__).joinpath(name).read_text().partition("\n")[2]


def draw_arena(boxes: Sequence[Box], names: Sequence[str], tips: Sequence[str] = (), largest: int | None = None) -> str:
    """Returns the elements inside an `svg` of WIDTH by PANEL_HEIGHT.

    `names` are the names of the steps, `tips` the text shown when a step is pointed at (default: the name), `largest` is the step
    with the peak.
    """
    height = max((box.offset_bytes + box.size_bytes for box in boxes), default=0)
    steps = max(len(names), *(box.last for box in boxes)) if boxes else 0
    if not height or not steps:
        return ""
    across, up = (WIDTH - _LEFT - _RIGHT) / steps, _HEIGHT / height
    base = _TOP + _HEIGHT
    parts = [*_addresses(height, up, base), *_steps(names, tips or names, steps, across, base)]
    for box in boxes:
        parts.append(_buffer(box, steps, across, up, base))
    if largest is not None:
        frame = Rectangle(_LEFT + largest * across, _TOP, across, _HEIGHT)
        parts.append(draw_box(frame, "largest", "the peak"))
    return "".join(parts)


def _addresses(height: int, up: float, base: float) -> list[str]:
    marks = [height * part // 4 for part in range(5)]
    return [svg.mark(base - mark * up, _LEFT, WIDTH - _RIGHT, f"{mark:,}") for mark in marks]


def _steps(names: Sequence[str], tips: Sequence[str], steps: int, across: float, base: float) -> list[str]:
    """Draws a column for each step, with a tip that says what runs; below, the names if all have room, else numbers."""
    parts = [
        draw_box(Rectangle(_LEFT + index * across, _TOP, across, base - _TOP), "column", f"step {index}: {tip}")
        for index, tip in enumerate(tips)
    ]
    have_room = bool(names) and across >= CHARACTER_WIDTH * max(map(len, names))
    stride = 1 if have_room else max(1, int(-(-_STEP_NUMBER // across)))
    for index in range(0, steps, stride):
        text = names[index] if have_room and index < len(names) else f"{index:3}"
        parts.append(draw_label(text, _LEFT + index * across + 2, base + 15, max(across, _STEP_NUMBER) - 2, "axis"))
    return parts


def _buffer(box: Box, steps: int, across: float, up: float, base: float) -> str:
    tip = f"{box.name}  {box.size_bytes:,} B at {box.offset_bytes:,}, from step {box.first} to {box.last} ({box.kind})"
    rectangles = []
    for first, last, low, high in box.windows:
        begin, end = min(max(first, 0), steps), min(max(last, first + 1), steps)
        top = base - (box.offset_bytes + high) * up
        rectangles.append(Rectangle(_LEFT + begin * across, top, max(end - begin, 0) * across, (high - low) * up))
    parts = [draw_box(rectangle, "item", tip) for rectangle in rectangles]
    widest = max(rectangles, key=lambda each: each.width * each.height)
    if widest.height > 14:
        parts.append(draw_label(box.label, widest.left + 4, widest.top + 13, widest.width - 8, "name"))
    if widest.height > 30:
        parts.append(draw_label(f"{box.size_bytes:,} B", widest.left + 4, widest.top + 26, widest.width - 8, "size"))
    return svg.element("g", *parts, class_=f"buffer {box.kind if box.kind in _KINDS else 'activation'}")


def draw_box(box: Rectangle, style: str, tip: str) -> str:
    """Draws a rectangle with the tooltip `tip`."""
    width, height = max(box.width - 0.6, 0.4), max(box.height - 0.6, 0.4)
    return svg.element("rect", svg.tip(tip), class_=style, x=box.left, y=box.top, width=width, height=height)


def draw_label(text: str, left: float, base: float, width: float, style: str) -> str:
    """Draws the text, cut in the middle to the width; nothing if not even three characters fit."""
    room = int(width / CHARACTER_WIDTH)
    return svg.text(shortened(text, room, "\u2026"), left, base, class_=style) if room >= 3 else ""


def draw_file(panels: Sequence[tuple[str, str]], title: str, panel_height: float = PANEL_HEIGHT) -> str:
    """A file of its own: panels (heading, drawing), one below the other."""
    rows = panel_height + _TITLE
    drawn = [
        svg.lowered(8 + index * rows, svg.text(heading, round(_LEFT), 12, class_="title"), svg.lowered(_TITLE, drawing))
        for index, (heading, drawing) in enumerate(panels)
    ]
    parts = [svg.tip(title), svg.element("style", colors()), *drawn]
    return svg.file(WIDTH, rows * len(panels) + 8, *parts, style="background: var(--paper)")
