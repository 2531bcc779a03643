# SPDX-License-Identifier: MIT
"""docs/zoo.md: the text is written by hand, the tables are made from cards and a sweep over boards, the picture from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from aidge_build.base.zoo import Entry, entry, names
from tools.accuracy_table import called
from tools.zoo.picture import pictures

ROOT = Path(__file__).resolve().parents[2]
PAGE, ANSWERS = ROOT / "docs" / "zoo.md", ROOT / "build" / "zoo.sqlite"
BOARDS = {
    "rp2040": "M0+",
    "samd21": "M0+",
    "stm32f103": "M3",
    "stm32f4": "M4",
    "nrf52840": "M4",
    "stm32h743": "M7",
    "stm32u575": "M33",
    "rp2350": "M33",
    "stm32n657": "M55",
    "esp32c3": "RV32IMC",
    "ch32v307": "RV32IMAFC",
    "rp2350-riscv": "Hazard3",
}
FIGURES = ("ram_bytes", "flash_bytes", "instructions", "milliseconds")


def write_page() -> None:
    """Writes all tables; the sweep links and counts each model for each board."""
    text = with_tables(PAGE.read_text(encoding="utf-8"), {"models": models(), "cards": cards()})
    points = swept()
    tables = {figure: board_table(points, figure) for figure in FIGURES}
    text = with_tables(text, tables)
    PAGE.write_text(text, encoding="utf-8")
    for name, drawing in pictures(text).items():
        (PAGE.parent / "static" / name).write_text(drawing, encoding="utf-8")


def with_tables(text: str, tables: dict[str, list[str]]) -> str:
    """The page with these lines between `<!-- NAME: begin ... -->` and `<!-- NAME: end -->`."""
    for name, lines in tables.items():
        found = re.search(rf"<!-- {name}: begin.*?-->\n(.*?)<!-- {name}: end -->", text, re.DOTALL)
        assert found is not None, f"docs/zoo.md has no place for the table {name}"
        text = "\n".join([text[: found.start(1)], *lines, "", text[found.end(1) :]])
    return text


def models() -> list[str]:
    """A row for each model: data, size, figures and instructions."""
    rows = [
        (
            "model",
            "what it is",
            "data",
            "file, bytes",
            "held-out samples",
            "figure",
            "float32",
            "int8",
            "on the board",
            "instructions",
        )
    ]
    return table([*rows, *map(_row, map(entry, names()))], numbers=(3, 4, 6, 7, 8, 9))


def _row(one: Entry) -> tuple[str, ...]:
    measured = one.card["measured"]
    shares = [_share(measured.get(stage), measured["figure"]) for stage in ("float", "int8", "board")]
    origin = "simulated" if one.card["simulated"] else "recorded"
    size, samples = f"{one.model.stat().st_size:,}", f"{measured['samples']:,}"
    return (
        f"`zoo:{one.name}`",
        one.card["title"],
        origin,
        size,
        samples,
        measured["figure"],
        *shares,
        f"{measured['instructions']:,}",
    )


def _share(value: float | None, figure: str) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if figure == "right answers" else f"{value:.4f}"


def cards() -> list[str]:
    """What each model takes and gives, its data, licence, seed, time and digest."""
    lines: list[str] = []
    for one in map(entry, names()):
        measured = one.card["measured"]
        lines += [f"### zoo:{one.name}", "", f"{one.card['title'][0].upper()}{one.card['title'][1:]}.", "", "| | |", "|---|---|"]
        lines += [f"| {name} | {one.card[name]} |" for name in ("input", "output", "data", "licence")]
        seconds = f"{measured['seconds']:.0f} s" if measured["seconds"] >= 1 else "less than a second"
        lines += [
            f"| trained by | [`{one.card['script']}`](../{one.card['script']}), seed {measured['seed']}, {seconds} of one core |"
        ]
        lines += [f"| SHA-256 | `{measured['sha256']}` |", ""]
    return lines[:-1]


def swept() -> list[dict]:
    """The points of all models on all boards; build/zoo.sqlite keeps the answers for the next time."""
    ANSWERS.parent.mkdir(exist_ok=True)
    words = ("--build", "--measure", "--board", ",".join(BOARDS), "--jobs", 1, "--out", ANSWERS)
    return called("sweep", *(entry(name).model for name in names()), *words)["points"]


def board_table(points: Sequence[dict], figure: str) -> list[str]:
    """A row for each board, a column for each model."""
    found = {(point["board"], point["model"]): point for point in points}
    stems = {name: entry(name).model.stem for name in names()}
    show: Callable[[dict], str] = _milliseconds if figure == "milliseconds" else lambda point: _whole(point, figure)
    rows = [("board", "core", *stems)]
    rows += [(board, core, *(show(found[board, stem]) for stem in stems.values())) for board, core in BOARDS.items()]
    return table(rows, numbers=range(2, 2 + len(stems)))


def _whole(point: dict, figure: str) -> str:
    return f"{point[figure]:,}" if point["state"] == "fits" else point["state"]


def _milliseconds(point: dict) -> str:
    if point["state"] != "fits" or point["milliseconds"] is None:
        return "-"
    value = point["milliseconds"]
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def table(rows: Sequence[Sequence[str]], numbers: Collection[int]) -> list[str]:
    """The lines of a table of Markdown; the first row is its head."""
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    rule = "|".join("--:" if column in numbers else "---" for column in range(len(rows[0])))
    return [head, f"|{rule}|", *others]
