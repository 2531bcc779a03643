# SPDX-License-Identifier: MIT
"""The inputs of N_run, N_begin and N_push_<input>, where the procedure call standard of Arm puts their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.run.emulate.program import Entry, Program

REGISTERS = 4  # further arguments are on the stack
Read = Callable[[int, int], bytes]


def entered(program: Program, function: str, words: Sequence[int], stack: int, read: Read) -> Entry:
    """Returns the call of a function that has just been entered. It has no input if a place is unknown or in no memory.

    `words` are the registers r0 to r3, `stack` is the stack pointer; `read` returns bytes of memory, by address and size.
    """
    passed, inputs = program.passed, tuple[bytes, ...]()
    try:
        if passed.pushes and function == passed.pushes:
            inputs = (_rows(program, words, read),)
        elif passed.passes_inputs(function):
            inputs = _stored_inputs(program, words, stack, read)
    except AidgeError:
        inputs = ()
    return Entry(tuple(words), inputs, 0, function)


def _rows(program: Program, words: Sequence[int], read: Read) -> bytes:
    """Returns the rows that are pushed; no bytes if they are more than the input has, since this call is refused."""
    port, (begin, count) = program.passed.inputs[0], words[bool(program.passed.first) :][:2]
    size = count * port.row_bytes
    return read(begin, size) if size <= port.size_bytes else b""


def _stored_inputs(program: Program, words: Sequence[int], stack: int, read: Read) -> tuple[bytes, ...]:
    """Returns the stored bytes of each input; AidgeError (RUN) if the program does not have its array, or no memory does."""
    first = program.passed.first

    def word(address: int) -> int:
        return int.from_bytes(read(address, 4), "little")

    def argument(index: int) -> int:
        return words[index] if index < REGISTERS else word(stack + 4 * (index - REGISTERS))

    def array(symbol: str) -> int:
        if first:  # the caller's arena; an instance begins with its address
            return argument(0) if first == "arena" else word(argument(0))
        known = program.image.symbol(symbol)
        if known is None:
            raise AidgeError(f"the program has no {symbol}", where=program.image.path, code="RUN")
        return known.address

    found, pointers = [], int(bool(first))
    for port in program.passed.inputs:
        begin = array(port.symbol) if port.symbol else argument(pointers)
        found.append(read(begin + port.offset_bytes, port.size_bytes))
        pointers += not port.symbol
    return tuple(found)
