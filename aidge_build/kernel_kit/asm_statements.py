# SPDX-License-Identifier: MIT
"""Instructions as basic asm statements of a naked function."""

from __future__ import annotations

from collections.abc import Sequence

MOST_CHARACTERS = 4000  # of one string: C99 promises 4,095


def asm_statements(lines: Sequence[tuple[str, str]], head: str = "") -> str:
    """Statements one behind the other, between which a compiler puts nothing; `head` begins each.

    lines: (a line of the string, the C that prints it).
    """
    pieces: list[list[str]] = []
    room = 0
    for text, printed in lines:
        if len(text) + 1 > room:
            pieces.append([])
            room = MOST_CHARACTERS - len(head)
        pieces[-1].append(printed)
        room -= len(text) + 1
    opening = f'    __asm__(\n        "{head}\\n"\n' if head else "    __asm__(\n"
    return "\n".join(opening + "\n".join(piece) + "\n    );" for piece in pieces)
