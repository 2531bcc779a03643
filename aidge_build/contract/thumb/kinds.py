# SPDX-License-Identifier: MIT
"""The kind of work of a Thumb instruction, by its name and operands."""

from __future__ import annotations

import re
from functools import lru_cache

from aidge_build.contract.thumb.instruction import CONDITIONS, immediate
from aidge_build.contract.work import DEFAULT, PARENTS

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
SHIFT = re.compile(r"(lsl|lsr|asr|ror|rrx)\b")


@lru_cache(1 << 16)
def _named(name: str, table: tuple[tuple[str, str], ...]) -> str:
    return next((kind for kind, pattern in table if re.fullmatch(pattern, name)), "")


def kind_of(mnemonic: str, operands: tuple[str, ...], data_type: str) -> tuple[str, str, bool]:
    """Returns (kind, mnemonic without a condition, whether it has a condition)."""
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
    """Returns the kind, or another kind if the arithmetic shifts its last register or its constant."""
    if kind not in ("move", "add", "add_carry", "logic", "compare", "test") or name in ("movw", "movt", "addw", "subw"):
        return kind
    if operands and SHIFT.match(operands[-1]):
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
    """Whether a constant of arithmetic is encoded as eight shifted bits, not as plain or repeated bits."""
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
    """Returns the kind of a move between vector or float registers, or from or to registers of the core."""
    first, last = operands[0], operands[-1]
    if first[0] in "rl" or first in ("sp", "pc"):
        return f"{prefix}_to_core"
    if last[0] in "rl" or last == "sp":
        return f"{prefix}_from_core"
    if last.startswith("#"):
        return "vector_immediate" if prefix == "vector" else "float_move"
    return "vector_integer" if prefix == "vector" else "float_move"
