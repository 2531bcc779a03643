# SPDX-License-Identifier: MIT
"""The report as one HTML file that needs nothing else: no network, no script of others."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from aidge_build.base import svg
from aidge_build.base.render import escaped, render
from aidge_build.measure.report.accuracy import accuracy_section
from aidge_build.measure.report.arena import CHARACTER_WIDTH, PANEL_HEIGHT, WIDTH, Box, draw_arena, draw_box, draw_label
from aidge_build.measure.report.plan_page import page_style
from aidge_build.measure.report.text import known_columns, number, table_rows, total
from aidge_build.measure.report.treemap import Rectangle, squarify

_HEIGHT = 520.0
_HEADING = 18.0
_CLASSES = {
    "arena": "arena",
    "weights": "weights",
    "layer code": "layers",
    "kernels": "kernels",
    "stack": "stack",
    "libc/libgcc": "library",
    "other": "other",
    "padding": "padding",
    "free": "free",
}
# Narrower pieces cannot be seen; they stay in the sums and in the list.
_SMALLEST = 1.5


def render_page(document: dict, title: str, measures: Sequence[dict] = (), beside_float: str = "") -> str:
    """The page; every text that comes from the ELF or the model is escaped. `beside_float` is a drawing of the layers."""
    libraries = {layer["library"] for model in document["models"] for layer in model["layers"] if layer["library"]}
    prefixes = (*(f"{model['model']}_" for model in document["models"]), *(f"aidge_{library}_" for library in sorted(libraries)))
    regions = [_region(region, prefixes) for region in document["regions"] if region["used_bytes"]]
    models = [_model(model) for model in document["models"]]
    stack = None
    if document["stack_bound_bytes"] is not None:
        reserved = document["stack_reserved_bytes"]
        stack = f"at most {number(document['stack_bound_bytes'])}" + (f" of {number(reserved)}" if reserved is not None else "")
    elif document["stack_refused"]:
        stack = f"no bound, because of {escaped(document['stack_refused'])}"
    template = files(__package__).joinpath("page.html.j2").read_text()
    return render(
        template,
        title=escaped(title),
        regions=regions,
        models=models,
        beside_float=beside_float,
        measures=[accuracy_section(measure) for measure in measures],
        stack=stack,
        style=page_style(),
        width=WIDTH,
        height=_HEIGHT,
        classes=_CLASSES,
    )


def _region(region: dict, prefixes: tuple[str, ...]) -> dict:
    share = 100 * region["used_bytes"] / region["length_bytes"]
    used = [group for group in region["groups"] if group["name"] != "free"]
    return {
        "name": escaped(region["name"]),
        "kind": region["kind"],
        "used": number(region["used_bytes"]),
        "length": number(region["length_bytes"]),
        "share": f"{share:.1f}",
        "bar": [
            {
                "style": _CLASSES[group["name"]],
                "name": group["name"],
                "bytes": number(group["size_bytes"]),
                "percent": f"{100 * group['size_bytes'] / region['total_bytes']:.3f}",
            }
            for group in region["groups"]
        ],
        "map": _treemap(used, prefixes),
        "groups": [
            {
                "name": group["name"],
                "style": _CLASSES[group["name"]],
                "bytes": number(group["size_bytes"]),
                "items": [_item(item) for item in group["items"]],
            }
            for group in region["groups"]
        ],
    }


def _item(item: dict) -> dict:
    return {
        "name": escaped(item["name"]),
        "bytes": number(item["size_bytes"]),
        "section": escaped(item["section"]),
        "aliases": escaped(", ".join(item["aliases"])),
    }


def _treemap(groups: list[dict], prefixes: tuple[str, ...]) -> str:
    """Groups as rectangles, their symbols inside."""
    ordered = sorted(groups, key=lambda group: (-group["size_bytes"], group["name"]))
    outer = squarify([group["size_bytes"] for group in ordered], Rectangle(0.0, 0.0, WIDTH, _HEIGHT))
    return "".join(_group(group, rectangle, prefixes) for group, rectangle in zip(ordered, outer, strict=True))


def _group(group: dict, rectangle: Rectangle, prefixes: tuple[str, ...]) -> str:
    style = _CLASSES[group["name"]]
    heading = f"{group['name']} {group['size_bytes']:,} B"
    has_heading = rectangle.height > 3 * _HEADING and rectangle.width > CHARACTER_WIDTH * len(group["name"])
    parts = [draw_box(rectangle, "group", heading)]
    if has_heading:
        parts.append(draw_label(heading, rectangle.left + 4, rectangle.top + 13, rectangle.width - 8, "heading"))
    inside = rectangle.inset(1.5, _HEADING if has_heading else 1.5)
    sizes = [item["size_bytes"] for item in group["items"]]
    for item, box in zip(group["items"], squarify(sizes, inside), strict=True):
        if min(box.width, box.height) < _SMALLEST:
            continue
        parts.append(draw_box(box, "item", f"{item['name']}  {item['size_bytes']:,} B  ({group['name']}, {item['section']})"))
        if box.height > 14:
            parts.append(draw_label(_short(item["name"], prefixes), box.left + 3, box.top + 12, box.width - 6, "name"))
        if box.height > 30:
            parts.append(draw_label(f"{item['size_bytes']:,}", box.left + 3, box.top + 25, box.width - 6, "size"))
    return svg.element("g", *parts, class_=style)


def _short(name: str, prefixes: tuple[str, ...]) -> str:
    """Returns the name without the prefix of the model or of the kernels; the tip has the whole name."""
    for prefix in (*prefixes, "aidge_"):
        name = name.removeprefix(prefix)
    return name


def _model(model: dict) -> dict:
    columns, layers = known_columns(model), table_rows(model)
    memories = sorted({buffer["region"] for buffer in model["buffers"]})
    largest = {key: max((layer[key] or 0 for layer in layers), default=0) or 1 for _, key in columns}
    return {
        "name": escaped(model["model"]),
        "arena": number(model["arena_bytes"]),
        "peak": number(model["peak_bytes"]),
        "lower_bound": number(model["lower_bound_bytes"]),
        "weights": total(layers, "weights_bytes"),
        "cycles": escaped(model["cycles_validation"]) if any(key == "cycles_estimated" for _, key in columns) else "",
        "columns": [title for title, _ in columns],
        "rows": [
            {
                "symbol": escaped(layer["symbol"]),
                "node": escaped(layer["node"]),
                "kernel": escaped(_kernel(layer)),
                "cells": [_cell(layer[key], most) for key, most in largest.items()],
            }
            for layer in layers
        ],
        "totals": [total(layers, key) for _, key in columns],
        "arenas": [
            {"region": escaped(name), "map": _arena(model, [buffer for buffer in model["buffers"] if buffer["region"] == name])}
            for name in memories
        ],
        "arena_height": PANEL_HEIGHT,
    }


def _cell(value: int | None, most: int) -> dict:
    return {"text": number(value), "percent": f"{100 * (value or 0) / most:.1f}"}


def _kernel(layer: dict) -> str:
    return f"{layer['operator']}: {layer['library']} {layer['kernel']}".strip(": ") if layer["kernel"] else layer["operator"]


def _arena(model: dict, buffers: list[dict]) -> str:
    """Draws each buffer with the name of the layer that writes it first; an output may overlap its input."""
    prefix = f"{model['model']}_"
    names = [layer["symbol"].removeprefix(prefix) for layer in model["layers"]]
    boxes = [
        Box(
            buffer["name"],
            names[min(max(buffer["first"], 0), len(names) - 1)] if names else "",
            buffer["kind"],
            buffer["offset_bytes"],
            buffer["size_bytes"],
            buffer["first"],
            buffer["last"],
            tuple((one["first"], one["last"], one["low_bytes"], one["high_bytes"]) for one in buffer["windows"]),
        )
        for buffer in buffers
    ]
    return draw_arena(boxes, names) if names else ""
