# SPDX-License-Identifier: MIT
"""Sums and products in generated C without terms that do nothing: no `+ 0`, no `* 1`, no `0 *` (MISRA C:2012, rule 2.2)."""

from __future__ import annotations


def plus(term: str, number: int) -> str:
    """Returns C for `term + number`."""
    return term if number == 0 else f"{term} {'+' if number > 0 else '-'} {abs(number)}"


def times(name: str, factor: int) -> str:
    """Returns C for `name * factor`; `name` must bind as tightly as a factor."""
    return "0" if factor == 0 else name if factor == 1 else f"{name} * {factor}"


def plus_product(term: str, factor: int, name: str) -> str:
    """Returns C for `term + factor * name`."""
    return term if factor == 0 else f"{term} + {name}" if factor == 1 else f"{term} + {factor} * {name}"
