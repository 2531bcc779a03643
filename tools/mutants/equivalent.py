# SPDX-License-Identifier: MIT
"""The mutants that no test can tell from the code, each with the reason; `equivalent.toml` names them by their content."""

from __future__ import annotations

import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("equivalent.toml")


def argued() -> dict[tuple[str, str, str, str, int], str]:
    """Identity of each mutant that is argued -> its reason, which several changes of one statement may share."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8")).get("mutant", [])
    return {
        (entry["file"], entry["function"], entry["before"], after, entry.get("occurrence", 1)): entry["reason"]
        for entry in entries
        for after in entry["after"]
    }
