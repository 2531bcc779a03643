# SPDX-License-Identifier: MIT
"""Reads relaxed code for RISC-V: the linker replaces instructions by shorter ones, or takes them out ("RISC-V ELF psABI" 1.0, 9).

The bytes of the program say which form the linker chose. A form counts only if it keeps every bit that is no address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aidge_build.prove.elf.linked_object import Placement
from aidge_build.prove.elf.objects import Part
from aidge_build.prove.elf.riscv_relocations import (
    ALIGN,
    CALLS,
    FIELDS,
    GOT_HI20,
    HI20,
    LOW_PARTS,
    PCREL_HI20,
    RELAX,
    TPREL_ADD,
    TPREL_HI20,
    operation_of,
)

# The number in an instruction counts from one of these; another instruction has the rest of an upper or lower part of an address.
FROM_PC, FROM_GP, FROM_ZERO = "pc", "gp", "zero"
UPPER_FROM_PC, UPPER_FROM_ZERO, LOWER, GONE = "upper of pc", "upper", "lower", "gone"

_ZERO, _GP, _TP = 0, 3, 4
_BASE = 0x000F8000  # the bits of the register that a load, a store or addi adds to its number
_AUIPC_OR_LUI = 0x20  # the bit that differs
_NOPS = (b"\x13\0\0\0", b"\x01\0")
# The bytes that each form may have, the unchanged one first.
_SIZES = {
    **dict.fromkeys(CALLS, (8, 4, 2)),
    HI20: (4, 2, 0),
    **dict.fromkeys((PCREL_HI20, TPREL_HI20, TPREL_ADD), (4, 0)),
    **dict.fromkeys(LOW_PARTS, (4,)),
}
# The registers that the linker may make the base of a load, a store or addi; the numbers of variables of a thread count from tp.
_BASES = {_ZERO: FROM_ZERO, _GP: FROM_GP}
_BASES_OF_THREAD = {_TP: FROM_ZERO}


class Form(NamedTuple):
    """An instruction, or the two of a call, after the link: `number` counts from `base`."""

    base: str
    number: int = 0


def form_of(kind: int, mine: bytes, theirs: bytes) -> Form | None:
    """Returns the form that the bytes of the program have of the object's bytes; None if they are other instructions."""
    if len(mine) != FIELDS[kind].width:
        return None
    if kind in CALLS:
        return _call_of(kind, mine, theirs)
    return _lower_of(kind, mine, theirs) if kind in LOW_PARTS else _upper_of(kind, mine, theirs)


def _number(content: bytes) -> int:
    return int.from_bytes(content, "little")


def _differ(kind: int, mine: bytes, theirs: bytes) -> int | None:
    """Returns the bits outside of the field that differ; None if the lengths do."""
    return (_number(mine) ^ _number(theirs)) & ~FIELDS[kind].mask if len(mine) == len(theirs) else None


def _found(kind: int, theirs: bytes) -> int:
    read = FIELDS[kind].read
    return read(_number(theirs)) if read else 0


def _call_of(kind: int, mine: bytes, theirs: bytes) -> Form | None:
    differing = _differ(kind, mine, theirs)
    if differing == 0:
        return Form(FROM_PC, _found(kind, theirs))
    if differing is not None:  # to an undefined weak function: auipc adds 0, and jalr counts from zero
        jump = operation_of(_number(theirs[4:]), 4)
        only_base = differing & ~(_BASE << 32) == 0 and jump.first == "zero"
        return Form(FROM_ZERO, jump.number) if only_base and not _number(theirs[:4]) >> 12 else None
    target = operation_of(_number(mine[4:]), 4).target
    jump = operation_of(_number(theirs), len(theirs)) if theirs else None
    if jump is None or jump.target != target:
        return None
    if jump.name == "jal":
        return Form(FROM_PC, jump.number)
    return Form(FROM_ZERO, jump.number) if jump.name == "jalr" and jump.first == "zero" and len(theirs) == 4 else None


