# SPDX-License-Identifier: MIT
"""`aidge-build report`: where the bytes of a linked program are."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_sources
from aidge_build.base.reading import read_json
from aidge_build.base.source_files import Sources
from aidge_build.cli.linked import add_memory_arguments, core_of, memories, stack_of
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.accuracy.drawing import layers_drawing
from aidge_build.measure.report import attribute, make_document, render_difference, render_page, render_text
from aidge_build.measure.report.accuracy import accuracy_lines, read_accuracy
from aidge_build.measure.report.inputs import BESIDE_FLOAT, COUNTS, PLAN, REPORT
from aidge_build.prove.elf import read_claims, read_image

EXAMPLES = (
    ("report app.elf --board stm32f7 --html report.html", "where the bytes are, as a page"),
    ("report app.elf --board stm32f7 --json", "for a later --diff"),
    ("report app.elf --board stm32f7 --diff old.json", "what grew and what shrank, as Markdown"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("elf", type=Path, metavar="ELF", help="linked program")
    add_memory_arguments(parser)
    parser.add_argument(
        "--plan",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="plan of a model in the program, for MACs, live bytes and the picture of the arena (repeat; default: none)",
    )
    parser.add_argument(
        "--counts",
        type=Path,
        metavar="RUN.json",
        help="output of `run --json`, for the instructions of each layer (default: none)",
    )
    parser.add_argument(
        "--accuracy",
        action="append",
        default=[],
        type=Path,
        metavar="F.json",
        help="output of `accuracy --out` (repeat; default: none)",
    )
    parser.add_argument(
        "--layers",
        type=Path,
        metavar="F.json",
        help="output of `verify --layers --float F --json`, for a picture on the page (default: none)",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="page to write, too (default: none)")
    parser.add_argument(
        "--diff",
        type=Path,
        metavar="OLD.json",
        help="earlier output of `report --json` to compare with, as Markdown (default: print the tree)",
    )
    parser.add_argument("--items", type=int, default=6, metavar="N", help="symbols per group in the tree (default: 6)")


def run(arguments: argparse.Namespace) -> Outcome:
    image = read_image(arguments.elf)
    claims, regions = read_claims(image), memories(arguments, image).regions
    if not regions:
        raise AidgeError(
            "the memories of the board are unknown",
            where=str(arguments.elf),
            code="USAGE",
            hint="name the board with --board (not host), each memory with --region NAME=ORIGIN,LENGTH,KIND, or a --map",
        )
    plans = [read_json(path, PLAN, "REPORT", "N.plan.json of `compile`") for path in arguments.plan]
    measured = read_json(arguments.counts, COUNTS, "REPORT", "what `run --json` printed") if arguments.counts else None
    stack = stack_of(arguments.elf, image, claims, core_of(arguments, image), required=False)
    document = make_document(image, claims, attribute(image, claims, regions), plans, measured, stack)
    measures = [read_accuracy(path) for path in arguments.accuracy]
    beside = _beside_float(arguments.layers)
    if arguments.html:
        page = render_page(document, arguments.elf.name, measures, layers_drawing(beside) if beside else "")
        write_sources(Sources({arguments.html.name: page.encode()}, {}), arguments.html.parent)
    if arguments.diff:
        lines = render_difference(
            read_json(arguments.diff, REPORT, "REPORT", "what `report --json` printed"), document, str(arguments.diff)
        ).split("\n")
    else:
        lines = render_text(document, arguments.items) + [line for measure in measures for line in accuracy_lines(measure)]
    return Outcome(lines, {**document, "accuracy": measures} if measures else document)


def _beside_float(path: Path | None) -> dict | None:
    if path is None:
        return None
    hint = "what `verify --layers --float F --json` printed"
    found = read_json(path, BESIDE_FLOAT, "REPORT", hint)["beside_float"]
    if not found["histogram"]["float"] or len(found["histogram"]["float"]) != len(found["histogram"]["firmware"]):
        raise AidgeError("it holds no valid histograms", where=str(path), code="REPORT", hint=hint)
    return found
