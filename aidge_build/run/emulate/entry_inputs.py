# SPDX-License-Identifier: MIT
"""The inputs of N_run, where the procedure call standard of Arm puts its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.run.emulate.program import Program

REGISTERS = 4  # further arguments are on the stack


def stored_inputs(program: Program, words: Sequence[int], stack: int, read: Callable[[int, int], bytes]) -> tuple[bytes, ...]:
    """Returns the stored bytes of each input of the program at the entry of N_run, () if a place is unknown or in no memory.

    `words` are the registers r0 to r3, `stack` is the stack pointer; `read` returns bytes of memory, by address and size.
    """

    def argument(index: int) -> int:
        return words[index] if index < REGISTERS else int.from_bytes(read(stack + 4 * (index - REGISTERS), 4), "little")

    found, pointers = [], 0
    for port in program.inputs:
        array = program.image.symbol(port.symbol) if port.symbol else None
        try:
            found.append(read(array.address + port.offset_bytes if array else argument(pointers), port.size_bytes))
        except AidgeError:
            return ()
        pointers += not port.symbol
    return tuple(found)
