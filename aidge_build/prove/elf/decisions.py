# SPDX-License-Identifier: MIT
"""Branches that constants decide: start-up code tests in this way whether an optional function exists.

Only straight-line code counts: a literal or a number is moved to a register, no other instruction names the register, and a
comparison comes directly before the branch. Other values in registers, variables and constants in memory decide nothing: a
debugger, an interrupt, a pointer or a flash tool may change them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence

from aidge_build.contract.thumb.instruction import Instruction, immediate, memory_operand
from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.state import WORD, signed

# The meaning of each condition for the two compared numbers, unsigned and signed.
_UNSIGNED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "cs": operator.ge,
    "hs": operator.ge,
    "cc": operator.lt,
    "lo": operator.lt,
    "hi": operator.gt,
    "ls": operator.le,
}
_SIGNED: dict[str, Callable[[int, int], bool]] = {"ge": operator.ge, "lt": operator.lt, "gt": operator.gt, "le": operator.le}
_WORDS = re.compile(r"\w+")


def decision(code: Code, conditional: Instruction, begin: int) -> bool | None:
    """Whether a branch is taken, or the condition of an IT block is met; None unless constants in the straight-line code from
    `begin` to the branch decide it."""
    earlier = _earlier(code, conditional, begin)
    name, operands = conditional.mnemonic, conditional.operands
    if name in ("cbz", "cbnz"):
        number = _number(code, operands[0], earlier)
        return None if number is None else (number == 0) == (name == "cbz")
    comparison = next(earlier, None)
    if comparison is None or comparison.mnemonic != "cmp":
        return None
    other = immediate(comparison.operands[1])
    number = None if other is None else _number(code, comparison.operands[0], earlier)
    if number is None or other is None:
        return None
    condition = operands[0] if name.startswith("it") else name[1:]
    if condition in _UNSIGNED:
        return _UNSIGNED[condition](number, other & WORD)
    return _SIGNED[condition](signed(number), signed(other)) if condition in _SIGNED else None


def _earlier(code: Code, instruction: Instruction, begin: int) -> Iterator[Instruction]:
    """Yields the instructions before another one, the last one first, down to `begin`."""
    before = code.before(instruction)
    while before is not None and before.address >= begin:
        yield before
        before = code.before(before)


def _number(code: Code, register: str, earlier: Iterator[Instruction]) -> int | None:
    """Returns the number that the last instruction that names a register writes to it; None unless it is a literal or an
    immediate number."""
    for one in earlier:
        name, operands = one.mnemonic, one.operands
        if _names(register, operands) or register in written_registers(name, operands):
            break
    else:
        return None
    if operands[:1] != (register,) or len(operands) != 2:
        return None
    number = immediate(operands[1])
    if number is not None and name == "movt":
        low = _number(code, register, earlier)
        return None if low is None else number << 16 | low & 0xFFFF
    if number is not None:
        return number & WORD if name in ("mov", "movs", "movw") else None
    return _literal(code, one) if name == "ldr" else None


def _names(register: str, operands: Sequence[str]) -> bool:
    return any(register in word and register in _WORDS.findall(word) for word in operands)


def _literal(code: Code, load: Instruction) -> int | None:
    """Returns the word that `ldr r3, [pc, #8]` loads."""
    base, words, writes_back = memory_operand(load.operands[1])
    offset = immediate(words[0]) if len(words) == 1 else None if words else 0
    return code.word((load.address + 4 & ~3) + offset) if base == "pc" and offset is not None and not writes_back else None
