# SPDX-License-Identifier: MIT
"""The functions that expand packed constants: for each kind of packed words, C expressions that hold for a word and for a vector
of words alike."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.plan.packed_words import TABLE, UNITS
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Expansion:
    """N_expand_<name>: `expression` is a word of the array, in the plane of the variable `plane`, from a word of a unit (`word`)
    and perhaps a second one, `third`, whose place is stated. A plane reads the words from `first` on; the units of a turn have
    `words` words."""

    name: str
    comment: str
    planes: int
    expression: str
    first: str = "from"
    third: str = ""
    words: str = "units"

    @property
    def has_table(self) -> bool:
        """Whether the list begins with the bytes of a table."""
        return self.name == TABLE


def expansions_of(program: Program) -> tuple[Expansion, ...]:
    """Returns the functions that layers call."""
    copies = [layer.copied.copy for layer in program.layers if layer.copied]
    return tuple(map(expansion, sorted({array.packed.kind for copy in copies for array in copy.arrays if array.packed})))


def expansion(kind: str) -> Expansion:
    """Returns the function for a kind of packed words."""
    planes = UNITS[kind].narrow
    if kind == TABLE:
        return Expansion(kind, "bytes of a table by 4 bits each", planes, _from_table())
    bits = int(kind)
    comment = f"weights of {kind} bit{'s' * (bits > 1)}"
    if bits == 3:
        field = f"({_field('word', 2, '2u * (plane & 3u)')} | ({_field('third', 1, 'plane')} << 2))"
        place = "(2u - (plane >> 2)) * units"
        return Expansion(kind, comment, planes, _byte_of(field), "&from[(plane >> 2) * units]", place, "3u * units")
    if bits == 1:
        return Expansion(kind, comment, planes, f"(({_field('word', 1, 'plane')} * 255u) & flip) ^ low")
    return Expansion(kind, comment, planes, _byte_of(_field("word", bits, f"{bits}u * plane")))


def _field(word: str, bits: int, shift: str) -> str:
    """Returns the fields of a plane: the low bits of each byte."""
    mask = f"{(1 << bits) - 1:02x}" * 4
    return f"(({word} >> {f'({shift})' if ' ' in shift else shift}) & 0x{mask}u)"


def _byte_of(field: str) -> str:
    """Returns the bytes of fields: no carry leaves a byte."""
    return f"({field} + low) ^ flip"


def _from_table() -> str:
    fields = [f"table[(word >> ({8 * byte}u + (4u * plane))) & 15u]" for byte in range(4)]
    first, *others = fields
    return " | ".join([first, *(f"((uint32_t){one} << {8 * number})" for number, one in enumerate(others, 1))])
