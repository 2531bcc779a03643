# SPDX-License-Identifier: MIT
"""Drawings that need nothing else: noise per layer, histograms of a layer's values, and cost against accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aidge_build.base import svg
from aidge_build.base.shortening import shortened

WIDTH, LEFT, ROW, PANEL = 960, 220, 18.0, 260
_OWN, _TOTAL, _FLOAT, _BAD = "#4e79a7", "#a0cbe8", "#f28e2b", "#e15759"
_MOST_DB = 80.0  # a bar as long as the drawing


def layers_drawing(data: dict) -> str:
    """Draws a bar for the noise that arrived at each layer, and one for its own; below, the values of the layer `shown` in both
    models.

    `data` comes from `against_float.as_json`.
    """
    layers, histogram, shown = data["layers"], data["histogram"], data["shown"] or ""
    title = f"the firmware's layers compared with {data['float_model']}"
    rows = [_bars(layer, index, layer["tensor"] == data["departs"]) for index, layer in enumerate(layers)]
    top = 46 + ROW * len(layers)
    parts = [
        _text(LEFT, 16, title, 14),
        _text(LEFT, 34, "signal to noise in dB: dark its own, light with all before it; no bar beyond means none"),
        *rows,
    ]
    height = top
    if histogram is not None:
        parts.append(svg.lowered(top + 30, *_histogram(shown, histogram)))
        height += PANEL + 80
    return _drawing(parts, height)


def pareto_svg(title: str, points: Sequence[dict], unit: str) -> str:
    """Draws each measured choice as a point, cost to the right, loss upwards; `points` have cost, loss, title, and chosen or
    best."""
    if not points:
        return _drawing([_text(LEFT, 16, title, 14)], 40)
    costs, losses = [point["cost"] for point in points], [point["loss"] for point in points]
    low, high = min(costs), max(costs)
    least, most = min(0.0, *losses), max(losses)
    across, up = (WIDTH - LEFT - 60) / ((high - low) or 1), (PANEL - 20) / ((most - least) or 1)

    def place(point: dict) -> tuple[float, float]:
        return LEFT + (point["cost"] - low) * across, 40 + PANEL - (point["loss"] - least) * up

    front = sorted((point for point in points if point["best"]), key=lambda point: point["cost"])
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, front))
    parts = [
        _text(LEFT, 16, title, 14),
        svg.element("rect", x=LEFT - 10, y=30, width=WIDTH - LEFT - 30, height=PANEL + 20, fill="none", stroke="#999"),
        svg.element("polyline", points=line, fill="none", stroke=_OWN, stroke_dasharray="4 3"),
    ]
    for point in points:
        x, y = place(point)
        color = _BAD if point["chosen"] else _OWN if point["best"] else "#bab0ac"
        radius = 6 if point["chosen"] else 4
        parts.append(svg.element("circle", svg.tip(point["title"]), cx=x, cy=y, r=radius, fill=color))
    parts += [
        _text(LEFT, PANEL + 70, f"{low:,.0f}"),
        _text(WIDTH - 40, PANEL + 70, f"{high:,.0f} {unit}", anchor="end"),
        _text(LEFT - 16, 40 + PANEL, f"loss {100 * least:.2f} %", anchor="end"),
        _text(LEFT - 16, 46, f"{100 * most:.2f} %", anchor="end"),
        _text(
            LEFT, PANEL + 90, "dashed: no other choice that was measured is both cheaper and better; red: the one that was taken"
        ),
    ]
    return _drawing(parts, PANEL + 110)


def _bars(layer: dict, index: int, is_departing: bool) -> str:
    y = 46 + ROW * index
    bars = []
    for key, height, color in (("sqnr_db", ROW - 4, _TOTAL), ("own_sqnr_db", ROW - 10, _BAD if is_departing else _OWN)):
        level = _MOST_DB if layer[key] is None else max(0.0, min(layer[key], _MOST_DB))
        width = level / _MOST_DB * (WIDTH - LEFT - 80)
        bars.append(svg.element("rect", x=LEFT, y=y + (ROW - 2 - height) / 2, width=width, height=height, fill=color))
    figures = " / ".join("exact" if layer[key] is None else f"{layer[key]:.1f}" for key in ("own_sqnr_db", "sqnr_db"))
    tip = f"{layer['node']}: {layer['tensor']} against {layer['original']}, {figures} dB"
    name = _text(LEFT - 8, y + ROW - 6, shortened(layer["node"], 34), anchor="end")
    return svg.element("g", name, *bars, _text(WIDTH - 72, y + ROW - 6, figures), svg.tip(tip))


def _histogram(name: str, histogram: dict) -> list[str]:
    """Draws both counts over the same bins, by their logarithm: it shows the few values at the ends, which are cut off."""
    most = math.log1p(max(max(histogram["firmware"]), max(histogram["float"]), 1))
    step = (WIDTH - LEFT - 40) / len(histogram["float"])
    bars = []
    for key, color, opacity in (("float", _FLOAT, "0.8"), ("firmware", _OWN, "0.55")):
        for index, count in enumerate(histogram[key]):
            if count:
                height = math.log1p(count) / most * (PANEL - 20)
                place = {"x": LEFT + index * step, "y": PANEL - height, "width": step, "height": height}
                bars.append(svg.element("rect", svg.tip(f"{key}: {count}"), **place, fill=color, fill_opacity=opacity))
    return [
        _text(LEFT, 0, f"values of {name}: float model orange, firmware blue (heights are logarithms of counts)", 13),
        *bars,
        svg.element("line", x1=LEFT, x2=WIDTH - 40, y1=PANEL, y2=PANEL, stroke="#888"),
        _text(LEFT, PANEL + 16, f"{histogram['low']:.4g}"),
        _text(WIDTH - 40, PANEL + 16, f"{histogram['high']:.4g}", anchor="end"),
    ]


def _text(x: float, y: float, text: str, size: int = 11, anchor: str = "start") -> str:
    return svg.text(text, float(x), float(y), font_size=size, text_anchor=anchor)


def _drawing(parts: Sequence[str], height: float) -> str:
    ground = svg.element("rect", width=WIDTH, height=round(height), fill="#fff")
    return svg.file(WIDTH, height, ground, *parts, font_family="sans-serif", fill="#333")
