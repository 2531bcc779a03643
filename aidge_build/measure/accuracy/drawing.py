# SPDX-License-Identifier: MIT
"""Drawings that need nothing else: noise per layer, histograms of a layer's values, and what accuracy costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aidge_build.base.render import escaped
from aidge_build.base.shortening import shortened

WIDTH, LEFT, ROW, PANEL = 960.0, 220.0, 18.0, 260.0
_OWN, _TOTAL, _FLOAT, _BAD = "#4e79a7", "#a0cbe8", "#f28e2b", "#e15759"
_MOST_DB = 80.0  # a bar as long as the drawing


def layers_drawing(data: dict) -> str:
    """A bar for the noise that arrived at each layer, and one for its own; below, the values of the layer `shown` in both models.

    `data` is that of `against_float.as_json`.
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
        parts.append(f'<g transform="translate(0 {top + 30:.0f})">{_histogram(shown, histogram)}</g>')
        height += PANEL + 80
    return _drawing(parts, height)


def pareto_svg(title: str, points: Sequence[dict], unit: str) -> str:
    """Each measured choice as a point, cost to the right, loss upwards; `points` have cost, loss, title, and chosen or best."""
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
        f'<rect x="{LEFT - 10:.0f}" y="30" width="{WIDTH - LEFT - 30:.0f}" height="{PANEL + 20:.0f}" fill="none" stroke="#999"/>',
        f'<polyline points="{line}" fill="none" stroke="{_OWN}" stroke-dasharray="4 3"/>',
    ]
    for point in points:
        x, y = place(point)
        color = _BAD if point["chosen"] else _OWN if point["best"] else "#bab0ac"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{6 if point["chosen"] else 4}" fill="{color}">'
            f"<title>{escaped(point['title'])}</title></circle>"
        )
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
        bars.append(
            f'<rect x="{LEFT:.0f}" y="{y + (ROW - 2 - height) / 2:.1f}" width="{level / _MOST_DB * (WIDTH - LEFT - 80):.1f}" '
            f'height="{height:.1f}" fill="{color}"/>'
        )
    figures = " / ".join("exact" if layer[key] is None else f"{layer[key]:.1f}" for key in ("own_sqnr_db", "sqnr_db"))
    tip = f"{layer['node']}: {layer['tensor']} against {layer['original']}, {figures} dB"
    name = _text(LEFT - 8, y + ROW - 6, shortened(layer["node"], 34), anchor="end")
    return f"<g>{name}{''.join(bars)}{_text(WIDTH - 72, y + ROW - 6, figures)}<title>{escaped(tip)}</title></g>"


def _histogram(name: str, histogram: dict) -> str:
    """Both counts over the same bins, by their logarithm: a few values at the ends are what is cut off."""
    most = math.log1p(max(max(histogram["firmware"]), max(histogram["float"]), 1))
    step = (WIDTH - LEFT - 40) / len(histogram["float"])
    bars = []
    for key, color, opacity in (("float", _FLOAT, 0.8), ("firmware", _OWN, 0.55)):
        for index, count in enumerate(histogram[key]):
            if count:
                height = math.log1p(count) / most * (PANEL - 20)
                bars.append(
                    f'<rect x="{LEFT + index * step:.1f}" y="{PANEL - height:.1f}" width="{step:.1f}" height="{height:.1f}" '
                    f'fill="{color}" fill-opacity="{opacity}"><title>{key}: {count}</title></rect>'
                )
    return "".join(
        [
            _text(LEFT, 0, f"values of {name}: float model orange, firmware blue (heights are logarithms of counts)", 13),
            *bars,
            f'<line x1="{LEFT:.0f}" x2="{WIDTH - 40:.0f}" y1="{PANEL:.0f}" y2="{PANEL:.0f}" stroke="#888"/>',
            _text(LEFT, PANEL + 16, f"{histogram['low']:.4g}"),
            _text(WIDTH - 40, PANEL + 16, f"{histogram['high']:.4g}", anchor="end"),
        ]
    )


def _text(x: float, y: float, text: str, size: int = 11, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escaped(text)}</text>'


def _drawing(parts: Sequence[str], height: float) -> str:
    box = f"0 0 {WIDTH:.0f} {height:.0f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" fill="#333">',
            f'<rect width="{WIDTH:.0f}" height="{height:.0f}" fill="#fff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )
