# SPDX-License-Identifier: MIT
"""The page of kernels that went because they did not pay, with their last figures, from docs/removed/*.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDER = "docs/removed"


def removed_page(root: Path) -> Iterator[str]:
    """One table for each library; a row for each form of a kernel."""
    yield "# Kernels that were removed"
    yield ""
    yield "A form of a kernel stays if a whole network, or a layer that many networks have, notices its loss. The forms in these"
    yield "tables did not pay for their code: each row names what computes their layers today, and the last figures of a layer"
    yield "with and without the form."
    variants = [one for path in sorted((root / FOLDER).glob("*.toml")) for one in _variants(path)]
    for library in sorted({one["library"] for one in variants}):
        yield from (
            "",
            f"## {library}",
            "",
            "| form | its layers | now computed by | measured | before | after |",
            "|---|---|---|---|---|---|",
        )
        yield from (_row(one) for one in variants if one["library"] == library)


def _variants(path: Path) -> list[Mapping]:
    return tomllib.loads(path.read_text(encoding="utf-8"))["variant"]


def _row(one: Mapping) -> str:
    change = (one["after"] - one["before"]) / one["before"]
    before, after = f"{one['before']:,} {one.get('unit', 'cycles')}", f"{one['after']:,} ({change:+.1%})"
    cells = (one["name"], one["served"], one["now"], f"{one['layer']}, {one['board']}", before, after)
    return f"| {' | '.join(cells)} |"
