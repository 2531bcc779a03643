# SPDX-License-Identifier: MIT
"""RISC-V's names of instruction sets, as `-march` takes them: `rv32imac_zba`, `rv32i2p1_m2p0`, `rv32gc`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"rv(32|64|128)([a-z0-9_]+)")
_LONG, _VERSION = "zsx", r"\d+(?:p\d+)?"  # the first letters of extensions with long names, and the version after a name
_LETTER = re.compile(rf"([a-z])(?:{_VERSION})?")
_BASES = frozenset("ie")

# Names that stand for others, and extensions that need others: RISC-V ISA manual, volume I, "ISA Extension Naming Conventions",
# "Zc*", "Cryptography Extensions", and "Vector Extensions for Embedded Processors".
_STANDS_FOR = {"g": frozenset("imafd"), "b": frozenset({"zba", "zbb", "zbs"}), "zce": frozenset({"zcb", "zcmp", "zcmt"})}
_NEEDS = {
    "m": {"zmmul"},
    "d": {"f"},
    "zcb": {"zca"},
    "zcmp": {"zca"},
    "zcmt": {"zca"},
    "zk": {"zbkb"},
    "zkn": {"zbkb"},
    "zks": {"zbkb"},
    "v": {"zve64d", "zvl128b"},
    "zve64d": {"zve64f", "d"},
    "zve64f": {"zve64x", "zve32f"},
    "zve64x": {"zve32x", "zvl64b"},
    "zve32f": {"zve32x", "f"},
    "zve32x": {"zvl32b"},
    **{f"zvl{2 * bits}b": {f"zvl{bits}b"} for bits in (32, 64, 128, 256, 512)},
}
# Parts of I until 2019, so that names of one core are written with and without them.
_NOT_COMPARED = {"zicsr", "zifencei"}


@dataclass(frozen=True)
class InstructionSet:
    """An instruction set: the bits of its registers, and its base (`i` or `e`) with all extensions, without versions."""

    bits: int
    extensions: frozenset[str]

    def contains(self, other: InstructionSet) -> bool:
        """Whether it has the registers of `other` and all of its instructions."""
        same = self.bits == other.bits and self.extensions & _BASES == other.extensions & _BASES
        return same and self.extensions >= other.extensions


def instruction_set(name: str) -> InstructionSet | None:
    """Returns the instruction set of a name, in which order and versions do not matter; None if it is no name of RISC-V."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    named: set[str] = set()
    for part in found[2].split("_"):
        named |= _names_in(part)
    for short in named & _STANDS_FOR.keys():
        named = named - {short} | _STANDS_FOR[short]
    while (needed := named.union(*(_NEEDS.get(extension, ()) for extension in named))) != named:
        named = needed
    if "c" in named:  # C is the compressed instructions of all that there is
        named = named - {"c"} | {"zca"} | {f"zc{floats}" for floats in named & {"f", "d"}}
    return InstructionSet(int(found[1]), frozenset(named - _NOT_COMPARED)) if len(named & _BASES) == 1 else None


def _names_in(part: str) -> set[str]:
    """Returns the extensions between two underscores: letters, after which one long name may follow."""
    long = next((at for at, letter in enumerate(part) if letter in _LONG), len(part))
    letters = {found[1] for found in _LETTER.finditer(part[:long])}
    return letters | ({re.sub(f"{_VERSION}$", "", part[long:])} if long < len(part) else set())
