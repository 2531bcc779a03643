# SPDX-License-Identifier: MIT
"""The picture of the README: RAM, instructions and cycles of MLPerf Tiny, ours and other systems', from recorded figures.

`python -m tools.docs.results` writes docs/static/results.svg, results-narrow.svg (for narrow windows) and the README's table.
"""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {"results.svg": False, "results-narrow.svg": True}
BOARD = "mps2-an386"  # a Cortex-M4 with FPU
MODELS = {
    "ic_resnet8": "image classification",
    "kws_dscnn": "keyword spotting",
    "vww_mobilenet025": "visual wake words*",
    "ad_toycar": "anomaly detection",
    "sww_dscnn1d": "streaming wake word",
}
MILLION = 1_000_000
# Quantity -> (its name in the picture, its name in peers.toml, the style of its bars) of the other system.
PEERS = {
    "arena": ("TFLM + CMSIS-NN", "TFLM + CMSIS-NN", "tflm"),
    "instructions": ("TFLM + CMSIS-NN", "TFLM + CMSIS-NN", "tflm"),
    "cycles": ("ST X-CUBE-AI 10.2", "X-CUBE-AI 10.2", "st"),
}

# All lengths are in the units of the picture, which are pixels where it is shown in its own size.
MARGIN, LABELS, VALUES = 16, 150, 66
WIDE_PANEL, NARROW_PANEL = 250, 200
BAR, PAIR, GROUP, HEAD, FOOT_LINE = 11, 12.5, 34, 74, 17
LETTERS_OF_NARROW = 54

# The picture brings its own ground, so that it can be read whatever is around it.
STYLE = """
text { font: 12.5px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 14px } .small { font-size: 11.5px; fill: #59636e }
.ground { fill: #ffffff; stroke: #d1d9e0 } .rule { stroke: #d1d9e0 }
.ours { fill: #0969da } .tflm { fill: #8c959f } .st { fill: #bf8700 } .estimate { fill: url(#lines) }
.line { stroke: #ffffff; stroke-width: 1.6 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .ground { fill: #0d1117; stroke: #3d444d } .rule { stroke: #3d444d }
.ours { fill: #4493f8 } .tflm { fill: #7d8590 } .st { fill: #d29922 } .line { stroke: #0d1117 }
}
"""


@dataclass(frozen=True)
class Series:
    """The bars of one system; the kind of its figures is "measured" (in the emulator), "on a board" or "estimate"."""

    name: str
    kind: str
    style: str
    values: dict[str, float]


@dataclass(frozen=True)
class Panel:
    """Bars of one unit."""

    title: str
    pattern: str
    series: tuple[Series, ...]


def panels(benchmarks: dict, peers: dict) -> list[Panel]:
    """Returns what the picture shows, from docs/benchmarks.json and tools/docs/peers.toml."""
    ours = {row["model"]: row for row in benchmarks["results"] if row["board"] == BOARD and row["data"] == "int8"}

    def own(kind: str, value: Callable[[dict], float]) -> Series:
        return Series("aidge_build", kind, "ours", {name: value(ours[name]) for name in MODELS})

    return [
        Panel(
            "RAM, bytes",
            "{:,.0f}",
            (own("measured", lambda row: row["arena_bytes"] + row["io_bytes"]), of_peer(peers, "arena", 1)),
        ),
        Panel(
            "Instructions, millions",
            "{:.2f}",
            (own("measured", lambda row: row["instructions"] / MILLION), of_peer(peers, "instructions", MILLION)),
        ),
        Panel(
            "Cycles, millions",
            "{:.2f}",
            (own("estimate", lambda row: row["cycles"] / MILLION), of_peer(peers, "cycles", MILLION)),
        ),
    ]


def of_peer(peers: dict, quantity: str, divisor: float) -> Series:
    """Returns the bars of the other system of a panel; its figures were counted in the emulator or measured on a board."""
    name, tool, style = PEERS[quantity]
    found = {
        figure["model"]: figure
        for figure in peers["figure"]
        if (figure["tool"], figure["core"], figure["quantity"]) == (tool, "cortex-m4", quantity)
    }
    kinds = {"measured" if figure["board"] == "emulated" else "on a board" for figure in found.values()}
    return Series(name, kinds.pop(), style, {model: found[model]["value"] / divisor for model in MODELS})


