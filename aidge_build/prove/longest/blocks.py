# SPDX-License-Identifier: MIT
"""The code of a program as basic blocks, whichever instruction set it is for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic

from aidge_build.prove.elf.linked_code import LinkedCode, One
from aidge_build.prove.longest.ends import Block, Known, call_of_known
from aidge_build.prove.longest.registers import Convention
from aidge_build.prove.longest.values import Objects


class Blocks(ABC, Generic[One]):
    """The blocks of a program by their first addresses, each made on demand. `known` functions are blocks. `parts` says that
    paths know what the conditions say that they have met, and fork at conditional instructions, too."""

    convention: Convention

    def __init__(self, code: LinkedCode[One], objects: Objects, known: Known, parts: bool = False):
        self.parts = parts
        self.known = known
        self.code = code
        self.objects = objects
        self._blocks: dict[int, Block] = {}
        self._made_of_text: dict[int, Block] = {}

    def block(self, start: int) -> Block:
        """Returns the block that begins at an address."""
        if start not in self._blocks:
            found = self._plain(start)
            if start in self.known:
                found = Block(start, 0, (), call_of_known(self.known, found, self.convention.link), found.successors)
            self._blocks[start] = found
        return self._blocks[start]

    def rounds(self, entry: int, head: int, body: Sequence[int], successors: Mapping[int, Sequence[int]]) -> int | None:
        """Returns how often a loop of the function at `entry` leads back to its first block at most, if its blocks (`body`) show
        it or the meaning of the function says it; None otherwise."""
        texts = {start: [*self._instructions(start)] for start in body}
        shown = self.shown_rounds(head, texts, successors)
        return shown or (self.known.rounds(entry) if self.parts else None)

    @abstractmethod
    def shown_rounds(self, head: int, body: Mapping[int, Sequence[One]], successors: Mapping[int, Sequence[int]]) -> int | None:
        """Returns how often a loop leads back to its first block at most, if its instructions show it, or None."""

    def _instructions(self, start: int) -> Iterator[One]:
        """Yields the instructions of a block."""
        place = start
        for _ in range(self._plain(start).count):
            yield self.code.instructions[place]
            place = self.code.instructions[place].next

    def _plain(self, start: int) -> Block:
        if start not in self._made_of_text:
            self._made_of_text[start] = self._made(start)
        return self._made_of_text[start]

    @abstractmethod
    def _made(self, start: int) -> Block:
        """Returns the block that the instructions from an address on are."""
