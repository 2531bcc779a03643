# SPDX-License-Identifier: MIT
"""The targets of a `switch`: the jump tables that gcc emits, read from the code."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from aidge_build.contract.thumb.instruction import Instruction
from aidge_build.prove.elf.frames import Refusal

# libgcc's switches for Cortex-M0: the table follows the call; (bytes of an entry, signed, bytes for each unit of an entry).
THUMB1_SWITCHES = {
    "__gnu_thumb1_case_uqi": (1, False, 2),
    "__gnu_thumb1_case_sqi": (1, True, 2),
    "__gnu_thumb1_case_uhi": (2, False, 2),
    "__gnu_thumb1_case_shi": (2, True, 2),
    "__gnu_thumb1_case_si": (4, True, 1),
}
_LIMIT, _WORD = 4096, 0xFFFFFFFF

ReadConstant = Callable[[int, int], int | None]


def offsets(
    table: int, width: int, signed: bool, scale: int, code: Mapping[int, Instruction], read: ReadConstant, count: int = 0
) -> tuple[int, ...]:
    """Returns the targets of a table of distances in the code at `table` with at least `count` entries.

    All its entries lead to instructions, so the table ends at the first entry that does not: at the code after it, or at
    constants.
    """
    targets: set[int] = set()
    for index in range(_LIMIT):
        place = table + index * width
        if place in code:
            break
        entry = read(place, width)
        if entry is None:
            break
        if signed and entry >> (8 * width - 1):
            entry -= 1 << 8 * width
        target = table + entry * scale
        if target not in code:
            if index < count:
                raise Refusal(f"the jump table at 0x{table:x} leads to 0x{target:x}, where no instruction is")
            break
        targets.add(target)
    if not targets:
        raise Refusal(f"the jump table at 0x{table:x} cannot be read")
    return tuple(sorted(targets))


def words(
    table: int,
    is_inside: Callable[[int], bool],
    code: Container[int],
    read: ReadConstant,
    placed: Container[int] | None = None,
) -> tuple[int, ...]:
    """Returns the targets of a table of addresses: all words from `table` on that lead to instructions of the function.

    It ends where an instruction is known to begin: at one of `placed`, by default of `code`."""
    targets, known = set(), code if placed is None else placed
    for place in range(table, table + 4 * _LIMIT, 4):
        entry = read(place, 4)
        if place in known or entry is None or entry & ~1 not in code or not is_inside(entry & ~1):
            break
        targets.add(entry & ~1)
    return tuple(sorted(targets))


def distances(table: int, is_inside: Callable[[int], bool], read: ReadConstant) -> tuple[int, ...]:
    """Returns the targets of a table of distances from its begin: all words from `table` on that lead into the function."""
    targets = set()
    for place in range(table, table + 4 * _LIMIT, 4):
        entry = read(place, 4)
        if entry is None or not is_inside(table + entry & _WORD):
            break
        targets.add(table + entry & _WORD)
    if not targets:
        raise Refusal(f"the jump table at 0x{table:x} cannot be read")
    return tuple(sorted(targets))
