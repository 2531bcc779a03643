# SPDX-License-Identifier: MIT
"""The picture of the README: time, RAM and instructions of MLPerf Tiny, ours and other systems', from recorded figures.

`python -m tools.docs.results` writes docs/static/results.svg, results-narrow.svg (for narrow windows) and the README's table.
"""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base import svg
from aidge_build.prove.timing.deviation import Deviation

ROOT = Path(__file__).resolve().parents[2]
FILES = {"results.svg": False, "results-narrow.svg": True}
BOARD = "mps2-an386"  # a Cortex-M4 with FPU
TIMED = "stm32u575"  # the chip of X-CUBE-AI's figures, a Cortex-M33
MODELS = {
    "ic_resnet8": "image classification",
    "kws_dscnn": "keyword spotting",
    "vww_mobilenet025": "visual wake words*",
    "ad_toycar": "anomaly detection",
    "sww_dscnn1d": "streaming wake word**",
}
MILLION = 1_000_000
# Quantity -> (its name in the picture and in peers.toml, its core, the style of its bars) of the other system.
PEERS = {
    "cycles": ("X-CUBE-AI 10.2", "cortex-m33", "st"),
    "arena": ("TFLM + CMSIS-NN", "cortex-m4", "tflm"),
    "instructions": ("TFLM + CMSIS-NN", "cortex-m4", "tflm"),
}

# All lengths are in the units of the picture, which are pixels where it is shown in its own size.
MARGIN, LABELS, VALUES = 16, 150, 66
WIDE_PANEL, NARROW_PANEL = 250, 200
BAR, PAIR, GROUP, HEAD, FOOT_LINE = 11, 12.5, 34, 74, 15
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
    """The bars of one system; the kind of its figures is "measured" (in the emulator), "measured on the board" or "estimate"."""

    name: str
    kind: str
    style: str
    values: dict[str, float]


@dataclass(frozen=True)
class Panel:
    """Bars of one unit."""

    title: str
    text: Callable[[float], str]
    series: tuple[Series, ...]


def panels(benchmarks: dict, peers: dict) -> list[Panel]:
    """Returns what the picture shows, from docs/benchmarks.json and tools/docs/peers.toml."""
    counted, timed = (rows_of(benchmarks, board) for board in (BOARD, TIMED))

    def own(kind: str, rows: dict[str, dict], value: Callable[[dict], float]) -> Series:
        return Series("aidge_build", kind, "ours", {name: value(rows[name]) for name in MODELS})

    return [
        Panel(
            f"ms, {TIMED.upper()} at {clock_of(timed):g} MHz",
            three_digits,
            (own("estimate", timed, lambda row: row["milliseconds"]), of_peer(peers, "cycles", 1e3 * clock_of(timed))),
        ),
        Panel(
            "RAM, bytes",
            "{:,.0f}".format,
            (own("measured", counted, lambda row: row["arena_bytes"] + row["io_bytes"]), of_peer(peers, "arena", 1)),
        ),
        Panel(
            "Instructions, millions",
            "{:.2f}".format,
            (own("measured", counted, lambda row: row["instructions"] / MILLION), of_peer(peers, "instructions", MILLION)),
        ),
    ]


def rows_of(benchmarks: dict, board: str) -> dict[str, dict]:
    """The recorded int8 figures of a board, by model."""
    return {row["model"]: row for row in benchmarks["results"] if (row["board"], row["data"]) == (board, "int8")}


def clock_of(rows: dict[str, dict]) -> float:
    """The clock of the board of these figures, in MHz."""
    (clock,) = {row["clock_hz"] for row in rows.values()}
    return clock / MILLION


def millions_between(row: dict) -> tuple[float, ...]:
    """The ends of recorded cycles with the stated error of the core, in millions; stalls of the flash do not err with it. () if
    no chip was measured."""
    if not row["cycles_error"]:
        return ()
    stalls = row["stall_cycles"] or 0
    return tuple((end + stalls) / MILLION for end in Deviation(**row["cycles_error"]).range_of(row["cycles"] - stalls))


