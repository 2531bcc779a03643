# SPDX-License-Identifier: MIT
"""The exits of loops of Thumb code that test numbers which only shifts change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aidge_build.contract.thumb.instruction import Instruction, immediate
from aidge_build.prove.longest.shifts import rounds_by_exits
from aidge_build.prove.longest.thumb.operands import NUMBERS
from aidge_build.prove.longest.thumb.operations import destinations

_SHIFTS = ("lsl", "lsr", "asr")
_COMPARISONS = ("cmp", "cmn", "tst", "teq", "cbz", "cbnz")
_KEEPING_FLAGS = ("mls", "vmls", "bcs", "bhs", "bls", "bvs")  # although their names end in s
_BITS = 32
_Named = tuple[Instruction, str]  # with its name without the condition


def most_rounds(head: int, body: Mapping[int, Sequence[_Named]], successors: Mapping[int, Sequence[int]]) -> int | None:
    """Returns how often a loop leads back to its start at most; None if its blocks (`body`, by address) do not show it."""

    def exits(block: int, always: set[int]) -> tuple[int | None, bool]:
        asking = _asking(block, body, successors)
        if asking is None:
            return None, False
        return _bits(asking, body[block][-1][0].mnemonic, body, always), _ends_at_zero(asking, body[block][-1], body)

    return rounds_by_exits(head, body, successors, exits)


def _asking(block: int, body: Mapping[int, Sequence[_Named]], successors: Mapping[int, Sequence[int]]) -> _Named | None:
    """Returns the instruction that sets the flags for the branch at the end of a block; None if it is not certain which one
    does."""
    is_own = any(_sets_flags(name) for _, name in body[block])
    if not is_own and any(sum(to in body for to in successors[one]) > 1 for one in body):
        return None
    found = [one for start in sorted(body) if start <= block for one in body[start] if _sets_flags(one[1])]
    return found[-1] if found else None


def _bits(asking: _Named, branch: str, body: Mapping[int, Sequence[_Named]], always: set[int]) -> int | None:
    """Returns after how many shifts of its source registers an instruction always sets the same flags; None if anything else
    changes these registers. A shift under the condition that continues the loop (`branch`) also runs in each iteration."""
    changed: dict[str, int] = {}
    asked = set(_sources(*asking))
    carried = _carried(body)
    while True:
        before = len(asked)
        for start, one, name, word in _changes(asked, body):
            is_met = one.mnemonic in (name, f"{name}{branch[1:]}")
            if start not in always or not is_met or not _is_shift(one, name):
                return None
            changed[word] = _BITS if changed.get(word) == _BITS else _needed(word, asking, name)
        asked |= carried
        if len(asked) == before:
            return sum(changed.values()) or None


def _carried(body: Mapping[int, Sequence[_Named]]) -> set[str]:
    """Returns the registers from which the carry moves a bit into another register."""
    named = [one for instructions in body.values() for one in instructions]
    if not any(name.removesuffix("s") == "adc" for _, name in named):
        return set()
    return {word for one in named if _shifts_out(*one) for word in _sources(*one)}


def _changes(asked: set[str], body: Mapping[int, Sequence[_Named]]) -> Iterator[tuple[int, Instruction, str, str]]:
    """Yields the instructions that write the registers in `asked`, each with its block, its name, and the register."""
    for start, instructions in body.items():
        for one, name in instructions:
            for word in destinations(one, name) & asked:
                yield start, one, name, word


def _needed(word: str, asking: _Named, shift: str) -> int:
    """Returns after how many shifts the bits that an instruction tests no longer change: fewer than 32 for a left shift and a
    test of low bits."""
    instruction, name = asking
    mask = immediate(instruction.operands[-1]) if name == "tst" and instruction.operands[0] == word else None
    return mask.bit_length() if mask and shift.startswith(("lsl", "add", "adc")) else _BITS


def _ends_at_zero(asking: _Named, last: _Named, body: Mapping[int, Sequence[_Named]]) -> bool:
    """Whether the loop ends when the result of the shift is zero."""
    instruction, name = asking
    if not name.startswith(("lsl", "lsr")) or not _is_shift(instruction, name):
        return False
    branch = last[0]
    return (branch.mnemonic == "bne" and branch.target in body) or (branch.mnemonic == "beq" and branch.target not in body)


def _shifts_out(instruction: Instruction, name: str) -> bool:
    return name.endswith("s") and _is_shift(instruction, name)


def _sets_flags(name: str) -> bool:
    return name in _COMPARISONS or name.endswith("s") and name not in _KEEPING_FLAGS


def _sources(instruction: Instruction, name: str) -> list[str]:
    operands = instruction.operands
    named = operands if name in _COMPARISONS or len(operands) == 2 else operands[1:]
    return [word for operand in named for word in operand.split() if word in NUMBERS]


def _is_shift(instruction: Instruction, name: str) -> bool:
    """Whether the instruction shifts a register in place, with or without a carry from another register."""
    bare = name.removesuffix("s")
    target, *sources = instruction.operands
    if bare in ("add", "adc"):
        return {*sources} == {target}
    if bare not in (*_SHIFTS, "mov"):
        return False
    *named, amount = sources
    if bare == "mov":
        bare, _, amount = amount.partition(" ")
    return bare in _SHIFTS and bool(immediate(amount)) and {*named} <= {target}
