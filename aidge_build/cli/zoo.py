# SPDX-License-Identifier: MIT
"""`aidge-build list zoo`: the models that come with the tool, a line for each, or the card of some."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.terminal import table
from aidge_build.base.zoo import Entry, entry, names, of_model
from aidge_build.cli.outcome import Outcome

EXAMPLES = (
    ("list zoo", "all"),
    ("list zoo keyword", "the card of one: inputs, outputs, data, licence, accuracy"),
)
_LINES = ("input", "output", "data", "licence", "script")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="names of models, to print their cards (default: a line for each)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    entries = [of_model(Path(name)) or entry(name) for name in arguments.names or names()]  # zoo:NAME is a path by now
    lines = [line for one in entries for line in _card(one)] if arguments.names else _list(entries)
    return Outcome(
        lines,
        {"models": [{"name": one.name, "file": str(one.model), "samples": str(one.samples), **one.card} for one in entries]},
    )


def _list(entries: list[Entry]) -> list[str]:
    rows = [(f"zoo:{one.name}", f"{one.model.stat().st_size:,} B", _origin(one), one.card["title"]) for one in entries]
    return [*table(rows), "Next: aidge-build new DIR --board BOARD --model zoo:NAME"]


def _origin(one: Entry) -> str:
    return "simulated data" if one.card["simulated"] else "recorded data"


def _card(one: Entry) -> list[str]:
    measured = one.card["measured"]
    rows = [(name, str(one.card[name])) for name in _LINES]
    rows += [("file", str(one.model)), ("test samples", str(one.samples))]
    rows += [("held out" if name == "samples" else name, str(value)) for name, value in measured.items()]
    return [f"zoo:{one.name}: {one.card['title']} ({_origin(one)})", *(f"  {line}" for line in table(rows))]
