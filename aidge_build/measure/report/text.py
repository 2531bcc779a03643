# SPDX-License-Identifier: MIT
"""The report for a terminal: a tree with levels that add up, and a table of the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aidge_build.base.terminal import table


def render_text(document: dict, items_shown: int) -> list[str]:
    """Returns the report as text, with `items_shown` symbols per group; the others are one row with their sum."""
    rows = [row for region in document["regions"] for row in _region(region, items_shown)]
    lines = table(rows, numbers=(1,))
    for model in document["models"]:
        lines += ["", *_layers(model), *_packing(model)]
    return lines


def _packing(model: dict) -> list[str]:
    """Returns the bytes that the order of the kernels and their tables add to the constants of the model."""
    own, all_of_them = model["model_constants_bytes"], model["weights_bytes"]
    if not own:
        return []
    return [
        f"weights: {own:,} B in the model, and {all_of_them - own:+,} B for the order that kernels read them in and for tables"
    ]


def _region(region: dict, items_shown: int) -> Iterator[tuple[str, ...]]:
    if not region["used_bytes"]:
        return
    share = 100 * region["used_bytes"] / region["length_bytes"]
    yield region["name"], f"{region['used_bytes']:,}", f"of {region['length_bytes']:,} B  {share:.1f} %"
    for group in region["groups"]:
        yield f"  {group['name']}", f"{group['size_bytes']:,}"
        shown = group["items"][:items_shown] if group["name"] not in ("padding", "free") else []
        for item in shown:
            yield f"    {item['name']}", f"{item['size_bytes']:,}"
        rest = group["items"][len(shown) :]
        if rest and shown:
            yield f"    {len(rest)} more", f"{sum(item['size_bytes'] for item in rest):,}"


COLUMNS = (
    ("code", "code_bytes"),
    ("weights", "weights_bytes"),
    ("live peak", "live_bytes"),
    ("MACs", "macs"),
    ("instructions", "instructions"),
    ("~cycles", "cycles_estimated"),
    ("~for code", "code_stalls"),
    ("~for constants", "data_stalls"),
    ("cycles", "cycles_measured"),
)


def _layers(model: dict) -> list[str]:
    columns, layers = known_columns(model), table_rows(model)
    rows = [[layer["symbol"], layer["kernel"], *(number(layer[key]) for _, key in columns)] for layer in layers]
    rows.append([f"{model['model']} in all", "", *(total(layers, key) for _, key in columns)])
    titles = [model["model"], "kernel", *(title for title, _ in columns)]
    lines = table(rows, titles, numbers=range(2, len(titles)))
    if model["milliseconds"]:
        lines.append(
            f"~{model['milliseconds']:,.1f} ms per inference at the clock of the board, with the cycles of waiting for flash"
        )
    return lines


def known_columns(model: dict) -> list[tuple[str, str]]:
    """Returns title and key of the columns that have a number above 0."""
    return [column for column in COLUMNS if any(layer[column[1]] for layer in model["layers"])]


def table_rows(model: dict) -> list[dict]:
    """Returns the layers, and rows for code and constants that several of them share, so that the columns add up."""
    nothing = {"node": "", "operator": "", "kernel": "", "library": "", **{key: None for _, key in COLUMNS}}
    rows = list(model["layers"])
    rest = {key: model[f"other_{key}"] for key in ("code_bytes", "instructions", "cycles_estimated", "cycles_measured")}
    if any(rest.values()):
        rows.append({**nothing, "symbol": "around the layers", **rest})
    if model["kernel_bytes"]:
        rows.append({**nothing, "symbol": "kernels", "code_bytes": model["kernel_bytes"]})
    if model["other_weights_bytes"]:
        rows.append({**nothing, "symbol": "other constants", "weights_bytes": model["other_weights_bytes"]})
    return rows


def number(value: int | None) -> str:
    """Returns the value with thousands separated, `-` for None."""
    return "-" if value is None else f"{value:,}"


def total(layers: Sequence[dict], key: str) -> str:
    """The sum of a column; of bytes that are alive, the maximum."""
    values = [layer[key] for layer in layers if layer[key] is not None]
    return number((max if key == "live_bytes" else sum)(values)) if values else "-"
