# SPDX-License-Identifier: MIT
"""The exits of loops of RISC-V code that test numbers which only shifts change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.contract.riscv.instruction import Instruction
from aidge_build.contract.riscv.instruction import Operation as Encoded
from aidge_build.prove.elf.riscv_numbers import CONDITIONS
from aidge_build.prove.longest.shifts import rounds_by_exits

_SHIFTS, _LOGICAL = ("slli", "srli", "srai"), ("slli", "srli", "add")
_BITS = 32


def most_rounds(head: int, body: Mapping[int, Sequence[Instruction]], successors: Mapping[int, Sequence[int]]) -> int | None:
    """Returns how often a loop leads back to its start at most; None if its blocks (`body`, by address) do not show it."""
    if any(one.operation.name in ("jal", "jalr") and one.operation.target != "zero" for block in body.values() for one in block):
        return None  # a call may change the numbers, too

    def exits(block: int, always: set[int]) -> tuple[int | None, bool]:
        *_, branch = body[block]
        changes = _changes(branch.operation, body)
        if branch.operation.name not in CONDITIONS or not all(start in always and _is_shift(one) for start, one in changes):
            return None, False
        numbers = {one.target for _, one in changes}
        is_certain = block in always and _ends_at_zero(branch, changes, body)
        return _BITS * len(numbers) or None, is_certain

    return rounds_by_exits(head, body, successors, exits)


def _changes(branch: Encoded, body: Mapping[int, Sequence[Instruction]]) -> list[tuple[int, Encoded]]:
    """Returns what changes the numbers that a branch compares, each with its block."""
    asked = {branch.first, branch.second} - {"zero"}
    return [(start, one.operation) for start, block in body.items() for one in block if one.operation.target in asked]


def _is_shift(one: Encoded) -> bool:
    """Whether it shifts a register in place."""
    if one.name == "add":
        return one.first == one.second == one.target
    return one.name in _SHIFTS and one.first == one.target and one.number > 0


def _ends_at_zero(branch: Instruction, changes: Sequence[tuple[int, Encoded]], body: Mapping[int, Sequence[Instruction]]) -> bool:
    """Whether a branch leaves the loop when the only number that it compares, and that logical shifts alone change, is zero."""
    one = branch.operation
    leaves = one.name == ("bne" if branch.target in body else "beq")
    return leaves and one.second == "zero" and all(change.name in _LOGICAL for _, change in changes)
