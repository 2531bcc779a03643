# SPDX-License-Identifier: MIT
"""The arena as a drawing: time to the right, addresses upwards, one box for each buffer with its numbers as a tooltip."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.memory.plan import MemoryPlan, Placement
from aidge_build.render import escaped
from aidge_build.shortening import shortened

WIDTH, HEIGHT, MARGIN, GAP = 1000, 480, 70, 60
LEAST_HEIGHT = 160  # of one of several panels
COLORS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7")
SCRATCH, PORT = "#bab0ac", "#e15759"
SMALLEST_TEXT_BOX = 60, 12


def render_svg(plans: Sequence[MemoryPlan], steps: Sequence[str], title: str) -> str:
    """A drawing of its own, with a panel for each region; `steps` are the names of what runs."""
    count = max(1, len(steps), *(placement.buffer.last for plan in plans for placement in plan.placements))
    height = max(LEAST_HEIGHT, HEIGHT // len(plans))
    headings = [title] if len(plans) == 1 else [f"{plan.region}: {plan.peak_bytes:,} B" for plan in plans]
    panels = [
        f'<g transform="translate(0 {index * (height + GAP)})">\n{_panel(plan, steps, count, height, heading)}\n</g>'
        for index, (plan, heading) in enumerate(zip(plans, headings, strict=True))
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -30 {WIDTH + MARGIN + 10} {len(plans) * (height + GAP)}" '
            'font-family="sans-serif" font-size="11">',
            f"<title>{_text(title)}</title>",
            *panels,
            "</svg>",
            "",
        ]
    )


def render_curve(points: Sequence[tuple[int, int, bool, str]], title: str) -> str:
    """Plans as points of (bytes, instructions, whether it is the present one, tooltip)."""
    right, top = max([1, *(point[0] for point in points)]), max([1, *(point[1] for point in points)])
    places = [(MARGIN + WIDTH * size / right, HEIGHT * (1 - more / top)) for size, more, _, _ in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{7 if is_present else 4}" fill="{PORT if is_present else COLORS[0]}">'
        f"<title>{_text(tip)}</title></circle>"
        for (x, y), (_, _, is_present, tip) in zip(places, points, strict=True)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -30 {WIDTH + 2 * MARGIN} {HEIGHT + GAP}" '
            'font-family="sans-serif" font-size="11">',
            f"<title>{_text(title)}</title>",
            f'<text x="{MARGIN}" y="-12" font-size="13">{_text(title)}; red: the present plan</text>',
            f'<rect x="{MARGIN}" y="0" width="{WIDTH}" height="{HEIGHT}" fill="#f4f4f4" stroke="#888"/>',
            f'<polyline points="{line}" fill="none" stroke="{COLORS[0]}" stroke-dasharray="4 3"/>',
            *dots,
            f'<text x="{MARGIN + WIDTH}" y="{HEIGHT + 16}" text-anchor="end">{right:,} B</text>',
            f'<text x="{MARGIN - 6}" y="8" text-anchor="end">{top:,}</text>',
            "</svg>",
            "",
        ]
    )


def _panel(plan: MemoryPlan, steps: Sequence[str], count: int, height: int, heading: str) -> str:
    across, up = WIDTH / count, height / max(1, plan.peak_bytes)
    boxes = [box for index, placement in enumerate(plan.placements) for box in _boxes(placement, index, across, up, height)]
    bound = f"{MARGIN + plan.bound_step * across:.1f}"
    columns = [
        f'<rect x="{MARGIN + step * across:.1f}" y="0" width="{across:.2f}" height="{height}" fill="none">'
        f"<title>{_text(f'step {step}: {name}')}</title></rect>"
        for step, name in enumerate(steps)
    ]
    marks = [
        f'<text x="{MARGIN - 6}" y="{height - plan.peak_bytes * part / 4 * up + 4:.1f}" text-anchor="end">'
        f"{plan.peak_bytes * part // 4:,}</text>"
        for part in range(5)
    ]
    return "\n".join(
        [
            f'<text x="{MARGIN}" y="-12" font-size="13">{_text(heading)}</text>',
            f'<rect x="{MARGIN}" y="0" width="{WIDTH}" height="{height}" fill="#f4f4f4" stroke="#888"/>',
            *marks,
            *columns,
            *boxes,
            f'<rect x="{bound}" y="0" width="{across:.2f}" height="{height}" fill="none" stroke="#000" stroke-dasharray="4 3" '
            'pointer-events="none"/>',
            f'<text x="{MARGIN}" y="{height + 16}">step 0</text>',
            f'<text x="{MARGIN + WIDTH}" y="{height + 16}" text-anchor="end">step {count - 1}; dashed: the largest moment</text>',
        ]
    )


def _boxes(placement: Placement, index: int, across: float, up: float, base: int) -> list[str]:
    buffer = placement.buffer
    color = {"io": PORT, "scratch": SCRATCH}.get(buffer.kind, COLORS[index % len(COLORS)])
    tip = (
        f"{buffer.name}: {buffer.size_bytes:,} B at {placement.offset_bytes:,}, "
        f"steps {buffer.first} to {buffer.last - 1}, {buffer.kind}"
    )
    found = []
    for window in buffer.extents:
        x, width = MARGIN + window.first * across, (window.last - window.first) * across
        y = base - (placement.offset_bytes + window.high_bytes) * up
        height = (window.high_bytes - window.low_bytes) * up
        found.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.2f}" fill="{color}" '
            f'fill-opacity="0.75" stroke="#333" stroke-width="0.5"><title>{_text(tip)}</title></rect>'
        )
        if width > SMALLEST_TEXT_BOX[0] and height > SMALLEST_TEXT_BOX[1]:
            found.append(
                f'<text x="{x + 4:.1f}" y="{y + height / 2 + 4:.1f}" pointer-events="none">'
                f"{_text(shortened(buffer.name, int(width / 7)))}</text>"
            )
    return found


def _text(text: str) -> str:
    return escaped(text)


def render_html(plans: Sequence[MemoryPlan], steps: Sequence[str], title: str, lines: Sequence[str]) -> str:
    """A page: the drawing, the report and a table of the buffers. It loads nothing."""
    placed = [(plan.region, placement) for plan in plans for placement in plan.placements]
    placed.sort(key=lambda entry: (entry[1].buffer.first, entry[1].offset_bytes))
    rows = "".join(
        f"<tr><td>{_text(p.buffer.name)}</td><td>{p.buffer.kind}</td><td>{f'{region} {p.offset_bytes:,}'.strip()}</td>"
        f"<td>{p.buffer.size_bytes:,}</td><td>{p.buffer.first}</td><td>{p.buffer.last}</td></tr>"
        for region, p in placed
    )
    report = "\n".join(_text(line) for line in lines)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>
<style>body {{ font-family: sans-serif; margin: 2em; }} table {{ border-collapse: collapse; font-size: 12px; }}
td, th {{ border-bottom: 1px solid #ccc; padding: 2px 8px; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }}</style>
</head><body><pre>{report}</pre>
{render_svg(plans, steps, title)}
<table><tr><th>buffer</th><th>kind</th><th>offset</th><th>bytes</th><th>from step</th><th>to before step</th></tr>{rows}</table>
</body></html>
"""
