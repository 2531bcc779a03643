# SPDX-License-Identifier: MIT
"""The memory from which a forward text takes the pointer of its output, as the text shows it."""

from __future__ import annotations

import re
from collections.abc import Collection

_MEMORY = re.compile(r"\*\s*\)\s*(\(?)\s*([A-Za-z_]\w*)\s*\+")  # (float *)mem + OFFSET, (float *)(mem + OFFSET)


def memory_in(text: str, pointers: Collection[str]) -> str:
    """The name of the memory; "" where the text adds to none but the given `pointers`."""
    return min({name for _, name in _MEMORY.findall(text)} - set(pointers), default="")


def counts_elements(text: str) -> bool:
    """Whether the text adds to the memory as a pointer of the element's type: memory info then counts elements."""
    return any(not bracket for bracket, _ in _MEMORY.findall(text))
