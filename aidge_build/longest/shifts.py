# SPDX-License-Identifier: MIT
"""Loops that shift numbers until a bit of them comes to a place, as those that normalize a number do."""

from __future__ import annotations

from collections.abc import Iterable

from aidge_build.elf.disassembly import Instruction, immediate
from aidge_build.longest.operands import NUMBERS
from aidge_build.longest.operations import destinations

_SHIFTS = ("lsl", "lsr", "asr")
_COMPARISONS = ("cmp", "cmn", "tst", "teq", "cbz", "cbnz")
_BITS = 32


def most_rounds(instructions: Iterable[tuple[Instruction, str]]) -> int | None:
    """How often a loop of a function that returns can come round at most; None where its instructions (with their names
    without conditions) do not say it.

    What its conditions ask for must change by shifts alone. Once for each bit of it, and nothing that they ask for changes any
    more: the loop would never end.
    """
    body = list(instructions)
    asked: dict[str, int] = {}
    for one, name in body:
        for word in _sources(one, name) if _sets_flags(name) else ():
            asked[word] = max(asked.get(word, 0), _asked_bits(one, name))
    changed: set[str] = set()
    for one, name in body:
        written = destinations(one, name) & asked.keys()
        if written and not _is_shift(one, name):
            return None
        changed |= written
        if not name.startswith("lsl"):
            asked |= dict.fromkeys(written, _BITS)
    return sum(asked[word] for word in changed) + 1 if changed else None


def _asked_bits(instruction: Instruction, name: str) -> int:
    """Behind so many shifts to the left the flags are always the same."""
    mask = immediate(instruction.operands[-1]) if name == "tst" else None
    return mask.bit_length() if mask else _BITS


def _sets_flags(name: str) -> bool:
    return name in _COMPARISONS or name.endswith("s") and name not in ("mls", "vmls")


def _sources(instruction: Instruction, name: str) -> list[str]:
    operands = instruction.operands
    named = operands if name in _COMPARISONS or len(operands) == 2 else operands[1:]
    return [word for operand in named for word in operand.split() if word in NUMBERS]


def _is_shift(instruction: Instruction, name: str) -> bool:
    """Whether it shifts a register into itself, with or without the bit that another one lost."""
    bare, operands = name.removesuffix("s"), instruction.operands
    target, sources = operands[0], operands[1:]
    if bare in ("add", "adc"):
        return set(sources) == {target}
    if bare == "mov" and len(sources) == 2:
        bare, _, amount = sources[1].partition(" ")
        sources = (sources[0], amount)
    if bare not in _SHIFTS or not sources:
        return False
    return (immediate(sources[-1]) or 0) > 0 and set(sources[:-1]) <= {target}
