# SPDX-License-Identifier: MIT
"""Texts for a core with few registers, in the same notation for one with many: what such a core has in its frame, on the stack or
waiting is a value as any other, and each register of a list has its own access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from aidge_build.contract.kernel_kit.registers.named import FRAME, GET, LABEL, PUT, Function
from aidge_build.contract.kernel_kit.registers.texts import Line

_WAITS = re.compile(rf"({PUT}|{GET})%(\w+)")
_LIST = re.compile(r"(ldm|stm) (%\w+)!, \{([^}]*)\}")
_WORD = re.compile(r"(ldr|str) (%\w+), \[sp, %frame\.([a-z]\w*?)(?:\.(\d+))?\]")
_SIZES = re.compile(r"([a-z]\w*)(?:\.(\d+))?")
_ARGUMENT = re.compile(r"(ldr|str) (%\w+), \[%argument\.(\d+)\]")
_ADDRESS = re.compile(r"(?:mov (%\w+), sp|add (%\w+), sp, %frame\.([a-z]\w*?)(?:\.(\d+))?)")
_REPLACED = re.compile(r"(?:movs?|ldr\w*) (%\w+), (.*)")


class _Unclear(Exception):
    """The address of these words of the frame is used otherwise than to load and store them one after another."""


def with_values(lines: Sequence[Line], passed: int) -> list[Line]:
    """Returns the text with values in the place of words: `word_3` of the frame, `waiting_x`, `argument_4`. Words stay in the
    frame if the text computes with their addresses. `passed` arguments are in registers."""
    arrays: list[str] = []
    while True:
        values = _Values(arrays, passed)
        try:
            found = list(values.lines(lines))
        except _Unclear as error:
            arrays.append(str(error))
        else:
            words = [f"{name}.{values.sizes[name]}" for name in arrays]
            return [found[0], *([(f"    {FRAME}{', '.join(words)}", "")] if words else []), *found[1:]]


class _Values:
    def __init__(self, arrays: Sequence[str], passed: int) -> None:
        self._words, self.sizes = Function(), dict[str, str]()
        self._arrays, self._passed = arrays, passed
        self._addresses: dict[str, tuple[str, int]] = {}  # values that are addresses of words: the name of these
        self._unknown: dict[str, tuple[str, int]] = {}  # addresses of other words on one of the ways here

    def lines(self, lines: Sequence[Line]) -> Iterator[Line]:
        """Yields the lines."""
        for line, why in lines:
            text = line.strip()
            own = self._of_the_frame(text)
            found = self._simpler(text) if own is None else own
            yield from ((f"    {each}" if each != text else line, why if not place else "") for place, each in enumerate(found))

    def _of_the_frame(self, text: str) -> list[str] | None:
        """Returns the lines in place of one that names words of the frame; None for another line."""
        if text.startswith(FRAME):
            self._words.declare(text)
            self.sizes = {name: size or "1" for name, size in _SIZES.findall(text.removeprefix(FRAME))}
            return []
        if match := _WORD.fullmatch(text):
            return None if match[3] in self._arrays else [self._moved(match[1], match[2], self._word(match[3], match[4]))]
        if match := _ADDRESS.fullmatch(text):
            name = match[3] or next(iter(self.sizes))
            if name in self._arrays:
                return None
            self._unknown.pop(match[1] or match[2], None)
            self._addresses[match[1] or match[2]] = name, self._word(name, match[4])
            return []
        match = _LIST.fullmatch(text)
        if match and match[2] in self._addresses:
            names, (name, begin) = match[3].split(", "), self._addresses[match[2]]
            self._addresses[match[2]] = name, begin + len(names)
            return [self._moved(match[1], each, begin + place) for place, each in enumerate(names)]
        self._require_clear(text)
        return None

    def _require_clear(self, text: str) -> None:
        """Raises _Unclear for another use of an address."""
        if LABEL.fullmatch(text):  # other ways may come here
            self._unknown |= self._addresses
            self._addresses.clear()
        for known in (self._addresses, self._unknown):
            for name in known.keys() & set(re.findall(r"%\w+", text)):
                match = _REPLACED.fullmatch(text)
                if match is None or match[1] != name or name in re.findall(r"%\w+", match[2]):
                    raise _Unclear(known[name][0])
                del known[name]

    def _moved(self, verb: str, name: str, word: int) -> str:
        return _move(verb.startswith("ld"), name, f"word_{word}")

    def _word(self, name: str, place: str | None) -> int:
        return self._words.frame[name] + int(place or 0)

    def _simpler(self, text: str) -> list[str]:
        """Returns the lines in place of one that names no word of the frame."""
        if match := _WAITS.fullmatch(text):
            return [_move(match[1] == GET, f"%{match[2]}", f"waiting_{match[2]}")]
        if (match := _ARGUMENT.fullmatch(text)) and int(match[3]) < self._passed:
            return [_move(match[1] == "ldr", match[2], f"argument_{match[3]}")]
        if match := _LIST.fullmatch(text):
            names, verb = match[3].split(", "), "ldr" if match[1] == "ldm" else "str"
            accesses = [f"{verb} {name}, [{match[2]}, #{4 * place}]" for place, name in enumerate(names)]
            return [*accesses, f"add {match[2]}, {match[2]}, #{4 * len(names)}"]
        return [text]


def _move(is_load: bool, name: str, word: str) -> str:
    return f"mov {name}, %{word}" if is_load else f"mov %{word}, {name}"
