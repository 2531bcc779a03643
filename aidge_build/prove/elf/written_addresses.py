# SPDX-License-Identifier: MIT
"""Whether code writes an address to a register, by instructions that hold the whole address between them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from aidge_build.contract.riscv.instruction import Instruction, Instructions
from aidge_build.prove.elf.image import Image, Section

_MOVW, _MOVT = 0xF240, 0xF2C0
_REACH = 32  # bytes between the two instructions
_WORD = 0xFFFFFFFF


def writes_address(image: Image, address: int) -> bool:
    """Whether the program has two Thumb instructions, movw and movt, that write an address to one register, or RISC-V's lui or
    auipc with an addi, or an addi that counts from gp."""
    sections = [section for section in image.sections if section.executable]
    if image.machine == "ARM":
        pairs = _thumb_pairs(address)
        return any(pairs.search(section.content) for section in sections)
    symbol = image.symbol("__global_pointer$")
    is_read = image.machine == "RISCV" and not image.has_64_bits
    return is_read and any(address in _riscv_numbers(section, symbol.address if symbol else 0) for section in sections)


def _thumb_pairs(address: int) -> re.Pattern[bytes]:
    pairs = b"|".join(
        re.escape(_move(_MOVW, address & 0xFFFF, register))
        + b".{0,%d}?" % _REACH
        + re.escape(_move(_MOVT, address >> 16, register))
        for register in range(15)
    )
    return re.compile(pairs, re.DOTALL)


def _move(opcode: int, number: int, register: int) -> bytes:
    """Returns the Thumb instruction (movw or movt) that writes 16 bits to a register."""
    first = opcode | (number >> 11 & 1) << 10 | number >> 12
    second = (number >> 8 & 7) << 12 | register << 8 | number & 0xFF
    return first.to_bytes(2, "little") + second.to_bytes(2, "little")


def _riscv_numbers(section: Section, global_pointer: int) -> Iterator[int]:
    """Yields the numbers that instructions at any even address write."""
    code = Instructions(((section.address, section.content),))
    for one in code.values():
        name, number = one.operation.name, one.operation.number
        if name == "addi" and one.operation.first == "gp":
            yield global_pointer + number & _WORD
        elif name in ("lui", "auipc"):
            upper = number + (one.address if name == "auipc" else 0)
            yield from (upper + lower & _WORD for lower in (0, *_added(code, one)))


def _added(code: Instructions, upper: Instruction) -> Iterator[int]:
    """Yields the numbers that later instructions add to the register of an upper part."""
    for address in range(upper.next, upper.next + _REACH, 2):
        later = code.get(address)
        if later and (later.operation.name, later.operation.first) == ("addi", upper.operation.target):
            yield later.operation.number
