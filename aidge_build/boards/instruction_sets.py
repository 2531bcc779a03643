# SPDX-License-Identifier: MIT
"""RISC-V's names of instruction sets, as `-march` takes them: `rv32imac_zba`, `rv32i2p1_m2p0`, `rv32gc`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_NAME = re.compile(r"rv(32|64|128)([a-z0-9_]+)")
_LONG, _VERSION = "zsx", r"\d+(?:p\d+)?"  # the first letters of extensions with long names, and the version after a name
_LETTER = re.compile(rf"([a-z])(?:{_VERSION})?")
_BASES = frozenset("ie")
_FAMILIES = ("s", "x", "zvl")  # how names of extensions for privileged code, of vendors, and of lengths of vectors begin

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
# The other ratified extensions for programs (RISC-V ISA manual, volume I, 2025): no kernel was made for them.
_WITHOUT_KERNELS = frozenset(
    """
    q h zic64b zicbom zicbop zicboz ziccamoa ziccif zicclsm ziccrse zicfilp zicfiss zicntr zicond zicsr zifencei zihintntl
    zihintpause zihpm zilsd zimop za64rs za128rs zaamo zabha zacas zalasr zalrsc zama16b zawrs zfa zfbfmin zfh zfhmin zfinx
    zdinx zhinx zhinxmin zbc zbkc zbkx zclsd zcmop zknd zkne zknh zkr zksed zksh zkt ztso zvbb zvbc zvfbfmin zvfbfwma zvfh
    zvfhmin zvkb zvkg zvkn zvknc zvkned zvkng zvknha zvknhb zvks zvksc zvksed zvksg zvksh zvkt
    """.split()
)
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

    @property
    def with_16_registers(self) -> InstructionSet:
        """The same instructions with the base `e`."""
        return replace(self, extensions=self.extensions - _BASES | {"e"})


def instruction_set(name: str) -> InstructionSet | None:
    """Returns the instruction set of a name, in which order and versions do not matter; None if it is no name of RISC-V."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    named = _names_of(found[2])
    for short in named & _STANDS_FOR.keys():
        named = named - {short} | _STANDS_FOR[short]
    while (needed := named.union(*(_NEEDS.get(extension, ()) for extension in named))) != named:
        named = needed
    if "c" in named:  # C is the compressed instructions of all that there is
        named = named - {"c"} | {"zca"} | {f"zc{floats}" for floats in named & {"f", "d"}}
    return InstructionSet(int(found[1]), frozenset(named - _NOT_COMPARED)) if len(named & _BASES) == 1 else None


def unknown_extensions(name: str) -> list[str]:
    """Returns the extensions in a name that are neither ratified nor of one of `_FAMILIES`; [] if it is no name of RISC-V."""
    found = _NAME.fullmatch(name)
    known = _WITHOUT_KERNELS.union("ieac", _STANDS_FOR, *_STANDS_FOR.values(), _NEEDS, *_NEEDS.values(), {"zcd", "zcf"})
    return sorted(one for one in (_names_of(found[2]) if found else ()) if one not in known and not one.startswith(_FAMILIES))


def _names_of(text: str) -> set[str]:
    return set().union(*map(_names_in, text.split("_")))


def _names_in(part: str) -> set[str]:
    """Returns the extensions between two underscores: letters, after which one long name may follow."""
    long = next((at for at, letter in enumerate(part) if letter in _LONG), len(part))
    letters = {found[1] for found in _LETTER.finditer(part[:long])}
    return letters | ({re.sub(f"{_VERSION}$", "", part[long:])} if long < len(part) else set())