def _upper_of(kind: int, mine: bytes, theirs: bytes) -> Form | None:
    if not theirs:
        return Form(GONE)
    differing = _differ(kind, mine, theirs)
    if differing == 0:
        return Form(UPPER_FROM_PC if kind in (GOT_HI20, PCREL_HI20) else UPPER_FROM_ZERO, _found(kind, theirs))
    if differing == _AUIPC_OR_LUI and kind == PCREL_HI20:
        return Form(UPPER_FROM_ZERO, _found(kind, theirs))
    short = operation_of(_number(theirs), 2) if len(theirs) == 2 else None
    is_shorter = short is not None and (short.name, short.target) == ("lui", operation_of(_number(mine), 4).target)
    return Form(UPPER_FROM_ZERO, short.number) if short and is_shorter else None


def _lower_of(kind: int, mine: bytes, theirs: bytes) -> Form | None:
    differing = _differ(kind, mine, theirs)
    if differing is None or differing & ~_BASE:
        return None
    if not differing:
        return Form(LOWER, _found(kind, theirs))
    bases = _BASES_OF_THREAD if LOW_PARTS[kind] == TPREL_HI20 else _BASES
    base = bases.get(_number(theirs) >> 15 & 31)
    return Form(base, _found(kind, theirs)) if base else None


class Change(NamedTuple):
    """A relocation that may change the `width` bytes of its instructions: `sizes` are the bytes that they may become, the
    unchanged ones first; () for nops that align the next instruction."""

    offset: int
    kind: int
    width: int
    sizes: tuple[int, ...] = ()


def changes_of(part: Part) -> Iterator[Change]:
    """Yields the changes that relaxation may make to a part, in order."""
    relaxable = {one.offset for one in part.relocations if one.kind == RELAX}
    for one in part.relocations:
        sizes = _SIZES.get(one.kind)
        if sizes:
            yield Change(one.offset, one.kind, sizes[0], sizes if one.offset in relaxable else sizes[:1])
        elif one.kind == ALIGN and one.addend and one.addend > 0:
            yield Change(one.offset, one.kind, one.addend)


def relaxed(part: Part, changes: Sequence[Change], base: int, stored: bytes) -> Placement:
    """Returns the part as the program has it from `base` on. `stored` are the bytes of the program from there on.

    The content has the object's bytes for each known form, and all bits inverted for bytes that are no known form.
    """
    begins = {change.offset for change in changes}
    restored, steps, at, here = bytearray(), [(0, base)], 0, 0
    for change in changes:
        offset, width = change.offset, change.width
        if offset < at or offset + width > len(part.content):
            continue
        restored += stored[here : here + offset - at]
        here += offset - at
        mine = part.content[offset : offset + width]
        if change.kind == ALIGN:
            size = min(-(base + here) % (1 << width.bit_length()), width)
            is_known = _is_nops(stored[here : here + size])
        else:
            following = b"" if offset + width in begins else part.content[offset + width :][:2]
            size = _size(change, mine, following, stored[here : here + width + 2])
            is_known = form_of(change.kind, mine, stored[here : here + size]) is not None
        if here + size > len(stored):
            break
        restored += mine if is_known else bytes(one ^ 0xFF for one in mine)
        at, here = offset + width, here + size
        steps.append((at, base + here))
    restored += stored[here : here + part.size_bytes - at]
    return Placement(part, bytes(restored), tuple(steps))


def most_removed(changes: Sequence[Change], before: int) -> int:
    """Returns the most bytes that the linker may take out before an offset of the part."""
    return sum(change.width - min(change.sizes, default=0) for change in changes if change.offset < before)


def _size(change: Change, mine: bytes, following: bytes, stored: bytes) -> int:
    """Returns the bytes that the program has for the instructions: of a known form, and otherwise as many that the next
    instruction is the `following` one of the object, b"" if the linker may have changed that, too."""
    for size in change.sizes:
        if size and form_of(change.kind, mine, stored[:size]):
            return size
    likely = [size for size in change.sizes if not following or _may_equal(following, stored[size : size + 2])]
    return min(likely, default=change.width)


def _may_equal(mine: bytes, theirs: bytes) -> bool:
    """Whether two instructions have one operation, as far as their first two bytes tell."""
    first, second = _number(mine), _number(theirs)
    return (first ^ second) & (0x7F if first & 3 == 3 else 0xE003) == 0


def _is_nops(content: bytes) -> bool:
    while content:
        length = next((len(nop) for nop in _NOPS if content.startswith(nop)), 0)
        if not length:
            return False
        content = content[length:]
    return True
