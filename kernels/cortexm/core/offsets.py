# SPDX-License-Identifier: MIT
"""Steps of registers, whatever their size."""

from __future__ import annotations

from ..windows.depthwise_layout import LARGEST_OFFSET
from .assembly import Routine


def plus(code: Routine, register: str, value: int) -> None:
    """Adds a number to a register."""
    while value > 0:
        part = min(value, LARGEST_OFFSET)
        code(f"addw {register}, {register}, #{part}")
        value -= part
    while value < 0:
        part = min(-value, LARGEST_OFFSET)
        code(f"subw {register}, {register}, #{part}")
        value += part
