# SPDX-License-Identifier: MIT
"""The fields that a linker fills in (ELF for the Arm Architecture, IHI 0044, 4.6): their bits, and the number in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Field:
    """A field of `width` bytes: `mask` are its bits in the little-endian number at its place; `read` returns the number in these
    bits.

    The number is (symbol + addend, with bit 0 of a Thumb function if `has_thumb`) - (place, if `is_relative`), shifted right by
    `shift` and cut to its lowest `bits` bits. `is_branch`: the linker may let it reach its symbol through a veneer. Fields of one
    `group` together hold a number.
    """

    name: str
    width: int
    mask: int
    read: Callable[[int], int] | None = None
    bits: int = 32
    shift: int = 0
    is_relative: bool = False
    has_thumb: bool = False
    is_branch: bool = False
    group: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the field alone gives its target: all fields except for small data."""
        return self.bits >= 31 or self.is_relative

    def found(self, word: int) -> int:
        """Returns the number in the field of a linked program."""
        return self.read(word) & ((1 << self.bits) - 1) if self.read else 0

    def number(self, place: int, symbol: int, thumb: int, addend: int) -> int:
        """Returns the number that the linker writes for a symbol."""
        total = symbol + addend
        if self.has_thumb:
            total |= thumb
        if self.is_relative:
            total -= place
        return (total & _WORD) >> self.shift & ((1 << self.bits) - 1)


def signed(number: int, bits: int) -> int:
    """Returns a two's complement number of `bits` bits as a signed number."""
    return number - (1 << bits) if number >> (bits - 1) else number


def _halves(word: int) -> tuple[int, int]:
    return word & 0xFFFF, word >> 16


def _word(word: int) -> int:
    return word


def _far_branch(word: int) -> int:
    first, second = _halves(word)
    sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    i1, i2 = 1 - (j1 ^ sign), 1 - (j2 ^ sign)
    return sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1


def _conditional_branch(word: int) -> int:
    first, second = _halves(word)
    sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    return sign << 20 | j2 << 19 | j1 << 18 | (first & 0x3F) << 12 | (second & 0x7FF) << 1


def _move(word: int) -> int:
    first, second = _halves(word)
    return (first & 15) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF


def _near_branch(word: int) -> int:
    return (word & 0x7FF) << 1


def _nearest_branch(word: int) -> int:
    return (word & 0xFF) << 1


def _byte(word: int) -> int:
    return word & 0xFF


def _branch(name: str, width: int, mask: int, read: Callable[[int], int], bits: int) -> Field:
    return Field(name, width, mask, read, bits, is_relative=True, is_branch=True)


def _half(name: str, shift: int, is_relative: bool) -> Field:
    return Field(name, 4, 0x70FF040F, _move, 16, shift, is_relative, has_thumb=not shift, group=f"move {is_relative}")


FIELDS = {
    # V4BX, NONE: nothing is filled in on these cores.
    0: Field("NONE", 0, 0),
    40: Field("V4BX", 0, 0),
    2: Field("ABS32", 4, _WORD, _word, has_thumb=True),
    38: Field("TARGET1", 4, _WORD, _word, has_thumb=True),
    55: Field("ABS32_NOI", 4, _WORD, _word),
    3: Field("REL32", 4, _WORD, _word, is_relative=True, has_thumb=True),
    56: Field("REL32_NOI", 4, _WORD, _word, is_relative=True),
    42: Field("PREL31", 4, 0x7FFFFFFF, _word, bits=31, is_relative=True, has_thumb=True),
    5: Field("ABS16", 2, 0xFFFF, _word, bits=16),
    8: Field("ABS8", 1, 0xFF, _word, bits=8),
    10: _branch("THM_CALL", 4, 0x2FFF07FF, _far_branch, 25),
    30: _branch("THM_JUMP24", 4, 0x2FFF07FF, _far_branch, 25),
    51: _branch("THM_JUMP19", 4, 0x2FFF043F, _conditional_branch, 21),
    102: _branch("THM_JUMP11", 2, 0x7FF, _near_branch, 12),
    103: _branch("THM_JUMP8", 2, 0xFF, _nearest_branch, 9),
    47: _half("THM_MOVW_ABS_NC", 0, False),
    48: _half("THM_MOVT_ABS", 16, False),
    49: _half("THM_MOVW_PREL_NC", 0, True),
    50: _half("THM_MOVT_PREL", 16, True),
    **{132 + at: Field(f"THM_ALU_ABS_G{at}", 2, 0xFF, _byte, 8, 8 * at, has_thumb=not at, group="bytes") for at in range(4)},
    # Only their bits are known here: their target is not compared.
    41: Field("TARGET2", 4, _WORD),
    52: Field("THM_JUMP6", 2, 0x2F8),
    11: Field("THM_PC8", 2, 0xFF),
    53: Field("THM_ALU_PREL_11_0", 4, 0x70FF04A0),
    54: Field("THM_PC12", 4, 0x0FFF0080),
    26: Field("GOT_BREL", 4, _WORD),
    96: Field("GOT_PREL", 4, _WORD),
    24: Field("GOTOFF32", 4, _WORD),
    25: Field("BASE_PREL", 4, _WORD),
    9: Field("SBREL32", 4, _WORD),
}


def addend_of(field: Field, word: int) -> int:
    """Returns the addend in the field of an object."""
    return signed(field.found(word), field.bits)
