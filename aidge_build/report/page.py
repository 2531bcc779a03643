# SPDX-License-Identifier: MIT
"""The report as one HTML file that needs nothing else: no network, no script of others."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from aidge_build.render import escaped, render
from aidge_build.report.accuracy import accuracy_section
from aidge_build.report.text import known_columns, number, table_rows, total
from aidge_build.report.treemap import Rectangle, squarify
from aidge_build.shortening import shortened

_WIDTH, _HEIGHT = 1200.0, 520.0
_HEADING = 18.0
_CHARACTER_WIDTH = 6.6
_ARENA_HEIGHT, _ARENA_LEFT, _ARENA_BOTTOM = 340.0, 70.0, 22.0
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
        stack = f"at most {number(document['stack_bound_bytes'])} of {number(document['stack_reserved_bytes'])}"
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
        width=_WIDTH,
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
    outer = squarify([group["size_bytes"] for group in ordered], Rectangle(0.0, 0.0, _WIDTH, _HEIGHT))
    return "".join(_group(group, rectangle, prefixes) for group, rectangle in zip(ordered, outer, strict=True))


def _group(group: dict, rectangle: Rectangle, prefixes: tuple[str, ...]) -> str:
    style = _CLASSES[group["name"]]
    heading = f"{group['name']} {group['size_bytes']:,} B"
    has_heading = rectangle.height > 3 * _HEADING and rectangle.width > _CHARACTER_WIDTH * len(group["name"])
    parts = [f"<g class='{style}'>", _box(rectangle, "group", heading)]
    if has_heading:
        parts.append(_label(heading, rectangle.left + 4, rectangle.top + 13, rectangle.width - 8, "heading"))
    inside = rectangle.inset(1.5, _HEADING if has_heading else 1.5)
    sizes = [item["size_bytes"] for item in group["items"]]
    for item, box in zip(group["items"], squarify(sizes, inside), strict=True):
        if min(box.width, box.height) < _SMALLEST:
            continue
        parts.append(_box(box, "item", f"{item['name']}  {item['size_bytes']:,} B  ({group['name']}, {item['section']})"))
        if box.height > 14:
            parts.append(_label(_short(item["name"], prefixes), box.left + 3, box.top + 12, box.width - 6, "name"))
        if box.height > 30:
            parts.append(_label(f"{item['size_bytes']:,}", box.left + 3, box.top + 25, box.width - 6, "size"))
    return "".join([*parts, "</g>"])


def _short(name: str, prefixes: tuple[str, ...]) -> str:
    """Without what all names of a model or of the kernels begin with; the tip has the whole name."""
    for prefix in (*prefixes, "aidge_"):
        name = name.removeprefix(prefix)
    return name


def _box(box: Rectangle, style: str, tip: str) -> str:
    return (
        f"<rect class='{style}' x='{box.left:.1f}' y='{box.top:.1f}' width='{max(box.width - 0.6, 0.4):.1f}' "
        f"height='{max(box.height - 0.6, 0.4):.1f}'><title>{escaped(tip)}</title></rect>"
    )


def _label(text: str, left: float, base: float, width: float, style: str) -> str:
    """The text, cut in the middle to the width; nothing where not even three characters fit."""
    room = int(width / _CHARACTER_WIDTH)
    if room < 3:
        return ""
    shown = shortened(text, room, "\u2026")
    return f"<text class='{style}' x='{left:.1f}' y='{base:.1f}'>{escaped(shown)}</text>"


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
                "cells": [
                    {"text": number(layer[key]), "percent": f"{100 * (layer[key] or 0) / largest[key]:.1f}"} for _, key in columns
                ],
            }
            for layer in layers
        ],
        "totals": [total(layers, key) for _, key in columns],
        "arenas": [
            {"region": escaped(name), "map": _arena(model, [buffer for buffer in model["buffers"] if buffer["region"] == name])}
            for name in memories
        ],
        "arena_height": _ARENA_HEIGHT + _ARENA_BOTTOM + 6,
    }


def _kernel(layer: dict) -> str:
    return f"{layer['operator']}: {layer['library']} {layer['kernel']}".strip(": ") if layer["kernel"] else layer["operator"]


def _arena(model: dict, buffers: list[dict]) -> str:
    """Time to the right, address upwards: each buffer is a rectangle; an output may lie over its input."""
    height = max(buffer["offset_bytes"] + buffer["size_bytes"] for buffer in buffers)
    steps = len(model["layers"])
    if not height or not steps:
        return ""
    step_width, scale = (_WIDTH - _ARENA_LEFT - 10) / steps, _ARENA_HEIGHT / height
    base = _ARENA_HEIGHT + 4
    parts = []
    for line in range(5):
        address = height * line // 4
        y = base - address * scale
        parts.append(
            f"<line class='grid' x1='{_ARENA_LEFT}' x2='{_WIDTH - 10}' y1='{y:.1f}' y2='{y:.1f}'/>"
            f"<text class='axis' text-anchor='end' x='{_ARENA_LEFT - 6}' y='{y + 4:.1f}'>{address:,}</text>"
        )
    names = [layer["symbol"].removeprefix(f"{model['model']}_") for layer in model["layers"]]
    if step_width < _CHARACTER_WIDTH * max(map(len, names)):
        names = [f"{index + 1:3}" for index in range(steps)]
    for index, name in enumerate(names):
        parts.append(_label(name, _ARENA_LEFT + index * step_width + 2, base + 15, step_width - 2, "axis"))
    prefix = f"{model['model']}_"
    for buffer in buffers:
        tip = (
            f"{buffer['name']}  {buffer['size_bytes']:,} B at {buffer['offset_bytes']:,}, "
            f"from step {buffer['first']} to {buffer['last']} ({buffer['kind']})"
        )
        parts.append(f"<g class='buffer {'scratch' if buffer['kind'] == 'scratch' else 'activation'}'>")
        boxes = []
        for window in buffer["windows"]:
            first, last = min(max(window["first"], 0), steps), min(max(window["last"], window["first"] + 1), steps)
            left, width = _ARENA_LEFT + first * step_width, max(last - first, 0) * step_width
            top = base - (buffer["offset_bytes"] + window["high_bytes"]) * scale
            boxes.append(Rectangle(left, top, width, (window["high_bytes"] - window["low_bytes"]) * scale))
        parts += [_box(box, "item", tip) for box in boxes]
        box = max(boxes, key=lambda each: each.width * each.height)
        if box.height > 14:
            name = model["layers"][min(max(buffer["first"], 0), steps - 1)]["symbol"].removeprefix(prefix)
            parts.append(_label(name, box.left + 4, box.top + 13, box.width - 8, "name"))
        if box.height > 30:
            parts.append(_label(f"{buffer['size_bytes']:,} B", box.left + 4, box.top + 26, box.width - 8, "size"))
        parts.append("</g>")
    return "".join(parts)
