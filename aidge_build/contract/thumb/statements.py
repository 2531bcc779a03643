# SPDX-License-Identifier: MIT
"""Instructions as basic asm statements of a naked function."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_CHARACTERS = 3800  # of one string, more or less: C99 promises 4,095
_HEAD = r'    __asm__\(\n(?:        "(\.syntax unified)\\n"\n)?'
_BETWEEN = re.compile(r"\n    \);\n" + _HEAD)
_STATEMENT = re.compile(_HEAD + r"(.*?)\n    \);", re.DOTALL)
_PREDICATES = re.compile(r"\s*(it[te]*|vpst[te]*|vpt[te]*)\b")  # the next instructions, at most four


def asm_statements(lines: Sequence[tuple[str, str]], head: str = "") -> str:
    """Returns consecutive asm statements, between which a compiler inserts nothing; `head` begins each.

    Predicated instructions stay in the statement of their IT or VPT, as clang's assembler requires.

    lines: (a line of the string, the C that prints it).
    """
    pieces: list[list[str]] = []
    room = whole = 0
    for text, printed in lines:
        if room <= 0 and whole <= 0:
            pieces.append([])
            room = MOST_CHARACTERS
        pieces[-1].append(printed)
        room -= len(text) + 1
        whole = 4 if _PREDICATES.match(text) else whole - 1
    opening = f'    __asm__(\n        "{head}\\n"\n' if head else "    __asm__(\n"
    return "\n".join(opening + "\n".join(piece) + "\n    );" for piece in pieces)


def joined(text: str) -> str:
    """Returns a C text with one asm statement in the place of consecutive ones."""
    return _BETWEEN.sub("\n", text)


def divided(text: str) -> str:
    """Returns a C text with each asm statement divided as by `asm_statements`."""
    return _STATEMENT.sub(
        lambda match: asm_statements([(_said(line), line) for line in match[2].split("\n")], match[1] or ""), text
    )


def _said(line: str) -> str:
    """Returns the line of assembly that a line of C prints."""
    return line.strip()[1:].partition("\\n")[0]