def of_peer(peers: dict, quantity: str, divisor: float) -> Series:
    """Returns the bars of the other system of a panel; its figures were counted in the emulator or measured on a board."""
    tool, core, style = PEERS[quantity]
    found = {
        figure["model"]: figure
        for figure in peers["figure"]
        if (figure["tool"], figure["core"], figure["quantity"]) == (tool, core, quantity)
    }
    kinds = {"measured" if figure["board"] == "emulated" else "measured on the board" for figure in found.values()}
    return Series(tool, kinds.pop(), style, {model: found[model]["value"] / divisor for model in MODELS})


def megahertz(board: str) -> float | None:
    """The clock of a board that is called "NAME at NUMBER MHz"."""
    found = re.search(r"([\d.]+) MHz", board)
    return float(found[1]) if found else None


def three_digits(number: float) -> str:
    """The number with three digits, or without a fraction."""
    return f"{number:,.0f}" if number >= 100 else f"{number:#.3g}"


def table(benchmarks: dict, peers: dict) -> str:
    """The picture's figures as the README's table: a row for each network, times first; heads name the kind of the figures."""
    time, ram, _ = panels(benchmarks, peers)
    timed = rows_of(benchmarks, TIMED)
    clock = clock_of(timed)
    heads = [f"{one.name}, {one.kind}" for one in time.series]
    heads += [f"{ram.title}: {' / '.join(one.name for one in ram.series)}, measured"]
    lines = [[time.title.partition(", ")[2], *heads], ["---"] * (1 + len(heads))]
    for model, name in MODELS.items():
        ours, theirs = (one.values[model] for one in time.series)
        times = _time(ours, clock, millions_between(timed[model])), _time(theirs, clock)
        lines.append([name.rstrip("*"), *times, " / ".join(ram.text(one.values[model]) for one in ram.series)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _time(milliseconds: float, clock: float, between: Sequence[float] = ()) -> str:
    """Milliseconds, the ends of an estimate (millions of cycles), and cycles."""
    ends = " to ".join(three_digits(1e3 * end / clock) for end in between)
    return f"{three_digits(milliseconds)} ms{f' ({ends})' if ends else ''}, {three_digits(milliseconds * clock / 1e3)} M cycles"


def notes(benchmarks: dict) -> list[str]:
    """Returns the notes without which the bars cannot be compared fairly."""
    row, timed = (rows_of(benchmarks, board)["vww_mobilenet025"] for board in (BOARD, TIMED))
    done, all_of_them = (row[key] / MILLION for key in ("macs_executed", "macs"))
    error = timed["cycles_error"]
    ends = f"{100 * error['lowest']:+.1f} to {100 * error['highest']:+.1f} % for {error['counts']} other programs"
    return [
        "MLPerf Tiny, int8, one inference. RAM holds inputs and outputs. RAM, instructions: Cortex-M4 code (M33: the same).",
        f"Estimates: off by {ends}, flash stalls aside. No board was measured with aidge_build.",
        f"* {done:.2f} of {all_of_them:.2f} M MACs: the others are constant in this file. ** X-CUBE-AI: with audio features.",
    ]


def picture(benchmarks: dict, peers: dict, narrow: bool) -> str:
    """The SVG: three panels beside each other, or, where it is `narrow`, below each other."""
    shown, lines = panels(benchmarks, peers), notes(benchmarks)
    foot = [part for line in lines for part in textwrap.wrap(line, LETTERS_OF_NARROW)] if narrow else lines
    panel_width, across, down = (NARROW_PANEL, 1, len(shown)) if narrow else (WIDE_PANEL, len(shown), 1)
    panel_height = HEAD + len(MODELS) * GROUP
    width, height = MARGIN + LABELS + across * panel_width, down * panel_height + len(foot) * FOOT_LINE + MARGIN
    places = [(MARGIN + LABELS + number % across * panel_width, number // across * panel_height) for number in range(len(shown))]
    body = [svg.element("rect", class_="ground", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=6)]
    for number, (panel, (left, top)) in enumerate(zip(shown, places, strict=True)):
        if narrow or number == 0:
            body += labels(top)
        body += bars(panel, left, top, panel_width, MARGIN if narrow else left)
    first = height - MARGIN - (len(foot) - 1) * FOOT_LINE
    body += [svg.text(line, MARGIN, first + number * FOOT_LINE, class_="small") for number, line in enumerate(foot)]
    head = [
        "<!-- SPDX-License-Identifier: MIT; written by `python -m tools.docs.results` -->",
        svg.element("title", summary(shown), id="title"),
        svg.element("style", STYLE),
        '<defs><pattern id="lines" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path class="line" d="M0 0V5"/></pattern></defs>',
    ]
    return svg.file(width, height, *head, *body, width=width, height=height, role="img", aria_labelledby="title")


def labels(top: float) -> Iterator[str]:
    """The names of the models, to the left of a panel."""
    for number, name in enumerate(MODELS.values()):
        yield svg.text(name, MARGIN, top + HEAD + number * GROUP + PAIR + 3)


def bars(panel: Panel, left: float, top: float, panel_width: float, legend: float) -> Iterator[str]:
    """Title and legend, from `legend` on, and bars; bars with lines across are estimates."""
    yield svg.text(panel.title, legend, top + 24, class_="title")
    largest = max(max(series.values.values()) for series in panel.series)
    for row, series in enumerate(panel.series):
        y = top + 32 + row * 15
        yield from rectangle(series, legend, y, 10, 10)
        yield svg.text(f"{series.name}, {series.kind}", legend + 15, y + 9, class_="small")
        for number, model in enumerate(MODELS):
            value = series.values[model]
            y, width = top + HEAD + number * GROUP + row * PAIR, max(1, round(value / largest * (panel_width - VALUES), 1))
            yield from rectangle(series, left, y, width, BAR)
            yield svg.text(panel.text(value), f"{left + width + 5:g}", f"{y + 9.5:g}", class_="small")


def rectangle(series: Series, x: float, y: float, width: float, height: float) -> Iterator[str]:
    for style in (series.style, "estimate") if series.kind == "estimate" else (series.style,):
        yield svg.element("rect", class_=style, x=f"{x:g}", y=f"{y:g}", width=f"{width:g}", height=height)


def summary(shown: list[Panel]) -> str:
    """The text in place of the picture: every figure of keyword spotting."""
    said = [
        f"{panel.title}: "
        + ", ".join(f"{series.name} {panel.text(series.values['kws_dscnn'])} ({series.kind})" for series in panel.series)
        for panel in shown
    ]
    return "MLPerf Tiny, int8. Keyword spotting: " + "; ".join(said)


def pictures(root: Path) -> dict[str, str]:
    """File name in docs/static -> what it must hold."""
    return {name: picture(*recorded(root), narrow) for name, narrow in FILES.items()}


def recorded(root: Path) -> tuple[dict, dict]:
    """Returns docs/benchmarks.json and tools/docs/peers.toml as dictionaries."""
    benchmarks = json.loads((root / "docs" / "benchmarks.json").read_text())
    return benchmarks, tomllib.loads((root / "tools" / "docs" / "peers.toml").read_text())


def with_table(page: str, root: Path) -> str:
    """The README with its table anew."""
    return re.sub(r"^\| STM32.*\n(?:\|.*\n)*", lambda _: table(*recorded(root)), page, count=1, flags=re.MULTILINE)


if __name__ == "__main__":
    for name, text in pictures(ROOT).items():
        (ROOT / "docs" / "static" / name).write_text(text)
    (ROOT / "README.md").write_text(with_table((ROOT / "README.md").read_text(), ROOT))
