# SPDX-License-Identifier: MIT
"""Instructions as a pipeline sees them: the kind of work, the registers that are read and written, and each register's role."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from aidge_build.prove.elf.disassembly import CONDITIONS, Instruction, immediate, memory_operand, register_bytes, register_list

DEFAULT = "default"  # the kind that every other one builds on
FLAGS, FLOAT_FLAGS, PREDICATE = "flags", "fpscr", "vpr"
# Roles of what is read. `second` is the last register of arithmetic, `shifted` a register that the instruction shifts.
OPERAND, SECOND, SHIFTED, ACCUMULATE, ADDRESS, INDEX, DATA, CONDITION = ROLES = (
    *("operand", "second", "shifted", "accumulate", "address", "index", "data", "condition"),
)
RESULT, UPDATE, STATUS = RESULTS = ("result", "update", "status")  # roles of what is written: a value, an address, flags

# Kind: the kind whose numbers it has where a table names none of its own.
PARENTS = {
    "alu": DEFAULT,
    **dict.fromkeys(("move", "add", "logic", "compare", "shift", "shifted", "shifted_constant", "bitfield", "simd"), "alu"),
    **{"move_constant": "move", "add_constant": "add", "logic_constant": "logic", "compare_constant": "compare"},
    **{"add_wide": "add", "logic_wide": "logic"},  # of two registers, in 32 bits
    **dict.fromkeys(("add_carry", "test", "conditional_select"), "logic"),
    **dict.fromkeys(("insert", "extend", "pack", "reverse", "count"), "bitfield"),
    **{"compare_shifted": "shifted", "extend_add": "extend", "saturate": "simd", "select": "simd", "long_shift": "shift"},
    "multiply": "alu",
    **dict.fromkeys(("multiply_accumulate", "multiply_long"), "multiply"),
    **{"multiply_accumulate_long": "multiply_long", "divide": "alu"},
    **{"load": DEFAULT, "load_narrow": "load", "load_pair": "load", "load_multiple": "load", "preload": "load"},
    **{"store": DEFAULT, "store_narrow": "store", "store_pair": "store", "store_multiple": "store"},
    **{"branch": DEFAULT, "compare_branch": "branch", "branch_register": "branch", "table_branch": "branch"},
    **{"call": "branch", "call_register": "call", "loop_end": "branch", "loop_start": "alu"},
    **dict.fromkeys(("nop", "it", "barrier", "system", "float", "vector"), DEFAULT),
    **dict.fromkeys(("float_add", "float_multiply", "float_convert", "float_move", "float_compare"), "float"),
    **{
        "float_accumulate": "float_multiply",
        "float_fused": "float_accumulate",
        "float_divide": "float",
        "float_root": "float_divide",
    },
    **dict.fromkeys(("float_from_core", "float_to_core", "float_status"), "float_move"),
    **{f"double_{name}": f"float_{name}" for name in ("add", "multiply", "accumulate", "fused", "divide", "root", "convert")},
    **{"float_load": "load", "double_load": "float_load", "float_load_multiple": "load_multiple"},
    **{"float_store": "store", "double_store": "float_store", "float_store_multiple": "store_multiple"},
    **dict.fromkeys(("vector_integer", "vector_multiply", "vector_float_add", "vector_move", "vector_predicate"), "vector"),
    **dict.fromkeys(("vector_shift", "vector_narrow", "vector_extreme", "vector_duplicate"), "vector_integer"),
    **dict.fromkeys(("vector_multiply_across", "vector_float_multiply", "vector_add_across"), "vector_multiply"),
    **dict.fromkeys(("vector_fused", "vector_convert"), "vector_float_multiply"),
    **dict.fromkeys(("vector_from_core", "vector_to_core", "vector_immediate"), "vector_move"),
    "vector_compare": "vector_float_add",
    **{"vector_load": "vector", "vector_gather": "vector_load", "vector_load_interleaved": "vector_load"},
    **{"vector_store": "vector", "vector_scatter": "vector_store", "vector_store_interleaved": "vector_store"},
}
KINDS = (DEFAULT, *PARENTS)

_CORE_NAMES = (
    ("nop", "nop|yield|wfi|wfe|sev|hint|dbg"),
    ("move", "movs?|movw|movt"),
    ("add", "adds?|addw|subs?|subw|rsbs?|negs?|adr"),
    ("add_carry", "adcs?|sbcs?"),
    ("logic", "ands?|orrs?|eors?|bics?|orns?|mvns?"),
    ("compare", "cmp|cmn"),
    ("test", "tst|teq"),
    ("shift", "(lsl|lsr|asr|ror|rrx)s?"),
    ("long_shift", "lsll|lsrl|asrl|[su]qr?sh[lr]l?|[su]rshrl?"),
    ("bitfield", "[us]bfx"),
    ("reverse", "rev|rev16|revsh|rbit"),
    ("count", "clz"),
    ("insert", "bfi|bfc"),
    ("extend", "[us]xt(b|h|b16)"),
    ("extend_add", "[us]xta(b|h|b16)"),
    ("pack", "pkh(bt|tb)"),
    ("saturate", "[us]sat(16)?|qd?(add|sub)|u?q(add8|add16|sub8|sub16|asx|sax)"),
    ("simd", "(s|u|sh|uh)(add8|add16|sub8|sub16|asx|sax)|usada?8"),
    ("select", "sel"),
    ("conditional_select", "csel|csinc|csinv|csneg|csetm?|cinc|cinv|cneg"),
    ("multiply", "muls?|smul[bt][bt]|smulw[bt]|smmulr?|smuadx?|smusdx?"),
    ("multiply_accumulate", "mla|mls|smla[bt][bt]|smlaw[bt]|smml[as]r?|sml[as]dx?"),
    ("multiply_long", "[us]mull"),
    ("multiply_accumulate_long", "[us]mlal|umaal|smlal[bt][bt]|sml[as]ldx?"),
    ("divide", "[us]div"),
    ("load", "ldrt?|ldrex|lda|ldaex"),
    ("load_narrow", "ldrs?[bh]t?|ldrex[bh]|lda[bh]|ldaex[bh]"),
    ("load_pair", "ldrd|ldrexd"),
    ("load_multiple", "ldm(ia|db|fd|ea)?|pop"),
    ("preload", "pldw?|pli"),
    ("store", "strt?|strex|stl|stlex"),
    ("store_narrow", "str[bh]t?|strex[bh]|stl[bh]|stlex[bh]"),
    ("store_pair", "strd|strexd"),
    ("store_multiple", "stm(ia|db|fd|ea)?|push"),
    ("branch", "b"),
    ("compare_branch", "cbn?z"),
    ("call", "bl"),
    ("call_register", "blx|blxns"),
    ("branch_register", "bx|bxns"),
    ("table_branch", "tb[bh]"),
    ("loop_start", "dls|wls|dlstp|wlstp"),
    ("loop_end", "le|letp"),
    ("it", "it[te]{0,3}"),
    ("barrier", "dsb|dmb|isb|csdb|p?ssbb|clrex"),
    ("vector_predicate", "vpst[te]*|vpnot|vctp|lctp"),
    ("vector_compare", "vpt[te]*"),
)
_FLOAT_NAMES = (
    ("add", "vadd|vsub|vabs|vneg|vmaxnm|vminnm|vsel(eq|ge|gt|vs)|vrint[amnprxz]|vins|vmovx"),
    ("compare", "vcmpe?"),
    ("multiply", "vn?mul"),
    ("accumulate", "vn?ml[as]"),
    ("fused", "vfn?m[as]"),
    ("divide", "vdiv"),
    ("root", "vsqrt"),
    ("convert", "vcvt[abmnprt]?|vcvtb"),
    ("load", "vldr"),
    ("store", "vstr"),
    ("load_multiple", "vldm(ia|db)?|vpop|fldm(iax|dbx)"),
    ("store_multiple", "vstm(ia|db)?|vpush|fstm(iax|dbx)"),
    ("move", "vmov"),
    ("status", "vmrs|vmsr"),
)
_VECTOR_NAMES = (
    ("load", "vldr[bhwd]"),
    ("load_interleaved", "vld[24][0-3]"),
    ("store", "vstr[bhwd]"),
    ("store_interleaved", "vst[24][0-3]"),
    ("multiply_across", "vr?ml[as]l?dav(h?a?x?|ax?h?)|vml[as]va?|vmlava?|vmlalva?|vrmlalvha?|vabav"),
    ("fused", "vfm[as]|vfmas|vcmla"),
    ("multiply", "vmul|vr?mulh|vmull[bt]|vqr?dmulh|vqdmull[bt]|vmlas?|vqr?dmla[hs]?h?|vqr?dml[as]dhx?|vqr?dmlash|vcmul"),
    ("convert", "vcvt[abmnpt]?|vrint[amnpxz]"),
    ("compare", "vcmp"),
    ("add_across", "vaddl?va?"),
    ("extreme", "v(max|min)(nm)?a?v"),
    ("narrow", "vmovn[bt]|vqmovu?n[bt]|vr?shrn[bt]|vqr?shru?n[bt]"),
    ("shift", "vrshr|vq?rshl|vqshlu?|vadci?|vsbci?"),
    ("duplicate", "v[di]?w?dup"),
    ("float_add", "vadd|vsub|vabd|vabs|vneg|v(max|min)nma?|vcadd"),
    ("integer", "vand|vbic|veor|vorr|vorn|vmvn|vshl|vshlc|vshr|vsli|vsri|vshll[bt]|vmovl[bt]|vrev(16|32|64)|vbrsr|vcl[sz]|vpsel"),
    ("integer", "v(max|min)a?|vr?h(add|sub)|vhcadd|vq(add|sub|abs|neg)"),
)
_OTHER_CORE_PREFIXES = ("cps", "mrs", "msr", "svc", "bkpt", "udf", "sg", "tt", "mcr", "mrc", "cdp", "cx", "clrm")
_READS_DESTINATION = re.compile(
    r"movt|bf[ic]|[us]mlal|umaal|smlal[bt][bt]|sml[as]ldx?|(lsl|lsr|asr)l|[su]qr?sh[lr]l?|[su]rshrl?|vn?ml[as]s?|vfn?m[as]s?|"
    r"vcmla|vr?ml[as]l?dava.*|vml[as]va|vmlalva|vaddl?va|v(max|min)(nm)?a?v|vsli|vsri|vabav|vmovn[bt]|vqmovu?n[bt]|vq?r?shru?n[bt]|"
    r"vqr?dml.*|vins"
)
_UNARY = ("move", "move_constant", "extend", "reverse", "count", "bitfield", "conditional_select", "load_pair")
_OF_THE_FPU = ("float", "vector", "double")
_COMPARISON_KINDS = ("compare", "compare_constant", "test", "compare_shifted")
_COMPARISONS = ("cmp", "cmn", "tst", "teq")
_ADDS_LAST = re.compile(r"ml[as]|smla[bt][bt]|smlaw[bt]|smml[as]r?|sml[as]dx?|usada8")  # rd = rn * rm + ra
_TWO_RESULTS = ("multiply_long", "multiply_accumulate_long", "load_pair")
_SETS_FLAGS = re.compile(r"(add|sub|rsb|neg|adc|sbc|and|orr|eor|bic|orn|mvn|mov|mul|lsl|lsr|asr|ror|rrx)s|cmp|cmn|tst|teq")
_READS_FLAGS = re.compile(r"adcs?|sbcs?|rrxs?|sel|vadc|vsbc|vsel..|cs(el|inc|inv|neg|etm?)|cin[cv]|cneg")
_REGISTER = re.compile(r"(r\d+|sp|lr|pc)(?:\b|$)|([sdq])(\d+)")
_SHIFT = re.compile(r"(lsl|lsr|asr|ror|rrx)\b")
_KEPT = 1 << 16


class Work(NamedTuple):
    """What one instruction asks of a pipeline: its `kind`, (register, role) of each register that it reads and writes, the words
    that it moves to or from memory, its bytes, and whether the address is updated, whether it may run or not (`conditional`)."""

    kind: str
    reads: tuple[tuple[str, str], ...]
    writes: tuple[tuple[str, str], ...]
    words: int = 0
    size_bytes: int = 4
    conditional: bool = False
    jumps: bool = False
    place: tuple[str, int] | None = None  # (base register, offset in bytes) of an access to memory whose address says so

    @property
    def has_index(self) -> bool:
        """Whether its address is a sum of two registers."""
        return any(role == INDEX for _, role in self.reads)

    @property
    def sets_flags(self) -> bool:
        """Whether it writes the flags."""
        return (FLAGS, STATUS) in self.writes

    @property
    def updates_address(self) -> bool:
        """Whether it writes its address register."""
        return any(role == UPDATE for _, role in self.writes)


@lru_cache(_KEPT)
def work_of(mnemonic: str, operands: tuple[str, ...], size_bytes: int, data_type: str = "") -> Work:
    """The work of an instruction with this mnemonic and these operands; an unknown one is of the kind `default`."""
    kind, name, conditional = _kind_of(mnemonic, operands, data_type)
    if size_bytes == 4 and f"{kind}_wide" in PARENTS:
        kind = f"{kind}_wide"
    reads, writes, words = _traffic(kind, name, operands)
    reads += _conditions(kind, name, conditional)
    writes += [(FLAGS, STATUS)] if _SETS_FLAGS.fullmatch(name) else []
    jumps = kind in _JUMPS or any(register == "pc" for register, _ in writes)
    return Work(kind, tuple(reads), tuple(writes), words, size_bytes, conditional, jumps, _place(operands) if words else None)


def _traffic(kind: str, name: str, operands: tuple[str, ...]) -> tuple[list, list, int]:
    """(reads, writes, words of memory), without flags."""
    if kind.endswith(("load_multiple", "store_multiple")):
        return _multiple(kind, name, operands)
    if any(operand.startswith("[") for operand in operands):
        return _memory(kind, operands)
    return *(_jump(kind, operands) if kind in _JUMPS else _arithmetic(kind, name, operands)), 0


def _conditions(kind: str, name: str, conditional: bool) -> list[tuple[str, str]]:
    """The flags and predicates that it reads."""
    reads = [(FLAGS, CONDITION)] if _READS_FLAGS.fullmatch(name) or conditional and name[0] != "v" else []
    return reads + ([(PREDICATE, CONDITION)] if conditional and kind.startswith("vector") or name == "vpsel" else [])


def works_of(instructions: Iterable[Instruction]) -> tuple[Work, ...]:
    """The work of each instruction, in order."""
    return tuple(work_of(each.mnemonic, each.operands, each.size_bytes, each.data_type) for each in instructions)


@lru_cache(_KEPT)
def _named(name: str, table: tuple[tuple[str, str], ...]) -> str:
    return next((kind for kind, pattern in table if re.fullmatch(pattern, name)), "")


def _kind_of(mnemonic: str, operands: tuple[str, ...], data_type: str) -> tuple[str, str, bool]:
    """(kind, mnemonic without a condition, whether it has a condition)."""
    for name, conditional in ((mnemonic, False), (mnemonic[:-2], True), (mnemonic[:-1], True)):
        suffix = mnemonic[len(name) :]
        if suffix and suffix not in CONDITIONS and not (name[:1] == "v" and suffix in ("t", "e")):
            continue
        kind = _named(name, _CORE_NAMES)
        kind = _operand_kind(kind, name, operands) if kind else _vector_or_float(name, operands, data_type)
        if kind:
            return kind, name, conditional
    if any(operand[:1] == "q" for operand in operands):
        return "vector_integer", mnemonic, False
    return ("system" if mnemonic.startswith(_OTHER_CORE_PREFIXES) else DEFAULT), mnemonic, False


def _operand_kind(kind: str, name: str, operands: tuple[str, ...]) -> str:
    """Arithmetic that shifts its last register, or whose constant is shifted, is of another kind."""
    if kind not in ("move", "add", "add_carry", "logic", "compare", "test") or name in ("movw", "movt", "addw", "subw"):
        return kind
    if operands and _SHIFT.match(operands[-1]):
        if name in ("mov", "movs"):
            return "shift"
        return "compare_shifted" if kind in ("compare", "test") else "shifted"
    number = immediate(operands[-1]) if operands else None
    if number is None:
        return kind
    if name in ("mvn", "mvns") and not _is_shifted(number):
        return "move_constant"
    return "shifted_constant" if _is_shifted(number) else f"{kind}_constant" if f"{kind}_constant" in PARENTS else kind


def _is_shifted(number: int) -> bool:
    """Whether a constant of arithmetic is eight bits that are shifted, and neither plain ones nor ones that repeat."""
    number &= 0xFFFFFFFF
    low = number & 0xFF
    repeated = (low * 0x00010001, low * 0x01010101, (number >> 8 & 0xFF) * 0x01000100)
    return number > 0xFF and number not in repeated


def _vector_or_float(name: str, operands: tuple[str, ...], data_type: str) -> str:
    if name[:1] not in ("v", "f"):
        return ""
    is_vector = any(operand.lstrip("{[")[:1] == "q" for operand in operands)
    if name == "vmov":
        return _move_kind("vector" if is_vector else "float", operands)
    return _vector_kind(name, operands, data_type) if is_vector else _float_kind(name, operands)


def _float_kind(name: str, operands: tuple[str, ...]) -> str:
    kind = _named(name, _FLOAT_NAMES)
    if not kind:
        return ""
    double = f"double_{kind}"
    is_double = any(operand[:1] == "d" for operand in operands)
    return double if is_double and double in PARENTS else f"float_{kind}"


def _vector_kind(name: str, operands: tuple[str, ...], data_type: str) -> str:
    kind = _named(name, _VECTOR_NAMES)
    if kind in ("load", "store") and "q" in next(operand for operand in operands if operand[0] == "["):
        return "vector_gather" if kind == "load" else "vector_scatter"
    if data_type[:1] != "f" and kind == "float_add":
        return "vector_integer"
    if data_type[:1] == "f" and kind == "multiply":
        return "vector_float_multiply"
    return f"vector_{kind}" if kind else ""


def _move_kind(prefix: str, operands: tuple[str, ...]) -> str:
    """Moves between vector or float registers, and from and to registers of the core."""
    first, last = operands[0], operands[-1]
    if first[0] in "rl" or first in ("sp", "pc"):
        return f"{prefix}_to_core"
    if last[0] in "rl" or last == "sp":
        return f"{prefix}_from_core"
    if last.startswith("#"):
        return "vector_immediate" if prefix == "vector" else "float_move"
    return "vector_integer" if prefix == "vector" else "float_move"


def registers_of(word: str) -> tuple[str, ...]:
    """The registers that `r3`, `d1`, `q2[3]` or `{r4-r6}` names, as those that are tracked: float and vector ones by words."""
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
        return [("lr", OPERAND)], [("lr", RESULT)]
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
    if len(operands) == 2 and not (kind in _UNARY or kind.startswith(_OF_THE_FPU) or name in ("mvn", "mvns")):
        return _with(results, OPERAND) + _with(sources, SECOND), writes
    if _ADDS_LAST.fullmatch(name):
        return _with(sources[:-1], OPERAND) + _with(sources[-1:], ACCUMULATE), writes
    return _roles(kind, sources), writes


def _result_count(kind: str, name: str, operands: tuple[str, ...]) -> int:
    """How many of the first operands are written."""
    if name.startswith(("vmlal", "vmlsl", "vrml", "vaddlv")):
        return 2
    if kind.endswith("_to_core"):
        return sum(operand[0] in "rl" for operand in operands)
    if kind.endswith("_from_core") and operands[-2:-1] and operands[-2][0] in "rl":
        return len(operands) - 2
    return 2 if kind in _TWO_RESULTS or kind == "long_shift" and len(operands) > 2 else 1


def _roles(kind: str, sources: tuple[str, ...]) -> list[tuple[str, str]]:
    """The first register is an operand; the last one is shifted, or the second operand."""
    shifts = bool(sources) and bool(_SHIFT.match(sources[-1]))
    registers = [word for word in sources if registers_of(word) and not _SHIFT.match(word)]
    amount = _with([sources[-1].split(" ")[-1]], SHIFTED) if shifts else []
    if kind == "extend_add":
        return _with(registers[:1], ACCUMULATE) + _with(registers[1:], SHIFTED)
    is_scalar = not kind.startswith(("float", "double", "vector"))
    if not is_scalar or kind in ("move", "reverse", "bitfield", "extend") or len(registers) == 1 and not shifts:
        return _with(registers, SHIFTED if shifts else OPERAND) + amount
    return _with(registers[:-1], OPERAND) + _with(registers[-1:], SHIFTED if shifts else SECOND) + amount
