# SPDX-License-Identifier: MIT
"""Long names cut in the middle, at whole words: the first word says what a thing belongs to, the last ones tell it from
others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A number belongs to the word before it: conv2d_1 is one thing. Longer digits are a word like any other.
_LONGEST_NUMBER = 4
# A shorter beginning of a word cannot be read.
_SHORTEST_WORD = 3


@dataclass(frozen=True)
class _Unit:
    """A word of an identifier, and the number after it with its underscore ("" without)."""

    word: str
    number: str = ""

    def __str__(self) -> str:
        return self.word + self.number

    def shorter(self) -> _Unit:
        return _Unit(self.word[:-1], self.number)


def shortened_identifier(name: str, room: int) -> str:
    """An identifier of words joined by `_`, at most `room` characters long.

    A longer identifier keeps its first word, as many of its last words as fit, and then the words after the first that fit.
    If the first and the last word are too long together, the longer one loses its end. A number goes with the word before it.
    """
    if len(name) <= room:
        return name
    units = _units(name)
    first, last = units[0], units[-1]
    if len(units) == 1 or len(f"{first}_{last}") > room:
        return _of_two(first, last if len(units) > 1 else None, room)
    tail = _fitting(reversed(units[1:]), room - len(str(first)) - 1)[::-1]
    taken = len(str(first)) + 1 + len("_".join(tail))
    head = _fitting(units[1 : len(units) - len(tail)], room - taken - 1)
    return "_".join([str(first), *head, *tail])


def _units(name: str) -> list[_Unit]:
    units: list[_Unit] = []
    for word in name.split("_"):
        if units and not units[-1].number and word.isdigit() and len(word) <= _LONGEST_NUMBER and not units[-1].word.isdigit():
            units[-1] = _Unit(units[-1].word, f"_{word}")
        else:
            units.append(_Unit(word))
    return units


def _fitting(units: Iterable[_Unit], room: int) -> list[str]:
    """The first ones, joined by `_`, as long as they fit."""
    found: list[str] = []
    for unit in map(str, units):
        room -= len(unit) + (1 if found else 0)
        if room < 0:
            break
        found.append(unit)
    return found


def _of_two(first: _Unit, last: _Unit | None, room: int) -> str:
    """The first and the last word, cut to the room; the first alone where no two words can be read in it."""
    first = _Unit(first.word[:room], first.number)
    if last is None or room < 2 * _SHORTEST_WORD + 1 + len(first.number) + len(last.number):
        while len(str(first)) > room and first.word:
            first = first.shorter()
        return str(first)[:room]
    last = _Unit(last.word[:room], last.number)
    while len(f"{first}_{last}") > room:
        if len(first.word) >= len(last.word):
            first = first.shorter()
        else:
            last = last.shorter()
    return f"{first}_{last}"


def shortened_text(pieces: Sequence[str], limit: int, mark: str = "...") -> str:
    """Returns text from pieces (words, and single characters between them), at most `limit` long: whole pieces from both ends
    with `mark` between; a first or last piece that has no room is cut, if it is a word."""
    whole = "".join(pieces)
    if len(whole) <= limit:
        return whole
    room = limit - len(mark)
    if room <= 0:
        return mark[:limit]
    tail = _end(pieces, room // 2)
    head = _begin(pieces, room - len(tail))
    return head + mark + _end(pieces, room - len(head))


def _begin(pieces: Sequence[str], room: int) -> str:
    found = ""
    for piece in pieces:
        if len(found) + len(piece) > room:
            return found or (piece[:room] if piece.isalnum() else "")
        found += piece
    return found


def _end(pieces: Sequence[str], room: int) -> str:
    found = ""
    for piece in reversed(pieces):
        if len(found) + len(piece) > room:
            return found or (piece[len(piece) - room :] if piece.isalnum() else "")
        found = piece + found
    return found


def pieces_of(text: str) -> list[str]:
    """Returns the words of letters and digits, and each other character by itself."""
    return re.findall(r"[A-Za-z0-9]+|.", text, re.DOTALL)


def shortened(text: str, limit: int, mark: str = "...") -> str:
    """A text of at most `limit` characters, cut in the middle between words where that is possible."""
    return shortened_text(pieces_of(text), limit, mark)
