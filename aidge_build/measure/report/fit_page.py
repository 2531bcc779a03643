# SPDX-License-Identifier: MIT
"""The page of the boards on which models fit: a bar for each memory of each board, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from aidge_build.base import svg
from aidge_build.base.render import escaped, render
from aidge_build.measure.fit.answer_table import NUMBERS, TITLES, VERDICT, cells_of, known_columns, notes_of
from aidge_build.measure.fit.budget import Row
from aidge_build.measure.report.arena import WIDTH, draw_box, draw_label
from aidge_build.measure.report.plan_page import page_style
from aidge_build.measure.report.treemap import Rectangle

_NAME, _GAP, _LINE, _TOP = 210.0, 14.0, 18.0, 22.0
_ACROSS = (WIDTH - _NAME - 2 * _GAP) / 2  # of a bar: RAM to the left, flash to the right
_KINDS = (("ram", "RAM", "arena"), ("flash", "flash", "weights"))
_FULL = 0.8  # of a bar's width is the whole memory: missing bytes go beyond


def fit_page(found: Mapping[str, Sequence[Row]]) -> str:
    """The page; every text that comes from a model or a board file is escaped."""
    return render(
        files(__package__).joinpath("fit.html.j2").read_text(),
        title="Boards for " + escaped(", ".join(name.rpartition("/")[2] for name in found)),
        style=page_style(),
        width=WIDTH,
        models=[_model(name, rows) for name, rows in found.items()],
    )


def _model(name: str, rows: Sequence[Row]) -> dict:
    shown = known_columns(rows)
    styles = {VERDICT: "verdict", **dict.fromkeys(NUMBERS, "number")}
    return {
        "name": escaped(name),
        "kept": sum(row.is_kept for row in rows),
        "count": len(rows),
        "map": _drawn(rows),
        "height": _TOP + _LINE * len(rows),
        "titles": [(TITLES[index], styles.get(index, "")) for index in shown],
        "rows": [
            {
                "cells": [(escaped(cell), styles.get(index, "")) for index, cell in enumerate(cells_of(row)) if index in shown],
                "kept": row.is_kept,
            }
            for row in rows
        ],
        "notes": [escaped(note) for note in notes_of(rows)],
    }


def _drawn(rows: Sequence[Row]) -> str:
    """Draws for each board the used share of its RAM and flash; the line is where a memory ends."""
    parts = []
    for column, (_, title, _) in enumerate(_KINDS):
        left = _left(column)
        edge = left + _FULL * _ACROSS
        parts.append(svg.text(title, left, _TOP - 8, class_="axis"))
        parts.append(svg.element("line", class_="grid", x1=edge, x2=edge, y1=_TOP - 4, y2=_TOP + _LINE * len(rows)))
    for number, row in enumerate(rows):
        top = _TOP + _LINE * number
        parts.append(draw_label(row.board.name, 0.0, top + 12, _NAME, "axis"))
        for column, (kind, _, style) in enumerate(_KINDS):
            short = {name for name, _ in row.found.missing}
            is_short = any(region.kind == kind and region.name in short for region in row.board.regions)
            parts += _bars(row, kind, "library" if is_short else style, _left(column), top)
    return "".join(parts)


def _left(column: int) -> float:
    return _NAME + column * (_ACROSS + _GAP)


def _bars(row: Row, kind: str, style: str, left: float, top: float) -> list[str]:
    """Draws a bar for all memories of the kind together, cut at the end of each memory; longer bars stop at the edge."""
    used = sum(memory.used_bytes for memory in row.found.memories if memory.kind == kind)
    length = sum(region.length_bytes for region in row.board.memories if region.kind == kind)
    if not length:
        return [draw_label("no such memory", left, top + 12, _ACROSS, "axis")]
    full = draw_box(Rectangle(left, top + 2, _FULL * _ACROSS, _LINE - 4), "free", f"{row.board.name}: {length:,} B in all")
    if not row.found.memories:
        words = row.verdict if style == "library" else "nothing to link"
        return [full, draw_label(words, left + 4, top + 12, _ACROSS, "axis")]
    tip = f"{row.board.name}: " + ", ".join(
        f"{memory.name} {memory.used_bytes:,} of {memory.length_bytes:,} B"
        for memory in row.found.memories
        if memory.kind == kind
    )
    across = min(_ACROSS, max(1.0, _FULL * _ACROSS * used / length))
    bar = draw_box(Rectangle(left, top + 2, across, _LINE - 4), style, tip)
    return [full, svg.element("g", bar, class_=f"fit {style}"), draw_label(f"{used:,} B", left + 4, top + 13, _ACROSS, "size")]
