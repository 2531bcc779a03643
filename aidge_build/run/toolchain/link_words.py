# SPDX-License-Identifier: MIT
"""The words of a command that links: adds the words from response files, and replaces the linker script by a changed copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular

_DEEPEST = 8  # files of words that name files of words
# GNU ld ends here, without a program and a map: "app.ld:9 cannot move location counter backwards (from 08009f74 to 08006000)".
_BACKWARDS = re.compile(r"([^\s:][^:\n]*):(\d+):? cannot move location counter backwards")
_ASSIGNMENT = re.compile(r"(?<![\w.$])\.\s*=(?!=)\s*[^;{}]+;")


def expanded(command: Sequence[str], depth: int = 0) -> list[str]:
    """Returns the command with the words of each `@file` in its place, as gcc and GNU ld read them; an unreadable file stays
    `@file`."""
    words: list[str] = []
    for word in command:
        inner = _words_in(Path(word[1:])) if word.startswith("@") and depth < _DEEPEST else None
        words += [word] if inner is None else expanded(inner, depth + 1)
    return words


def _words_in(path: Path) -> list[str] | None:
    try:
        return shlex.split(_text(path))
    except (AidgeError, ValueError):
        return None


def _text(path: Path) -> str:
    return read_regular(path, LARGEST_TEXT_BYTES, "LINK").decode(errors="surrogateescape")


def moved_on(command: Sequence[str], messages: str, folder: Path) -> list[str] | None:
    """Returns the command with a copy of its linker script in `folder`, without the statement that moves the location counter
    back and that the linker complained about: a section that fills the rest of a memory is then the overflow of that memory. None
    for other messages, and if the script is not a word of the command."""
    found = _BACKWARDS.search(messages)
    word = next((word for word in command if found and word.endswith(found[1])), None)
    if found is None or word is None:
        return None
    try:
        text = _text(Path(found[1]))
    except AidgeError:
        return None
    changed = _without_moves_back(text, int(found[2]))
    if changed == text:
        return None
    copy = folder / f"script{len(list(folder.iterdir()))}.ld"
    copy.write_text(changed, errors="surrogateescape")
    new = f"{word.removesuffix(found[1])}{copy}"
    return [new if one == word else one for one in command]


def _without_moves_back(text: str, line: int) -> str:
    """Returns the script with `. = END;` of this line replaced by `. = .;`."""

    def change(match: re.Match[str]) -> str:
        first, last = (text.count("\n", 0, place) + 1 for place in match.span())
        return ". = .;" if first <= line <= last else match[0]

    return _ASSIGNMENT.sub(change, text)
