# SPDX-License-Identifier: MIT
"""The drawings of `plan`: the arena before anything is linked, and the curve of RAM against instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from aidge_build.base.render import escaped, render
from aidge_build.measure.report.arena import PANEL_HEIGHT, WIDTH, boxes_of, colors, draw_arena, draw_file, style_file
from aidge_build.measure.report.curve import CURVE_HEIGHT, draw_curve
from aidge_build.plan.memory.plan import MemoryPlan


@dataclass(frozen=True)
class Named:
    """The names in a drawing: each step in a word or two, each step in full, and buffers by their names in the plan."""

    steps: Sequence[str] = ()
    steps_in_full: Sequence[str] = ()
    buffers: Mapping[str, str] = field(default_factory=dict)


def page_style() -> str:
    """The CSS of all pages."""
    return colors() + style_file("page.css")


def plan_drawing(plans: Sequence[MemoryPlan], named: Named, title: str) -> str:
    """A file of its own, with a panel for each region."""
    return draw_file([(_heading(plan, title), _drawn(plan, named)) for plan in plans], title)


def plan_page(plans: Sequence[MemoryPlan], named: Named, title: str, lines: Sequence[str]) -> str:
    """A page: the drawing, the report and a table of the buffers. It loads nothing."""
    placed = [(plan.region, placement) for plan in plans for placement in plan.placements]
    placed.sort(key=lambda entry: (entry[1].buffer.first, entry[1].offset_bytes))
    rows = [
        {
            "name": escaped(placement.buffer.name),
            "label": escaped(named.buffers.get(placement.buffer.name, "")),
            "kind": placement.buffer.kind,
            "cells": [
                f"{region} {placement.offset_bytes:,}".strip(),
                f"{placement.buffer.size_bytes:,}",
                f"{placement.buffer.first}",
                f"{placement.buffer.last}",
            ],
        }
        for region, placement in placed
    ]
    panels = [{"heading": escaped(_heading(plan, "")), "map": _drawn(plan, named), "height": PANEL_HEIGHT} for plan in plans]
    return _page(title, panels, lines, rows, list(map(escaped, named.steps_in_full or named.steps)))


def curve_drawing(points: Sequence[tuple[int, int, bool, str]], title: str) -> str:
    """The curve as a file of its own."""
    return draw_file([(f"{title}; the large point: the present plan", draw_curve(points))], title, CURVE_HEIGHT)


def curve_page(points: Sequence[tuple[int, int, bool, str]], title: str, lines: Sequence[str]) -> str:
    """The curve as a page, with the lines that are printed."""
    heading = "Bytes to the right, instructions more upwards; the large point is the present plan"
    return _page(title, [{"heading": heading, "map": draw_curve(points), "height": CURVE_HEIGHT}], lines, [], [])


def _page(title: str, panels: list[dict], lines: Sequence[str], rows: list[dict], steps: list[str]) -> str:
    return render(
        files(__package__).joinpath("plan.html.j2").read_text(),
        title=escaped(title),
        style=page_style(),
        width=WIDTH,
        panels=panels,
        lines=[escaped(line) for line in lines],
        rows=rows,
        steps=steps,
    )


def _heading(plan: MemoryPlan, otherwise: str) -> str:
    return f"{plan.region}: {plan.peak_bytes:,} B" if plan.region else otherwise


def _drawn(plan: MemoryPlan, named: Named) -> str:
    return draw_arena(boxes_of(plan, named.buffers), named.steps, named.steps_in_full, plan.bound_step)
