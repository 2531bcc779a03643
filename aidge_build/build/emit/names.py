# SPDX-License-Identifier: MIT
"""Words of a model as C: their characters can neither end a string nor form a trigraph or an escape."""

from __future__ import annotations

from collections.abc import Iterable

_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')
_WIDTH = 120


def string_of(text: str) -> str:
    """Returns a C string literal of the UTF-8 bytes; a byte that is not plain is an octal escape of three digits."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in _bytes(text)) + '"'


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair has no bytes


def list_of_names(names: Iterable[str]) -> str:
    """The initialiser of an array of strings as the value of a macro, over several lines where it is long."""
    lines, line = [], "{"
    for index, name in enumerate(names):
        piece = f"{', ' if index else ''}{string_of(name)}"
        if len(line) + len(piece) > _WIDTH:
            lines.append(line)
            line = f"    {piece}"
        else:
            line += piece
    return " \\\n".join([*lines, line + "}"])
