# SPDX-License-Identifier: MIT
"""The inputs of N_run and N_begin, where the procedure call standard of Arm puts their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.run.emulate.program import Entry, Program

ORDER = 3  # N_begin during an inference
REGISTERS = 4  # further arguments are on the stack


def is_asked_again(program: Program, entry: Entry, before: Sequence[Entry]) -> bool:
    """Whether the call only asks if an inference in steps is over: a loop of a firmware may call N_begin as often as it likes."""
    return entry.function == program.passed.begins and entry.status == ORDER and bool(before)


def stored_inputs(program: Program, words: Sequence[int], stack: int, read: Callable[[int, int], bytes]) -> tuple[bytes, ...]:
    """Returns the stored bytes of each input of the program at the entry of N_run or N_begin, () if a place is unknown or in no
    memory.

    `words` are the registers r0 to r3, `stack` is the stack pointer; `read` returns bytes of memory, by address and size.
    """
    first = program.passed.first

    def word(address: int) -> int:
        return int.from_bytes(read(address, 4), "little")

    def argument(index: int) -> int:
        return words[index] if index < REGISTERS else word(stack + 4 * (index - REGISTERS))

    def array(symbol: str) -> int | None:
        if first:  # the caller's arena; an instance begins with its address
            return argument(0) if first == "arena" else word(argument(0))
        known = program.image.symbol(symbol)
        return known.address if known else None

    found, pointers = [], int(bool(first))
    for port in program.passed.inputs:
        try:
            begin = array(port.symbol) if port.symbol else argument(pointers)
            if begin is None:
                return ()
            found.append(read(begin + port.offset_bytes, port.size_bytes))
        except AidgeError:
            return ()
        pointers += not port.symbol
    return tuple(found)
