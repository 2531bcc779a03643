# SPDX-License-Identifier: MIT
"""The work of Thumb instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from aidge_build.contract.thumb.instruction import immediate, memory_operand, register_bytes, register_list
from aidge_build.contract.thumb.kinds import SHIFT, kind_of
from aidge_build.contract.work import (
    ACCUMULATE,
    ADDRESS,
    CONDITION,
    DATA,
    FLAGS,
    FLOAT_FLAGS,
    INDEX,
    OPERAND,
    PARENTS,
    PREDICATE,
    RESULT,
    SECOND,
    SHIFTED,
    STATUS,
    UPDATE,
    Work,
)

_READS_DESTINATION = re.compile(
    r"movt|bf[ic]|[us]mlal|umaal|smlal[bt][bt]|sml[as]ldx?|(lsl|lsr|asr)l|[su]qr?sh[lr]l?|[su]rshrl?|vn?ml[as]s?|vfn?m[as]s?|"
    r"vcmla|vr?ml[as]l?dava.*|vml[as]va|vmlalva|vaddl?va|v(max|min)(nm)?a?v|vsli|vsri|vabav|vmovn[bt]|vqmovu?n[bt]|vq?r?shru?n[bt]|"
    r"vqr?dml.*|vins|vshlc"
)
_UNARY = ("move", "move_constant", "extend", "reverse", "count", "bitfield", "conditional_select", "load_pair", "loop_start")
_OF_THE_FPU = ("float", "vector", "double")
_COMPARISON_KINDS = ("compare", "compare_constant", "test", "compare_shifted")
_COMPARISONS = ("cmp", "cmn", "tst", "teq")
_ADDS_LAST = re.compile(r"ml[as]|smla[bt][bt]|smlaw[bt]|smml[as]r?|sml[as]dx?|usada8")  # rd = rn * rm + ra
_TWO_RESULTS = ("multiply_long", "multiply_accumulate_long", "load_pair")
_SETS_FLAGS = re.compile(r"(add|sub|rsb|neg|adc|sbc|and|orr|eor|bic|orn|mvn|mov|mul|lsl|lsr|asr|ror|rrx)s|cmp|cmn|tst|teq")
_READS_FLAGS = re.compile(r"adcs?|sbcs?|rrxs?|sel|vadc|vsbc|vsel..|cs(el|inc|inv|neg|etm?)|cin[cv]|cneg")
_REGISTER = re.compile(r"(r\d+|sp|lr|pc)(?:\b|$)|([sdq])(\d+)")
_KEPT = 1 << 16


@lru_cache(_KEPT)
def work_of(mnemonic: str, operands: tuple[str, ...], size_bytes: int, data_type: str = "") -> Work:
    """Returns the work of an instruction with this mnemonic and these operands; an unknown instruction has the kind `default`."""
    kind, name, conditional = kind_of(mnemonic, operands, data_type)
    if size_bytes == 4 and f"{kind}_wide" in PARENTS:
        kind = f"{kind}_wide"
    reads, writes, words = _traffic(kind, name, operands)
    reads += _conditions(kind, name, conditional)
    writes += [(FLAGS, STATUS)] if _SETS_FLAGS.fullmatch(name) else []
    jumps = kind in _JUMPS or any(register == "pc" for register, _ in writes)
    return Work(kind, tuple(reads), tuple(writes), words, size_bytes, conditional, jumps, _place(operands) if words else None)


def _traffic(kind: str, name: str, operands: tuple[str, ...]) -> tuple[list, list, int]:
    """Returns (reads, writes, words of memory), without flags."""
    if kind.endswith(("load_multiple", "store_multiple")):
        return _multiple(kind, name, operands)
    if any(operand.startswith("[") for operand in operands):
        return _memory(kind, operands)
    return *(_jump(kind, operands) if kind in _JUMPS else _arithmetic(kind, name, operands)), 0


def _conditions(kind: str, name: str, conditional: bool) -> list[tuple[str, str]]:
    """Returns the flags and predicates that it reads."""
    reads = [(FLAGS, CONDITION)] if _READS_FLAGS.fullmatch(name) or conditional and name[0] != "v" else []
    return reads + ([(PREDICATE, CONDITION)] if conditional and kind.startswith("vector") or name == "vpsel" else [])


def registers_of(word: str) -> tuple[str, ...]:
    """Returns the tracked registers of `r3`, `d1`, `q2[3]` or `{r4-r6}`: float and vector registers as their words, s0 to s31."""
    if word.startswith("{"):
        return tuple(part for register in register_list(word) for part in registers_of(register))
    match = _REGISTER.match(word)
    if match is None:
        return ()
    if match[1]:
        return (match[1],)
    count = {"s": 1, "d": 2, "q": 4}[match[2]]
    first = int(match[3]) * count
    return tuple(f"s{number}" for number in range(first, first + count))


def _with(words: Iterable[str], role: str) -> list[tuple[str, str]]:
    return [(register, role) for word in words for register in registers_of(word)]


_JUMPS = ("branch", "compare_branch", "call", "call_register", "branch_register", "table_branch", "loop_end")


def _jump(kind: str, operands: tuple[str, ...]) -> tuple[list, list]:
    registers = _with(operands, OPERAND)
    if kind in ("call", "call_register"):
        return registers, [("lr", RESULT)]
    if kind == "loop_end":
        return _with(operands[:1], OPERAND), _with(operands[:1], RESULT)
    return registers, []


def _multiple(kind: str, name: str, operands: tuple[str, ...]) -> tuple[list, list, int]:
    base = "sp" if name in ("push", "pop", "vpush", "vpop") else operands[0].rstrip("!")
    updates = [(base, UPDATE)] if base == "sp" and len(operands) == 1 or operands[0].endswith("!") else []
    names = register_list(operands[-1])
    words = sum(register_bytes(name) for name in names) // 4
    if "load" in kind:
        return [(base, ADDRESS)], updates + _with(names, RESULT), words
    return [(base, ADDRESS), *_with(names, DATA)], updates, words


def _memory(kind: str, operands: tuple[str, ...]) -> tuple[list, list, int]:
    place = next(number for number, operand in enumerate(operands) if operand.startswith("["))
    base, words, writes_back = memory_operand(operands[place])
    moved, behind = operands[:place], operands[place + 1 :]
    reads = _with([base], ADDRESS) + [(register, INDEX) for word in words for register in registers_of(word)]
    reads += _with(behind, INDEX)
    writes = _with([base], UPDATE) if writes_back or behind else []
    count = max(1, sum(register_bytes(name) for word in moved for name in register_list(word)) // 4)
    if kind == "table_branch":
        return reads, [("pc", RESULT)], 1
    if "store" in kind or kind == "vector_scatter":
        return reads + _with(moved, DATA), writes, count
    return reads, writes + _with(moved, RESULT), count


def _place(operands: tuple[str, ...]) -> tuple[str, int] | None:
    operand = next((operand for operand in operands if operand.startswith("[")), "")
    if not operand:
        return None
    base, words, _ = memory_operand(operand)
    offset = immediate(words[0]) if words else 0
    return None if len(words) > 1 or offset is None else (base, offset)


def _arithmetic(kind: str, name: str, operands: tuple[str, ...]) -> tuple[list, list]:
    if kind in _COMPARISON_KINDS or name in _COMPARISONS:
        return _roles(kind, operands), []
    if kind in ("float_compare", "vector_compare") or name == "vctp":
        return _with(operands, OPERAND), [(PREDICATE if name[:2] == "vp" or kind[0] == "v" else FLOAT_FLAGS, STATUS)]
    if name == "vmrs":
        return [(FLOAT_FLAGS, OPERAND)], [(FLAGS, STATUS), *_with(operands[:1], RESULT)]
    count = _result_count(kind, name, operands)
    results, sources = operands[:count], operands[count:]
    writes = _with(results, RESULT)
    if _READS_DESTINATION.fullmatch(name) or kind == "vector_from_core":
        return _with(results, ACCUMULATE) + _with(sources, OPERAND), writes
    if len(operands) == 2 and not (kind in _UNARY or kind.startswith(_OF_THE_FPU) or name in ("mov", "movs", "mvn", "mvns")):
        return _with(results, OPERAND) + _with(sources, SECOND), writes
    if _ADDS_LAST.fullmatch(name):
        return _with(sources[:-1], OPERAND) + _with(sources[-1:], ACCUMULATE), writes
    return _roles(kind, sources), writes


def _result_count(kind: str, name: str, operands: tuple[str, ...]) -> int:
    """Returns how many of the first operands are written."""
    if name.startswith(("vmlal", "vmlsl", "vrml", "vaddlv", "vshlc")):
        return 2
    if kind.endswith("_to_core"):
        return sum(operand[0] in "rl" for operand in operands)
    if kind.endswith("_from_core") and operands[-2:-1] and operands[-2][0] in "rl":
        return len(operands) - 2
    return 2 if kind in _TWO_RESULTS or kind == "long_shift" and len(operands) > 2 else 1


def _roles(kind: str, sources: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns the roles of source registers: the first one is an operand; the last one is shifted, or the second operand."""
    shifts = bool(sources) and bool(SHIFT.match(sources[-1]))
    registers = [word for word in sources if registers_of(word) and not SHIFT.match(word)]
    amount = _with([sources[-1].split(" ")[-1]], SHIFTED) if shifts else []
    if kind == "extend_add":
        return _with(registers[:1], ACCUMULATE) + _with(registers[1:], SHIFTED)
    is_scalar = not kind.startswith(("float", "double", "vector"))
    if not is_scalar or kind in ("move", "reverse", "bitfield", "extend") or len(registers) == 1 and not shifts:
        return _with(registers, SHIFTED if shifts else OPERAND) + amount
    return _with(registers[:-1], OPERAND) + _with(registers[-1:], SHIFTED if shifts else SECOND) + amount
