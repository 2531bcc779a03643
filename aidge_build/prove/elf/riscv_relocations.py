# SPDX-License-Identifier: MIT
"""The fields that a linker fills in for RISC-V ("RISC-V ELF psABI" 1.0, 8.4): their bits, and the number in them."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.riscv.instruction import Operation, instruction_at
from aidge_build.prove.elf.relocations import Field, signed

CALL, CALL_PLT, GOT_HI20, PCREL_HI20, HI20, TPREL_HI20, TPREL_ADD, ALIGN, RELAX = 18, 19, 20, 23, 26, 29, 32, 43, 51
# The relocations with the lower bits of an address, by the relocation with the upper bits.
LOW_PARTS = {24: PCREL_HI20, 25: PCREL_HI20, 27: HI20, 28: HI20, 30: TPREL_HI20, 31: TPREL_HI20}
UPPER_PARTS = (GOT_HI20, 21, 22, PCREL_HI20)  # relocations that a lower part relative to pc may name
CALLS = (CALL, CALL_PLT)
# A field may be the sum of the symbol of the first and minus the symbol of the second relocation.
ADDED = {33: 8, 34: 16, 35: 32}  # to the number in the object, in bits
SET = {54: 8, 55: 16, 56: 32}
SUBTRACTED = {37: 8, 38: 16, 39: 32}

_WORD = 0xFFFFFFFF
_UPPER, _LOAD, _STORE = 0xFFFFF000, 0xFFF00000, 0xFE000F80


def operation_of(word: int, width: int) -> Operation:
    """Returns the instruction of these bytes."""
    read = instruction_at(0, word.to_bytes(width, "little"))
    return read.operation if read and read.size_bytes == width else Operation("")


def _plain(word: int) -> int:
    return word


def _in_instruction(width: int) -> Callable[[int], int]:
    return lambda word: operation_of(word, width).number


def _upper(word: int) -> int:
    return word & _UPPER


def _of_load(word: int) -> int:
    return signed(word >> 20, 12)


def _of_store(word: int) -> int:
    return signed(word >> 25 << 5 | word >> 7 & 31, 12)


def _call(words: int) -> int:
    return _upper(words & _WORD) + _of_load(words >> 32)


def _relative(name: str, width: int, mask: int, bits: int) -> Field:
    return Field(name, width, mask, _in_instruction(width), bits, is_relative=True)


def _number(name: str, bits: int, is_relative: bool = False) -> Field:
    return Field(name, bits // 8, (1 << bits) - 1, _plain, bits, is_relative=is_relative)


FIELDS = {
    0: Field("NONE", 0, 0),
    ALIGN: Field("ALIGN", 0, 0),
    RELAX: Field("RELAX", 0, 0),
    1: _number("32", 32),
    57: _number("32_PCREL", 32, is_relative=True),
    59: _number("PLT32", 32, is_relative=True),
    16: _relative("BRANCH", 4, _STORE, 13),
    17: _relative("JAL", 4, _UPPER, 21),
    44: _relative("RVC_BRANCH", 2, 0x1C7C, 9),
    45: _relative("RVC_JUMP", 2, 0x1FFC, 12),
    **{kind: Field(name, 8, _LOAD << 32 | _UPPER, _call) for kind, name in ((CALL, "CALL"), (CALL_PLT, "CALL_PLT"))},
    GOT_HI20: Field("GOT_HI20", 4, _UPPER, _upper),
    PCREL_HI20: Field("PCREL_HI20", 4, _UPPER, _upper),
    HI20: Field("HI20", 4, _UPPER, _upper),
    24: Field("PCREL_LO12_I", 4, _LOAD, _of_load),
    25: Field("PCREL_LO12_S", 4, _STORE, _of_store),
    27: Field("LO12_I", 4, _LOAD, _of_load),
    28: Field("LO12_S", 4, _STORE, _of_store),
    TPREL_HI20: Field("TPREL_HI20", 4, _UPPER, _upper),
    30: Field("TPREL_LO12_I", 4, _LOAD, _of_load),
    31: Field("TPREL_LO12_S", 4, _STORE, _of_store),
    TPREL_ADD: Field("TPREL_ADD", 4, 0),
    **{kind: _number(f"ADD{bits}", bits) for kind, bits in ADDED.items()},
    **{kind: _number(f"SUB{bits}", bits) for kind, bits in SUBTRACTED.items()},
    **{kind: _number(f"SET{bits}", bits) for kind, bits in SET.items()},
    # Only their bits are known here: their target is not compared.
    2: Field("64", 8, (1 << 64) - 1),
    36: Field("ADD64", 8, (1 << 64) - 1),
    40: Field("SUB64", 8, (1 << 64) - 1),
    52: Field("SUB6", 1, 0x3F),
    53: Field("SET6", 1, 0x3F),
    21: Field("TLS_GOT_HI20", 4, _UPPER),
    22: Field("TLS_GD_HI20", 4, _UPPER),
}
