# SPDX-License-Identifier: MIT
"""Readable values of each stage on stderr: AIDGE_DEBUG=1 tracebacks, 2 graphs, 3 plans, 4 calls;
from 5 on each rewrite of a graph is also computed, before and after it (`recipes/meaning.py`)."""

from __future__ import annotations

import os
import sys


def level() -> int:
    """The number in AIDGE_DEBUG; 0 when it is not set or no number."""
    text = os.environ.get("AIDGE_DEBUG", "0")
    return int(text) if text.isdecimal() else 0


def show(wanted: int, title: str, value: object) -> None:
    """Print a value when the debug level is at least `wanted`."""
    if level() >= wanted:
        print(f"--- {title}\n{value}", file=sys.stderr)
