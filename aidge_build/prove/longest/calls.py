# SPDX-License-Identifier: MIT
"""Calls of a program's functions by an unknown caller with memory at known addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from aidge_build.contract.thumb.instruction import Instruction
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.riscv_walk import RiscvCode
from aidge_build.prove.longest.ends import State
from aidge_build.prove.longest.library import BlocksWith, Library
from aidge_build.prove.longest.memory import Constants, Memory
from aidge_build.prove.longest.registers import Registers
from aidge_build.prove.longest.riscv.blocks import RiscvBlocks
from aidge_build.prove.longest.search import Search
from aidge_build.prove.longest.thumb.blocks import ThumbBlocks
from aidge_build.prove.longest.values import Objects, Span, Value

# Memory of the caller, far away from the program's memory: a stack, and the arrays that it passes.
_STACK_END, GIVEN_BYTES, MOST_GIVEN = 0xA0000000, 1 << 24, 20
GIVEN = tuple(range(_STACK_END, _STACK_END + MOST_GIVEN * GIVEN_BYTES, GIVEN_BYTES))
_STACK = _STACK_END - 4 * MOST_GIVEN  # above it are the arguments that are not in registers
_ERRNO = _STACK_END - 4


class Calls:
    """Calls functions of a program. `instructions` are the program's if it is of Thumb code: the ones of RISC-V are read from its
    bytes. `constants` are variables that no code writes while the program runs."""

    def __init__(self, image: Image, instructions: Mapping[int, Instruction], constants: Iterable[str] = ()):
        self.objects = Objects(_objects(image))
        self._constants = Constants(_constants(image, constants))
        blocks_with: BlocksWith = partial(ThumbBlocks, Code(image, instructions))
        if image.machine == "RISCV":
            blocks_with = partial(RiscvBlocks, RiscvCode(image))
        library = Library(image, blocks_with, self.objects, self.memory, _STACK, _ERRNO)
        blocks = blocks_with(self.objects, library)
        self._search, self._convention = Search(blocks), blocks.convention

    def memory(self) -> Memory:
        """Returns a memory in which only the constants are known."""
        return Memory(self._constants, self.objects, GIVEN[0])

    def call(self, entry: int, arguments: Sequence[int | None], memory: Memory, limit: int) -> State:
        """Returns the state after a call, with the instructions of its longest path. An argument that is None may have any value.
        Refusal if there is no bound below `limit`."""
        places = self._convention.arguments
        values = self._convention.values(arguments[: len(places)], _STACK)
        for index, argument in enumerate(arguments[len(places) :]):
            memory.store(_STACK + 4 * index, 4, argument)
        return self._search.call(Registers(values), memory, entry, limit)

    def result(self, state: State) -> Value:
        """Returns what the function of a call returns."""
        return state.registers.values[self._convention.arguments[0]]


def _objects(image: Image) -> Iterator[Span]:
    """Yields the variables, the arrays of the caller, and the stack."""
    writable = [section for section in image.sections if section.writable]
    for symbol in image.symbols:
        if symbol.kind == "object" and symbol.size_bytes and any(section.holds(symbol.address) for section in writable):
            yield Span(symbol.address, symbol.end)
    yield from (Span(first, first + GIVEN_BYTES) for first in GIVEN)
    yield Span(_STACK_END - GIVEN_BYTES, _STACK_END)


def _constants(image: Image, names: Iterable[str]) -> Iterator[tuple[int, bytes]]:
    """Yields (address, bytes) of read-only memory, and of constants that start-up code copies."""
    yield from ((section.address, section.content) for section in image.sections if not section.writable)
    for name in names:
        symbol = image.symbol(name)
        if symbol:
            yield symbol.address, image.content(symbol)
