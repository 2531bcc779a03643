# SPDX-License-Identifier: MIT
"""The picture of docs/zoo.md, by the tables of the page: how often models are right, flash and RAM, and time on some boards."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping

from aidge_build.base import svg
from aidge_build.base.zoo import entry
from tools.docs.results import STYLE
from tools.zoo.measure import BOARD

FILES = {"zoo.svg": False, "zoo-narrow.svg": True}
# Board -> its core, the style of its dots, and how far they are above the middle of a row, so that equal times hide no dot.
BOARDS = {
    "rp2040": ("M0+", "m0", 5),
    "stm32f103": ("M3", "m3", 0),
    "stm32f4": ("M4", "m4", 0),
    "stm32h743": ("M7", "m7", 0),
    "rp2350-riscv": ("RISC-V", "riscv", -5),
}
SIZES = {"flash_bytes": ("flash", "ours"), "ram_bytes": ("RAM", "st")}
MARGIN, LABELS, VALUES, GAP = 16, 132, 48, 36
WIDE, NARROW = (250, 412), (210, 210)  # of the panels
ROW, HEAD, FOOT_LINE, LETTERS_OF_NARROW = 32, 86, 15, 54
COLORS = """.m0 { fill: #8250df } .m3 { fill: #bf3989 } .m4 { fill: #0969da } .m7 { fill: #1a7f37 } .riscv { fill: #bc4c00 }
.dot { stroke: #ffffff } .middle { text-anchor: middle }
@media (prefers-color-scheme: dark) {
.m0 { fill: #a371f7 } .m3 { fill: #f778ba } .m4 { fill: #4493f8 } .m7 { fill: #3fb950 } .riscv { fill: #f0883e }
.dot { stroke: #0d1117 }
}
"""
Table = Mapping[str, Mapping[str, str]]  # model -> board -> a figure as the page has it


def table_in(page: str, name: str) -> Table:
    """A table of boards of the page."""
    lines = page.partition(f"<!-- {name}: begin")[2].partition("<!--")[0].splitlines()
    (_, _, *models), _, *rows = [re.findall(r"[^|\s][^|]*[^|\s]|[^|\s]", line) for line in lines if line.startswith("|")]
    return {model: {row[0]: row[2 + place] for row in rows} for place, model in enumerate(models)}


def pictures(page: str) -> dict[str, str]:
    """File name in docs/static -> the picture of this text of docs/zoo.md."""
    return {name: picture(page, narrow) for name, narrow in FILES.items()}


def picture(page: str, narrow: bool) -> str:
    """The SVG: bars of bytes and dots of times beside each other, or below each other where it is `narrow`."""
    sizes = {name: table_in(page, name) for name in SIZES}
    models = sorted(sizes["flash_bytes"], key=lambda model: _number(sizes["flash_bytes"][model][BOARD]))
    foot = [part for line in notes() for part in (textwrap.wrap(line, LETTERS_OF_NARROW) if narrow else [line])]
    first, second = NARROW if narrow else WIDE
    left, panel = MARGIN + LABELS, HEAD + len(models) * ROW + 20
    there, down = (left, panel) if narrow else (left + first + GAP, 0)
    width, height = there + second + MARGIN, down + panel + len(foot) * FOOT_LINE + MARGIN
    body = [svg.element("rect", class_="ground", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=6)]
    body += [*labels(models, 0), *bars(models, sizes, left, first), *(labels(models, down) if narrow else ())]
    body += dots(models, table_in(page, "milliseconds"), there, down, second)
    start = height - MARGIN - (len(foot) - 1) * FOOT_LINE
    body += [svg.text(line, MARGIN, start + number * FOOT_LINE, class_="small") for number, line in enumerate(foot)]
    head = [
        "<!-- SPDX-License-Identifier: MIT; written by tools.zoo.picture -->",
        svg.element("title", "Ten models: right answers, flash and RAM, milliseconds on five boards", id="title"),
        svg.element("style", STYLE + COLORS),
    ]
    return svg.file(width, height, *head, *body, width=width, height=height, role="img", aria_labelledby="title")


def notes() -> list[str]:
    """The notes without which the figures say too much."""
    return [
        f"Right answers, ROC-AUC, R2: held-out samples, generated C, emulated {BOARD}. * recorded data, all others simulated.",
        "Flash and RAM: linked program with its stack. Times: estimated at the clock in the board file. No board was measured.",
    ]


def labels(models: list[str], top: float) -> Iterator[str]:
    """The names of the models with their main figures, to the left of a panel."""
    for number, model in enumerate(models):
        card, y = entry(model).card, top + HEAD + number * ROW
        measured = card["measured"]
        is_share = measured["figure"] == "right answers"
        figure = f"{100 * measured['board']:.1f} % right" if is_share else f"{measured['figure']} {measured['board']:.4f}"
        yield svg.text(model + ("" if card["simulated"] else " *"), MARGIN, y + 9)
        yield svg.text(figure, MARGIN, y + 22, class_="small")


def bars(models: list[str], sizes: Mapping[str, Table], left: float, width: float) -> Iterator[str]:
    """Flash and RAM of each model on one board."""
    yield svg.text(f"Bytes on {BOARD}", left, 24, class_="title")
    largest = max(_number(table[model][BOARD]) for table in sizes.values() for model in models)
    for row, (name, (title, style)) in enumerate(SIZES.items()):
        yield svg.element("rect", class_=style, x=left + 60 * row, y=36, width=10, height=10)
        yield svg.text(title, left + 60 * row + 15, 45, class_="small")
        for number, model in enumerate(models):
            figure = sizes[name][model][BOARD]
            y, long = HEAD + number * ROW + 12.5 * row, max(1.0, _number(figure) / largest * (width - VALUES))
            yield svg.element("rect", class_=style, x=left, y=y, width=long, height=11)
            yield svg.text(figure, f"{left + long + 5:.1f}", y + 9.5, class_="small")


def dots(models: list[str], times: Table, left: float, top: float, width: float) -> Iterator[str]:
    """The milliseconds of each model on each board, on a logarithmic axis."""
    known = [_number(times[model][board]) for model in models for board in BOARDS]
    low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))

    def place(milliseconds: float) -> float:
        return left + (math.log10(milliseconds) - low) / (high - low) * width

    yield svg.text("Milliseconds, estimated", left, top + 24, class_="title")
    columns = 3 if width > NARROW[1] else 2
    for number, (board, (core, style, _)) in enumerate(BOARDS.items()):
        x, y = left + number % columns * width / columns, top + 41 + number // columns * 14
        yield svg.element("circle", class_=style, cx=x + 5, cy=y, r=4.5)
        yield svg.text(f"{board}, {core}", x + 14, y + 4, class_="small")
    bottom = top + HEAD + len(models) * ROW
    for power in range(low, high + 1):
        x = place(10**power)
        yield svg.element("line", class_="rule", x1=x, x2=x, y1=top + HEAD - 4, y2=bottom - 4)
        yield svg.text(f"{10**power:g}", f"{x:.1f}", bottom + 9, class_="small middle")
    for number, model in enumerate(models):
        y = top + HEAD + number * ROW + 12
        found = [place(_number(times[model][board])) for board in BOARDS]
        yield svg.element("line", class_="rule", x1=min(found), x2=max(found), y1=y, y2=y)
        for (board, (_, style, above)), x in zip(BOARDS.items(), found, strict=True):
            said = svg.tip(f"{model} on {board}: {times[model][board]} ms")
            yield svg.element("circle", said, class_=f"dot {style}", cx=x, cy=y - above, r=4.5)


def _number(figure: str) -> float:
    return float(figure.replace(",", ""))
