# SPDX-License-Identifier: MIT
"""A function of N.h as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """A function of N.h. `parameters` are C declarations, `arguments` the same names; both empty where there are none."""

    symbol: str
    returns: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    comment: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The C text between the parentheses."""
        return ", ".join(self.parameters) or "void"

    @property
    def passed(self) -> str:
        """The arguments of a call with the same names."""
        return ", ".join(self.arguments)
