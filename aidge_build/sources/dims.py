# SPDX-License-Identifier: MIT
"""The limits of sizes that all importers share: the values of `--bind`, and how many elements a tensor may have."""

from __future__ import annotations

import math

from aidge_build.base.errors import AidgeError

Bound = int | float | bool | tuple[int | float | bool, ...]  # what `--bind` may say: a size, or the value of an input
MOST_ELEMENTS = 1 << 47  # sizes in bytes and their sums stay within 64 bits


def check_elements(where: str, dims: tuple[int, ...], may_be_empty: bool = False) -> None:
    """Refuses a run-time tensor without elements, or with more than any arithmetic on sizes allows."""
    elements = math.prod(dims)
    if elements == 0 and not may_be_empty:
        raise AidgeError(f"{where} has the dims {list(dims)}, no element", code="DIMS")
    if elements > MOST_ELEMENTS:
        raise AidgeError(f"{where} has the dims {list(dims)}, {elements} elements; the limit is {MOST_ELEMENTS}", code="DIMS")


def shown(bound: Bound) -> str:
    """A bound value as the command line spells it."""
    return ",".join(map(shown, bound)) if isinstance(bound, tuple) else str(bound).lower()
