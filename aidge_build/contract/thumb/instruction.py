# SPDX-License-Identifier: MIT
"""Thumb instructions as values, read from the text of `objdump -d`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

CONDITIONS = ("eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")

_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f]{4}(?: [0-9a-f]{4})?)[ \t]*\t(.+)$", re.MULTILINE)
_OPERAND = re.compile(r"(?:[^,[{]|\[[^]]*]|{[^}]*})+")
_REGISTER_RANGE = re.compile(r"([rsdq])(\d+)-[rsdq]?(\d+)")
_IMMEDIATE = re.compile(r"#(-?)(?:0x([0-9a-f]+)|(\d+))")
_ENCODED_CONDITIONS = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")
_SELECTIONS = ("csel", "csinc", "csinv", "csneg")
_KEPT = 1 << 16  # cached operands, enough for a large program
_ALIASES = {"fp": "r11", "sl": "r10", "sb": "r9", "ip": "r12", "r13": "sp", "r14": "lr", "r15": "pc"}


class Instruction(NamedTuple):
    """One instruction; `mnemonic` is without the width suffix (.n, .w), `operands` are split at the outer commas.

    `data_type` is the type of its elements (`f32` of `vadd.f32`), "" if it names none. In an IT block `mnemonic` still ends in
    the condition (`addgt`): only code that follows the block can tell `bls` from `bl` + `s`.
    """

    address: int
    size_bytes: int
    mnemonic: str
    operands: tuple[str, ...]
    data_type: str = ""

    @property
    def next(self) -> int:
        """The address of the next instruction."""
        return self.address + self.size_bytes

    @property
    def target(self) -> int | None:
        """The address that a branch names as its last operand."""
        return _address(self.operands[-1]) if self.operands else None


def read_disassembly(text: str) -> dict[int, Instruction]:
    """Returns the instructions by address, without the data between them (literal pools, jump tables)."""
    found: dict[int, Instruction] = {}
    read = cache(_said)  # most lines occur several times
    for address, code, line in _LINE.findall(text):
        said = read(line)
        if said is None:
            continue
        if line[0] in ";@<":
            said = _unknown_to_objdump(code) or ("<undefined>", said[1])
        place = int(address, 16)
        data_type = line.partition("\t")[0].partition(".")[2].strip() if line[0] == "v" else ""
        found[place] = Instruction(place, 4 if len(code) > 4 else 2, said[0], said[1], data_type)
    return found


def instruction_of_text(text: str) -> Instruction | None:
    """Returns the instruction that a line of assembly means, at address 0; None for data."""
    mnemonic, _, rest = text.partition(" ")
    said = _said(f"{mnemonic}\t{rest}")
    data_type = mnemonic.partition(".")[2] if mnemonic[0] == "v" else ""
    return None if said is None else Instruction(0, 4, *said, data_type)


def _said(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Returns the mnemonic and operands of a line; None for data."""
    mnemonic, _, rest = line.partition("\t")
    if mnemonic.startswith("."):
        return None
    said = rest.partition("@")[0].partition(";")[0].rstrip()  # without the comment
    words = _OPERAND.findall(said) if "[" in said or "{" in said else said.split(",") if said else []
    operands = tuple(map(_canonical, words))
    if "{}" in operands:  # a list of no registers: objdump prints it, and no manual says what a core does
        return "<undefined>", operands
    return mnemonic.partition(".")[0].strip(), operands


def _unknown_to_objdump(code: str) -> tuple[str, tuple[str, ...]] | None:
    """Returns an instruction of Armv8.1-M that GNU objdump 2.40 does not know, by the encodings of the manual (DDI 0553, C2.4).

    `csinc r4, r4, r4, ne`, csel, csinv and csneg with one register as both sources: 111010100101 Rn, 10 op Rd condition Rm. `lsll
    r4, r5, ip` and the other shifts of 64 bits by a register: 111010100101 RdaLo, Rm RdaHi 1 .0.0 1101. Neither has sp or pc as
    an operand; RdaHi 15 means a shift of 32 bits.
    """
    words = [int(word, 16) for word in code.split()]
    if len(words) != 2 or words[0] & 0xFFF0 != 0xEA50:
        return None
    first, (top, upper, middle, last) = words[0] & 15, (words[1] >> shift & 15 for shift in (12, 8, 4, 0))
    if last == 13:
        return _shift_by_register(first, top, upper, middle)
    if top >> 2 == 2 and upper not in (13, 15) and middle < len(_ENCODED_CONDITIONS) and first != 13:
        return _SELECTIONS[top & 3], (*_registers(upper, first, last), _ENCODED_CONDITIONS[middle])
    return None


def _shift_by_register(first: int, top: int, upper: int, middle: int) -> tuple[str, tuple[str, ...]] | None:
    """Returns `lsll`, or `uqrshl` for one word; bit 0 of `first` belongs to the operation."""
    halves = [first & 14, upper] if upper != 15 else [first]
    is_shift = upper & 1 and not middle & 5
    if not is_shift or {13, 15} & {top, first, *halves}:
        return None
    return "lsll" if len(halves) == 2 else "uqrshl", _registers(*halves, top)


def _registers(*numbers: int) -> tuple[str, ...]:
    return tuple(_canonical(f"r{number}") for number in numbers)


def _canonical(word: str) -> str:
    word = word.strip()
    return _ALIASES.get(word, word)


@lru_cache(_KEPT)
def _address(operand: str) -> int | None:
    try:
        return int(operand.partition(" <")[0], 16)
    except ValueError:
        return None


@lru_cache(_KEPT)
def register_list(operand: str) -> tuple[str, ...]:
    """Returns the registers of `{r4, r6-r8, lr}` in ascending order, which is their order in memory."""
    names: list[str] = []
    for word in operand.strip("{}").split(","):
        span = _REGISTER_RANGE.fullmatch(word.strip())
        names += [f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1)] if span else [_canonical(word)]
    return tuple(names)


def register_bytes(name: str) -> int:
    """Returns the size of a register in memory, in bytes."""
    return {"d": 8, "q": 16}.get(name[0], 4)


@lru_cache(_KEPT)
def memory_operand(operand: str) -> tuple[str, tuple[str, ...], bool]:
    """Returns (`base`, further words, whether the address is written back) of `[base, #4]!`."""
    words = [_canonical(word) for word in operand.rstrip("!").strip("[]").split(",")]
    return words[0], tuple(words[1:]), operand.endswith("!")


@lru_cache(_KEPT)
def immediate(operand: str) -> int | None:
    """Returns the number of `#-12`; None for another operand."""
    match = _IMMEDIATE.fullmatch(operand)
    if match is None:
        return None
    number = int(match[2], 16) if match[2] else int(match[3])
    return -number if match[1] else number