def table(benchmarks: dict, peers: dict) -> str:
    """The picture's figures as the README's table: four columns, a row for each network; the text above it names the kinds."""
    shown = panels(benchmarks, peers)
    heads = [f"{panel.title}: ours / {panel.series[1].name}" for panel in shown]
    rows = [
        [name.rstrip("*"), *(" / ".join(panel.pattern.format(one.values[model]) for one in panel.series) for panel in shown)]
        for model, name in MODELS.items()
    ]
    lines = [["model", *heads], ["---"] * (1 + len(shown)), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def notes(benchmarks: dict) -> list[str]:
    """Returns the notes without which the bars cannot be compared fairly."""
    (row,) = (
        row for row in benchmarks["results"] if (row["model"], row["board"], row["data"]) == ("vww_mobilenet025", BOARD, "int8")
    )
    done, all_of_them = (row[key] / MILLION for key in ("macs_executed", "macs"))
    return [
        "MLPerf Tiny, int8, Cortex-M4, one inference. RAM holds inputs and outputs.",
        "Estimates leave out the flash wait states that cycles on a board contain.",
        f"* {done:.2f} of {all_of_them:.2f} M MACs: the other channels are constant in this file.",
    ]


def picture(benchmarks: dict, peers: dict, narrow: bool) -> str:
    """The SVG: three panels beside each other, or, where it is `narrow`, below each other."""
    shown, lines = panels(benchmarks, peers), notes(benchmarks)
    foot = (
        [part for line in lines for part in textwrap.wrap(line, LETTERS_OF_NARROW)] if narrow else [" ".join(lines[:2]), lines[2]]
    )
    panel_width, across, down = (NARROW_PANEL, 1, len(shown)) if narrow else (WIDE_PANEL, len(shown), 1)
    panel_height = HEAD + len(MODELS) * GROUP
    width, height = MARGIN + LABELS + across * panel_width, down * panel_height + len(foot) * FOOT_LINE + MARGIN
    places = [(MARGIN + LABELS + number % across * panel_width, number // across * panel_height) for number in range(len(shown))]
    body = [f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>']
    for number, (panel, (left, top)) in enumerate(zip(shown, places, strict=True)):
        if narrow or number == 0:
            body += labels(top)
        body += bars(panel, left, top, panel_width)
    first = height - MARGIN - (len(foot) - 1) * FOOT_LINE
    body += [
        f'<text class="small" x="{MARGIN}" y="{first + number * FOOT_LINE}">{line}</text>' for number, line in enumerate(foot)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-labelledby="title">',
            "<!-- SPDX-License-Identifier: MIT; written by `python -m tools.docs.results` -->",
            f'<title id="title">{summary(shown)}</title>',
            f"<style>{STYLE}</style>",
            '<defs><pattern id="lines" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            '<path class="line" d="M0 0V5"/></pattern></defs>',
            *body,
            "</svg>\n",
        ]
    )


def labels(top: float) -> Iterator[str]:
    """The names of the models, to the left of a panel."""
    for number, name in enumerate(MODELS.values()):
        yield f'<text x="{MARGIN}" y="{top + HEAD + number * GROUP + PAIR + 3}">{name}</text>'


def bars(panel: Panel, left: float, top: float, panel_width: float) -> Iterator[str]:
    """Title, legend and bars; bars with lines across are estimates."""
    yield f'<text class="title" x="{left}" y="{top + 24}">{panel.title}</text>'
    largest = max(max(series.values.values()) for series in panel.series)
    for row, series in enumerate(panel.series):
        y = top + 32 + row * 15
        yield from rectangle(series, left, y, 10, 10)
        yield f'<text class="small" x="{left + 15}" y="{y + 9}">{series.name}, {series.kind}</text>'
        for number, model in enumerate(MODELS):
            value = series.values[model]
            y, width = top + HEAD + number * GROUP + row * PAIR, max(1, round(value / largest * (panel_width - VALUES), 1))
            yield from rectangle(series, left, y, width, BAR)
            yield f'<text class="small" x="{left + width + 5:g}" y="{y + 9.5:g}">{panel.pattern.format(value)}</text>'


def rectangle(series: Series, x: float, y: float, width: float, height: float) -> Iterator[str]:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height}"'
    yield f'<rect class="{series.style}" {place}/>'
    if series.kind == "estimate":
        yield f'<rect class="estimate" {place}/>'


def summary(shown: list[Panel]) -> str:
    """The text in place of the picture: every figure of keyword spotting."""
    said = [
        f"{panel.title}: "
        + ", ".join(
            f"{series.name} {panel.pattern.format(series.values['kws_dscnn'])} ({series.kind})" for series in panel.series
        )
        for panel in shown
    ]
    return "MLPerf Tiny on a Cortex-M4. Keyword spotting: " + "; ".join(said)


def pictures(root: Path) -> dict[str, str]:
    """File name in docs/static -> what it must hold."""
    return {name: picture(*recorded(root), narrow) for name, narrow in FILES.items()}


def recorded(root: Path) -> tuple[dict, dict]:
    """Returns docs/benchmarks.json and tools/docs/peers.toml as dictionaries."""
    benchmarks = json.loads((root / "docs" / "benchmarks.json").read_text())
    return benchmarks, tomllib.loads((root / "tools" / "docs" / "peers.toml").read_text())


def with_table(page: str, root: Path) -> str:
    """The README with its table anew."""
    return re.sub(r"^\| model \|.*\n(?:\|.*\n)*", lambda _: table(*recorded(root)), page, count=1, flags=re.MULTILINE)


if __name__ == "__main__":
    for name, text in pictures(ROOT).items():
        (ROOT / "docs" / "static" / name).write_text(text)
    (ROOT / "README.md").write_text(with_table((ROOT / "README.md").read_text(), ROOT))
