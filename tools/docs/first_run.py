# SPDX-License-Identifier: MIT
"""The first run, recorded: the commands of the README's first screen and all that they print, as a cast of a terminal.

`python -m tools.docs.first_run` runs them and writes docs/static/first-run.cast (asciicast v2) and first-run.svg, which shows it.
Times imitate a quick typist and leave time to read; each recording has the same times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from aidge_build.base import machine, svg

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "docs" / "static"
CAST, PICTURE = "first-run.cast", "first-run.svg"
COMMANDS = (
    "aidge-build new demo --board stm32f4 && cd demo",
    "aidge-build fit models/digits.onnx --board stm32l053,stm32f4",
    "scons run",
)
HOME = "/home/you"  # in place of the folder of the recording

COLUMNS, ROWS = 112, 24
KEY, LINE, LOOK = 0.05, 0.4, 4.0  # seconds: between keys, between printed lines, before the next command
LETTER, LINE_HEIGHT, EDGE = 7.25, 18, 14
STYLE = """
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d1d9; white-space: pre }
.typed { fill: #7ee787 } .ground { fill: #0d1117 }
@media (prefers-reduced-motion: reduce) { text, tspan { visibility: visible !important } }
"""


def record(folder: Path, programs: Path = Path(sys.executable).parent) -> list[tuple[str, str]]:
    """Runs the commands, of the folder `programs`, in an empty folder; (command, what it prints) of each. RuntimeError with its
    output if one fails."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "AIDGE_CACHE": ""}
    found, place = [], folder
    for command in COMMANDS:
        done = subprocess.run(
            command, shell=True, cwd=place, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            raise RuntimeError(f"'{command}' ends with {done.returncode}:\n{done.stdout}")
        place /= command.rpartition("&& cd ")[2] if "&& cd " in command else ""
        found.append((command, done.stdout.replace(str(folder.resolve()), HOME)))
    return found


def cast(run: list[tuple[str, str]], compiler: str) -> str:
    """The run as asciicast v2: a header, then an event a line: seconds, "o", what appears."""
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "aidge_build: the first run", "env": {"CC": compiler}}
    now, events = 0.5, []

    def show(text: str, seconds: float) -> None:
        nonlocal now
        events.append([round(now, 2), "o", text])
        now += seconds

    for command, printed in run:
        show("$ ", 0.5)
        for letter in command:
            show(letter, KEY)
        show("\r\n", 0.5)
        for line in printed.splitlines():
            show(line + "\r\n", LINE)
        now += LOOK
    return "".join(json.dumps(line) + "\n" for line in (header, *events))


def read_cast(text: str) -> tuple[dict, list[tuple[float, str]]]:
    """The header, and (seconds, what appears) of each event."""
    header, *events = map(json.loads, text.splitlines())
    return header, [(seconds, shown) for seconds, _, shown in events]


def picture(text: str) -> str:
    """The cast as an SVG that plays once, and stays at its end; lines that are longer than the screen end in an ellipsis."""
    header, events = read_cast(text)
    rows = list(rows_of(events))
    width, height = round(header["width"] * LETTER + 2 * EDGE), header["height"] * LINE_HEIGHT + 2 * EDGE
    body = [line for number, row in enumerate(rows) for line in drawn(row, LINE_HEIGHT * number + 13, header["width"])]
    parts = [
        "<!-- SPDX-License-Identifier: MIT; written by `python -m tools.docs.first_run` -->",
        svg.element("title", escape(header["title"]), id="title"),
        svg.element("style", STYLE),
        svg.element("rect", class_="ground", width=width, height=height, rx=6),
        f'<svg y="{EDGE}" width="{width}" height="{height - 2 * EDGE}"><g>',
        scrolling(rows, header["height"]),
        *body,
        "</g></svg>",
    ]
    named = {"role": "img", "aria_labelledby": "title", "xml:space": "preserve"}
    return svg.file(width, height, *parts, width=width, height=height, **named)


def scrolling(rows: list[list[tuple[float, str]]], height: int) -> str:
    """What moves the screen up by a row for each one that has no room on it."""
    end = rows[-1][0][0]
    moved = rows[height:]
    times = ";".join(f"{row[0][0] / end:.4f}" for row in moved)
    places = ";".join(f"0 {-LINE_HEIGHT * (number + 1)}" for number in range(len(moved)))
    return (
        f'<animateTransform attributeName="transform" type="translate" dur="{end}s" calcMode="discrete" fill="freeze" '
        f'keyTimes="0;{times}" values="0 0;{places}"/>'
    )


def rows_of(events: list[tuple[float, str]]) -> Iterator[list[tuple[float, str]]]:
    """The events of each row of the screen."""
    row: list[tuple[float, str]] = []
    for seconds, shown in events:
        row.append((seconds, shown.removesuffix("\r\n")))
        if shown.endswith("\r\n"):
            yield row
            row = []


def drawn(row: list[tuple[float, str]], y: float, columns: int) -> Iterator[str]:
    """A printed row appears at once, a typed one letter by letter."""
    (seconds, first), *typed = row
    place = f'x="{EDGE}" y="{y:g}"'
    if not typed:
        line = first if len(first) <= columns else first[: columns - 1] + "…"
        yield f"<text {place}>{escape(line)}{appearing(seconds)}</text>"
        return
    letters = [f"<tspan>{escape(letter)}{appearing(at)}</tspan>" for at, letter in row if letter]
    yield f'<text class="typed" {place}>{"".join(letters)}</text>'


def appearing(seconds: float) -> str:
    """What hides an element until a time; where nothing moves it is visible."""
    return f'<set attributeName="visibility" to="hidden" begin="0s" dur="{seconds}s"/>'


def compiler() -> str:
    """The name and version of the cross compiler on this machine: the recorded figures depend on it."""
    return f"arm-none-eabi-gcc {machine.CROSS_COMPILER.version()}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        recorded = cast(record(Path(made)), compiler())
    (STATIC / CAST).write_text(recorded)
    (STATIC / PICTURE).write_text(picture(recorded))
