# SPDX-License-Identifier: MIT
"""The cost tables that come with the tool: one for each set of features of a core, under one objective."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.prepare.adaptation.cost import CostTable, read_cost_table

FOLDER = Path(__file__).resolve().parent / "costs"  # written by `python -m tools.cost_tables`


def file_name(features: Collection[str]) -> str:
    """Returns the name of the table for cores with these features."""
    return f"{'-'.join(sorted(features))}.toml"


def shipped_path(features: Collection[str], where: str, remedy: str) -> Path:
    """Returns the path of the table for cores with exactly these features; AidgeError (COST) if none comes with the tool."""
    path = FOLDER / file_name(features)
    if not path.is_file():
        raise AidgeError(
            f"no table of costs comes with the tool for a core with {' '.join(sorted(features)) or 'no features'}",
            where=where,
            tried=sorted(one.stem.replace("-", " ") for one in FOLDER.glob("*.toml")),
            hint=remedy,
            code="COST",
        )
    return path


def table_at(path: Path, features: Collection[str], optimize: str = "") -> CostTable:
    """Returns the table in the file; AidgeError (COST) if it was measured on a core with other features, or under another
    objective, if one is named."""
    table = read_cost_table(read_regular(path, LARGEST_TEXT_BYTES), str(path))
    if table.features is not None and table.features != frozenset(features):
        measured, asked = (" ".join(sorted(one)) or "no features" for one in (table.features, features))
        raise AidgeError(
            f"was measured on a core with {measured}, not with {asked}",
            where=str(path),
            hint="aidge-build tune measures one for this core",
            code="COST",
        )
    if optimize and table.optimize not in (None, optimize):
        raise AidgeError(
            f"was measured under --optimize {table.optimize}, not {optimize}",
            where=str(path),
            hint=f"aidge-build tune --optimize {optimize} measures one",
            code="COST",
        )
    return table
