# SPDX-License-Identifier: MIT
"""Kernels' C as definitions: a reading of the text, not a compiler. An item that does not surely define one name has no name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_COMMENT = r"//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/|\Z)"  # from star to star, a third of the time
_TOKEN = re.compile(f"{_COMMENT}|{_STRING}")
_WORD = re.compile(r"[A-Za-z_]\w*")
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)")
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(?:\([^)]*\))?[\s\\]*(\w*)")
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_SPECIFIERS = r"\s*((?:[A-Za-z_]\w*[\s*]+)+)"
_FUNCTION = re.compile(_SPECIFIERS + r"(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*[{;]")
_DATA = re.compile(_SPECIFIERS + r"(\w+)\s*(?:\[[^\]]*\]\s*)*=")
_OPENING, _BETWEEN = ("if", "ifdef", "ifndef"), ("elif", "else", "endif")
_LICENCE = "SPDX-License-Identifier"


class _Unreadable(Exception):
    """The text does not fall into definitions."""


@dataclass(eq=False)
class Item:
    """Lines that stay or go together. `name` is the name that they define, if they do nothing else; `stands_for` is the first
    word of a macro's value. `bare` is the definition or directive without comments, after `lead` lines of comments."""

    lines: list[str]
    words: frozenset[str] = frozenset()
    around: tuple[Group, ...] = ()
    name: str = ""
    specifiers: frozenset[str] = frozenset()
    stands_for: str | None = None
    bare: str = ""
    lead: int = 0
    kept: bool = False

    @property
    def head(self) -> str:
        """The definition up to its brace: the text that a declaration of the function has, too."""
        return self.bare.partition("{")[0].strip()

    @property
    def is_comment(self) -> bool:
        """Whether it is no code."""
        return not self.words and not self.name


@dataclass(eq=False)
class Group:
    """#if to #endif: each directive with the items after it."""

    lead: list[str]  # the comment before it
    branches: list[tuple[list[str], list]] = field(default_factory=list)
    end: str = ""
    kept: bool = False

    def words(self) -> Iterator[str]:
        """Yields the words in its conditions."""
        for directive, _ in self.branches:
            yield from _WORD.findall(without_comments("\n".join(directive)))


def items_of(nodes: Sequence) -> Iterator[Item]:
    """Yields all items of a text, also the items inside of #if."""
    for node in nodes:
        if isinstance(node, Item):
            yield node
        else:
            for _, inside in node.branches:
                yield from items_of(inside)


def parsed(text: str) -> list:
    """A text as items and groups; one item without a name where it cannot be read."""
    try:
        return _Parser(text).nodes()
    except _Unreadable:
        return [Item(text.splitlines(), frozenset(_WORD.findall(without_comments(text))) | {""})]


def without_comments(text: str) -> str:
    """The text with as many lines; strings stay, for assembly may name functions."""
    return _TOKEN.sub(lambda token: token[0] if token[0][0] in "\"'" else "\n" * token[0].count("\n") or " ", text)


class _Parser:
    """The lines of one file as items and groups."""

    def __init__(self, text: str):
        self._lines = text.splitlines()
        self._bare = without_comments("\n".join(self._lines)).split("\n")
        self._at = 0

    def nodes(self) -> list:
        return self._until((), ())

    def _until(self, around: tuple[Group, ...], ends: tuple[str, ...]) -> list:
        """Returns everything up to a directive of `ends`, or the end of the text."""
        found: list = []
        lead: list[str] = []
        while self._at < len(self._lines):
            directive = self._directive()
            if directive in ends:
                return [*found, Item(lead)]
            if directive in _BETWEEN:
                raise _Unreadable
            if directive in _OPENING:
                found.append(self._group(lead, around))
            elif directive:
                found.append(self._other_directive(lead, around))
            elif self._bare[self._at].strip():
                found.append(self._definition(lead, around))
            else:
                line = self._lines[self._at]
                self._at += 1
                lead.append(line)
                if line.strip() and _LICENCE not in line:
                    continue  # a comment belongs to what follows
                found.append(Item(lead))
            lead = []
        if ends:
            raise _Unreadable
        return [*found, Item(lead)]

    def _directive(self) -> str:
        match = _DIRECTIVE.match(self._bare[self._at])
        return match[1] if match else ""

    def _directive_lines(self) -> list[str]:
        start = self._at
        while self._lines[self._at].endswith("\\") and self._at + 1 < len(self._lines):
            self._at += 1
        self._at += 1
        return self._lines[start : self._at]

    def _other_directive(self, lead: list[str], around: tuple[Group, ...]) -> Item:
        start = self._at
        lines = [*lead, *self._directive_lines()]
        bare = "\n".join(self._bare[start : self._at])
        words, define = frozenset(_WORD.findall(bare)), _DEFINE.match(bare)
        if define is None:
            return Item(lines, words, around, bare=bare, lead=len(lead))
        return Item(lines, words - {define[1]}, around, define[1], stands_for=define[2], bare=bare, lead=len(lead))

    def _group(self, lead: list[str], around: tuple[Group, ...]) -> Group:
        group = Group(lead)
        ends: tuple[str, ...] = _BETWEEN
        while self._directive() != "endif":
            ends = ("endif",) if self._directive() == "else" else ends
            directive = self._directive_lines()
            group.branches.append((directive, self._until((*around, group), ends)))
        group.end = self._lines[self._at]
        self._at += 1
        return group

    def _definition(self, lead: list[str], around: tuple[Group, ...]) -> Item:
        """Returns the definition up to the line that closes all brackets with } or ;."""
        start, depth, inner = self._at, 0, 0
        while self._at < len(self._lines):
            directive = self._directive()
            code = re.sub(_STRING, "", self._bare[self._at]).rstrip()
            self._at += 1
            inner += (directive in _OPENING) - (directive == "endif")
            if directive and (depth == 0 or inner < 0):
                raise _Unreadable
            if directive:
                continue
            depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
            if depth == inner == 0 and code.endswith(("}", ";")):
                return self._named(lead, start, around)
        raise _Unreadable

    def _named(self, lead: list[str], start: int, around: tuple[Group, ...]) -> Item:
        lines, bare = [*lead, *self._lines[start : self._at]], "\n".join(self._bare[start : self._at])
        words, plain = frozenset(_WORD.findall(bare)), _ATTRIBUTE.sub(" ", bare)
        match = _FUNCTION.match(plain) or _DATA.match(plain)
        if match is None or "typedef" in match[1].split():
            return Item(lines, words, around, bare=bare, lead=len(lead))
        specifiers = frozenset(_WORD.findall(match[1]))
        return Item(lines, words - {match[2]}, around, match[2], specifiers, bare=bare, lead=len(lead))
