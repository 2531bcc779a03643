# SPDX-License-Identifier: MIT
"""Lines of assembly as instructions that may change places: everything that they read and write is known."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from aidge_build.contract.thumb.instruction import Instruction, instruction_of_text
from aidge_build.contract.thumb.work import work_of
from aidge_build.contract.work import Work

_LINE = re.compile(r' {8}"    ([a-z][^"\\%;]*)\\n"(?: +/\*.*\*/)?')
_MOVED_KINDS = re.compile(
    r"(move|add|logic|compare|shifted)(_constant|_carry|_wide)?|test|shift|bitfield|reverse|count|insert|extend(_add)?|pack|"
    r"saturate|compare_shifted|multiply(_accumulate)?(_long)?|(load|store)(_narrow|_pair|_multiple)?|"
    r"(float|double)_(add|multiply|accumulate|fused|divide|root|convert|move|from_core|to_core|load|store)|"
    r"float_(load|store)_multiple|"
    r"vector_(integer|shift|narrow|extreme|duplicate|multiply|multiply_across|float_multiply|float_add|fused|convert|add_across|"
    r"move|from_core|to_core|immediate|load|store|gather|scatter|load_interleaved|store_interleaved)"
)
# These also write a register that they name as an operand, or half of their result, or read flags of their own.
_PARTIAL = re.compile(r"v[di]w?dup|v(adc|sbc)i?|vcvt[bt]|v(max|min)(nm)?a|rrxs?|adr|vmov[xlh]|vins|(ld|st)[ar]?l?ex[bhd]?")
# All else in an operand may be another name of a register, a state without a number, or a shift through the carry.
_WORD = re.compile(r"(r\d+|[sdq]\d+)(-[rsdq]?\d+)?|sp|lr|pc|ip|fp|sl|sb|#[^ ,\]]+|\d+|lsl|lsr|asr|ror|uxtw")
_MEMORY = re.compile("load|store|gather|scatter")
# The instructions of the FPU with two operands; two operands of another one leave out the first source, which is the result.
_UNARY = re.compile(
    r"vmov(l[bt]|n[bt])?|vqmovu?n[bt]|vcvt[abmnpr]?|vrint.|vneg|vabs|vsqrt|vdup|vmvn|vrev\d+|vcl[sz]|vaddl?va?|v(max|min)(nm)?a?v|"
    r"vldr[bhwd]?|vstr[bhwd]?|v(ld|st)[24]\d|v(ld|st)m(ia|db)?|vqabs|vqneg"
)


class Moved(NamedTuple):
    """An instruction that may change places with its neighbours."""

    instruction: Instruction
    work: Work


def text_of(line: str) -> str:
    """Returns the instruction of a line of a C string; "" for any other line."""
    match = _LINE.fullmatch(line)
    return match[1].strip() if match else ""


@lru_cache(1 << 14)
def moved_instruction(text: str) -> Moved | None:
    """Returns an instruction that may change places with its neighbours; None for labels, jumps, conditional instructions, moves
    of the stack pointer, and whatever is not surely known."""
    instruction = instruction_of_text(text)
    if instruction is None:
        return None
    work = work_of(instruction.mnemonic, instruction.operands, instruction.size_bytes, instruction.data_type)
    return Moved(instruction, work) if _is_known(instruction, work) and not _moves_control(work) else None


def _is_known(instruction: Instruction, work: Work) -> bool:
    """Whether the registers that `work` names are surely all."""
    kind, operands = work.kind, instruction.operands
    if not _MOVED_KINDS.fullmatch(kind) or _PARTIAL.fullmatch(instruction.mnemonic):
        return False
    if work.words == 0 and _MEMORY.search(kind):
        return False  # of a label
    if not all(_WORD.fullmatch(word) for operand in operands for word in re.findall(r"[^ ,!\[\]{}]+", operand)):
        return False
    return (
        len(operands) != 2 or not kind.startswith(("float", "double", "vector")) or bool(_UNARY.fullmatch(instruction.mnemonic))
    )


def _moves_control(work: Work) -> bool:
    """Whether it is conditional, or writes the stack pointer, or reads or writes the program counter."""
    written = {register for register, _ in work.writes}
    return work.conditional or work.jumps or not written.isdisjoint(("sp", "pc")) or any(each == "pc" for each, _ in work.reads)
