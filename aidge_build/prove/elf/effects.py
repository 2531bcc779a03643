# SPDX-License-Identifier: MIT
"""The effect of an instruction on the stack pointer, the registers and the memory, as far as its text gives it for every
state."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from aidge_build.contract.thumb.instruction import immediate, memory_operand
from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.state import WORD, Value, signed

CORE = {f"r{number}" for number in range(13)} | {"lr"}
PUSHES = frozenset(("push", "stmdb", "stmfd", "vpush", "vstmdb", "fstmdbx"))
POPS = frozenset(("pop", "ldmia", "ldmfd", "ldm", "vpop", "vldmia", "fldmiax"))
STORES = ("str", "vst", "stm", "vstm", "stl")
# Operations on two numbers, by the name without its "s"; the lowest byte of a register gives the distance of a shift.
FOLDED: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_,
    "orr": operator.or_,
    "eor": operator.xor,
    "bic": lambda one, two: one & ~two,
    "mul": operator.mul,
    "rsb": lambda one, two: two - one,
    "lsl": lambda one, two: one << (two & 0xFF),
    "lsr": lambda one, two: one >> (two & 0xFF),
    "asr": lambda one, two: signed(one) >> (two & 0xFF),
    "movt": lambda one, two: two << 16 | one & 0xFFFF,
}

_REGISTERS = CORE | {"sp", "pc"}
_VALUED = frozenset(("ldr", "mov", "movw", "mvn", "neg", "add", "addw", "sub", "subw", *FOLDED))
_STACK_POINTERS = frozenset(("sp", "MSP", "PSP"))
_BOUND = frozenset((*PUSHES, *POPS, "msr", "bkpt"))  # change more than the registers that they name
_MOVES = frozenset(("mov", "movs", "movw", "movws", "mvn", "mvns"))


class Effect(NamedTuple):
    """The registers that an instruction writes; whether the written value may be known; the `base` register of its load, "" for
    none; and `sources`: the value is known only if one of these registers is (sp and pc are always known). `takes` says that the
    instruction copies an address in the stack to another place than the stack pointer, or stores to the stack with an index.
    `bracket` is the memory operand, "" for none, and `writes_back` says whether a base register changes. `copied` is the register
    that it copies, "" for none.

    The other fields are set if it changes only registers, memory and flags, and neither the stack pointer nor pc. `is_quiet` says
    that it only writes registers, and `is_apart` that it neither reads nor changes the frame: it writes a number, an unknown
    value, or the value of the register `copied`. `sets` are a register and the number that it writes there in every state, and
    `literal` is the distance in bytes from pc to the word that it loads."""

    written: frozenset[str]
    has_value: bool
    base: str
    sources: frozenset[str]
    takes: bool
    bracket: str
    writes_back: bool
    copied: str
    is_quiet: bool = False
    is_apart: bool = False
    sets: tuple[str, Value] | None = None
    literal: int | None = None


@lru_cache(1 << 16)
def effect_of(name: str, operands: tuple[str, ...]) -> Effect:
    """Returns the effect of an instruction by its name, without the condition of an IT block, and its operands."""
    written = written_registers(name, operands) & _REGISTERS
    has_value = len(written) == 1 and not _VALUED.isdisjoint((name, name.removesuffix("s")))
    moved = operands[-1] if has_value and name in _MOVES else ""
    bracket = next(filter(_is_bracket, operands), "")
    base, offsets, _ = memory_operand(bracket) if bracket else ("", (), False)
    effect = Effect(
        written,
        has_value,
        base=base if has_value else "",  # other loaded values are unknown, from any address
        sources=_sources(operands, moved) if has_value else frozenset(),
        takes=_takes_place(name, operands, written, base, offsets),
        bracket=bracket,
        writes_back=_writes_back(operands, bracket),
        copied=moved if moved in CORE else "",
    )
    if effect.takes or effect.writes_back or name in _BOUND or not written <= CORE:
        return effect
    return effect._replace(
        is_quiet=not name.startswith(STORES) and (not effect.base or effect.base in CORE),
        is_apart=_is_apart(name, base, has_value),
        sets=_set_number(name, operands, moved),
        literal=_distance(offsets) if (name, base) == ("ldr", "pc") else None,
    )


def _is_bracket(operand: str) -> bool:
    return operand.startswith("[")


def _writes_back(operands: tuple[str, ...], bracket: str) -> bool:
    """Whether a base register changes: `[r0, #4]!`, `[r0], #4`, `r0!`."""
    return bracket != "" and not _is_bracket(operands[-1]) or any("!" in word for word in operands)


def _takes_place(name: str, operands: tuple[str, ...], written: frozenset[str], base: str, offsets: tuple[str, ...]) -> bool:
    """Whether the instruction reads or stores the stack pointer as a value, or a register indexes the stack."""
    if base == "sp" and offsets and immediate(offsets[0]) is None:
        return True
    return "sp" not in written and not _STACK_POINTERS.isdisjoint(operands if name.startswith("str") else operands[1:])


def _is_apart(name: str, base: str, has_value: bool) -> bool:
    """Whether it accesses no slot of the frame, except for a load with an unknown result; `str` stores one word."""
    stores = name.startswith(STORES)
    if base == "sp":
        return not stores and not has_value
    return not stores or name.startswith("str")


def _sources(operands: tuple[str, ...], moved: str) -> frozenset[str]:
    """Returns the source registers: the value is known only if one of them is. None of them if the value is always known."""
    if moved.startswith("#"):
        return frozenset()
    read = operands[1:] if moved or len(operands) > 2 else operands
    words = {word for operand in read for word in operand.split()}
    return frozenset(words & CORE) if words.isdisjoint(("sp", "pc")) else frozenset()


def _set_number(name: str, operands: tuple[str, ...], moved: str) -> tuple[str, Value] | None:
    """Returns the register that a number is moved to, and that number; None for other instructions."""
    number = immediate(moved) if len(operands) == 2 and name.startswith("mov") else None
    return None if number is None else (operands[0], ("number", number & WORD))


def _distance(offsets: tuple[str, ...]) -> int | None:
    """Returns the number that is added to the base of a memory operand; None for a register."""
    return immediate(offsets[0]) if len(offsets) == 1 else None if offsets else 0
