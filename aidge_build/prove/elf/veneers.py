# SPDX-License-Identifier: MIT
"""The targets of veneers: the few instructions that linkers put between a branch and a function that it cannot reach."""

from __future__ import annotations

from collections.abc import Callable
from struct import unpack

from aidge_build.prove.elf.relocations import FIELDS, signed

ReadBytes = Callable[[int, int], bytes]
_THM_JUMP24, _THM_MOVW = 30, 47
_MOST_HOPS = 4
_BX_IP, _NOP = 0x4760, (0x46C0, 0xBF00)
_EVEN = 0xFFFFFFFE


def reached(address: int, read: ReadBytes) -> tuple[int, ...]:
    """Returns the targets that a branch to `address` reaches through veneers, one after the other; () without a veneer."""
    places: list[int] = []
    here = _one_hop(address, read)
    while here is not None and len(places) < _MOST_HOPS:
        places.append(here)
        here = _one_hop(here, read)
    return tuple(places)


def branch_target(address: int, code: bytes) -> int | None:
    """Returns the target of `b.w`; None for other instructions."""
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    branch = FIELDS[_THM_JUMP24]
    if first & 0xF800 != 0xF000 or second & 0xD000 != 0x9000:
        return None
    return address + 4 + signed(branch.found(first | second << 16), branch.bits)


def _one_hop(address: int, read: ReadBytes) -> int | None:
    """Returns the target of the veneer at `address`; None for code that is no known veneer."""
    code = read(address, 16).ljust(16, b"\0")
    halves = [*unpack("<8H", code)]
    first, second = halves[0], halves[1]
    target = branch_target(address, code)
    if target is not None:
        return target
    if (first, second) == (0xE97F, 0xE97F):  # sg, of a call from the non-secure state
        return address + 4
    if (first, second) in ((0xF85F, 0xF000), (0xF8DF, 0xF000)):  # ldr.w pc, [pc, #0]
        return _word(read, (address + 4) & ~3)
    if first == 0xB401:  # push {r0}; ldr r0, [pc, #8]; mov ip, r0; pop {r0}; bx ip; nop; .word
        return _short_thumb(halves, address, read)
    if first == 0xB403:  # push {r0, r1}; ldr r0, [pc, #4]; str r0, [sp, #4]; pop {r0, pc}; .word
        return _word(read, address + 8) if halves[1:4] == [0x4801, 0x9001, 0xBD01] else None
    return _by_halves(halves, address)


def _short_thumb(halves: list[int], address: int, read: ReadBytes) -> int | None:
    if halves[1:5] == [0x4802, 0x4684, 0xBC01, _BX_IP] and halves[5] in _NOP:
        return _word(read, address + 12)
    return None


def _by_halves(halves: list[int], address: int) -> int | None:
    """Returns the target of `movw ip, ...; movt ip, ...; bx ip`, or of the same with `add ip, pc` before `bx ip`; None for other
    code."""
    lower, upper = (halves[at] | halves[at + 1] << 16 for at in (0, 2))
    opcodes = [(word & ~FIELDS[_THM_MOVW].mask) for word in (lower, upper)]
    if opcodes != [0x0C00F240, 0x0C00F2C0]:
        return None
    number = FIELDS[_THM_MOVW].found(lower) | FIELDS[_THM_MOVW].found(upper) << 16
    if halves[4] == _BX_IP:
        return number & _EVEN
    if halves[4:6] == [0x44FC, _BX_IP]:
        return (number + address + 12) & _EVEN
    return None


def _word(read: ReadBytes, address: int) -> int | None:
    """Returns the address of code in a word, without the Thumb bit."""
    stored = read(address, 4)
    return int.from_bytes(stored, "little") & _EVEN if len(stored) == 4 else None
