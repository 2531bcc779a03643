# SPDX-License-Identifier: MIT
"""The number of core registers that instructions write, by the prefix of their names; other instructions may write each register
that they name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from aidge_build.contract.thumb.instruction import register_list

# These write no core register. The caller handles the base register of stores.
NO_DESTINATION = (
    "cbz",
    "cbnz",
    "cmp",
    "cmn",
    "tst",
    "teq",
    "str",
    "vstr",
    "vldr",
    "vst",
    "vld",
    "vadd",
    "vsub",
    "vmul",
    "vdiv",
    "vcmp",
    "nop",
    "dsb",
    "isb",
    "dmb",
    "cps",
    "msr",
    "vpt",
    "vpst",
    "vctp",
    "vmsr",
    "pld",
    "sev",
    "wfe",
    "wfi",
)
ONE_DESTINATION = (
    "adc",
    "add",
    "adr",
    "and",
    "asr",
    "bfc",
    "bfi",
    "bic",
    "clz",
    "eor",
    "lsl",
    "lsr",
    "mla",
    "mls",
    "mov",
    "mul",
    "mvn",
    "neg",
    "orn",
    "orr",
    "pkh",
    "qadd",
    "qsub",
    "rbit",
    "rev",
    "ror",
    "rrx",
    "rsb",
    "sbc",
    "sbfx",
    "sdiv",
    "sel",
    "sml",
    "smmul",
    "smul",
    "smua",
    "smus",
    "ssat",
    "sub",
    "sxt",
    "uadd",
    "ubfx",
    "udiv",
    "usat",
    "usub",
    "uxt",
    "cs",
    "cinc",
    "cset",
    "cinv",
    "cneg",
    "ldr",
    "sadd",
    "ssub",
    "uqadd",
    "mrs",
)
TWO_DESTINATIONS = (
    "ldrd",
    "ldrexd",
    "smlal",
    "smull",
    "umlal",
    "umull",
    "umaal",
    "smlsl",
    "lsll",
    "asrl",
    "lsrl",
    "sqrshrl",
    "uqrshll",
    "sqshll",
    "srshrl",
    "uqshll",
    "urshrl",
)
LISTS = ("ldm", "vldm", "pop", "vpop", "clrm")
# Sums of a vector's lanes go to core registers, the other additions of vectors do not.
SUMS = ("vaddv", "vaddlv")
# A debugger answers a semihosting call in r0. The other registers that a call may change count as changed, too.
BREAKPOINT = frozenset(("r0", "r1", "r2", "r3", "r12"))


# objdump reads custom instructions (CDE) as operations of the coprocessors 0 to 7, as no build attribute says that a core has
# them. By the first operation code they write rd of the third operand (cx1, cx2) or of the fifth one (cx3), and for 64 bits the
# next register; in place of r15 these are the flags.
CUSTOM = {"cdp": 8, "cdp2": 8, "mcr": 4, "mcr2": 4, "mrc": 4, "mrc2": 4}
_LAST_COPROCESSOR = 7
_CORE = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")


@cache
def written_registers(name: str, operands: tuple[str, ...]) -> frozenset[str]:
    """Returns the registers that an instruction may write, without base registers that are written back."""
    if name == "bkpt":
        return BREAKPOINT
    plain = [operand for operand in operands if not operand.startswith(("[", "{"))]
    if name in CUSTOM:
        return frozenset((*plain, *_written_by_custom(name, operands)))
    if name.startswith(LISTS):
        return frozenset(register for operand in operands if operand.startswith("{") for register in register_list(operand))
    return frozenset(plain[: _destinations(name)])


@cache
def _destinations(name: str) -> int | None:
    """Returns how many of the first operands are written; None for all."""
    if name.startswith(("strex", "stlex")):
        return 1
    if name.startswith((*NO_DESTINATION, "stm")) and not name.startswith(SUMS):
        return 0
    if name.startswith(TWO_DESTINATIONS):
        return 2
    return 1 if name.startswith(ONE_DESTINATION) else None


def _written_by_custom(name: str, operands: Sequence[str]) -> set[str]:
    """Returns the registers that a custom instruction may write: r5 and r6 for `cdp 0, 8, cr1, cr0, cr5, {2}`. The stack pointer
    and pc are never a destination."""
    target = operands[4 if int(operands[1]) >= CUSTOM[name] else 2]
    number = int(target[2:]) if target.startswith("cr") else _CORE.index(target) if target in _CORE else len(_CORE)
    return {*_CORE[number : number + 2]} - {"sp", "pc"}


def is_misread(name: str, operands: Sequence[str]) -> bool:
    """Whether objdump prints an unknown vector instruction as a coprocessor operation: a custom instruction appears as a load or
    store, an MVE instruction has a coprocessor number above 7."""
    if name.startswith(("ldc", "stc")):
        return True
    return name.startswith(("cdp", "mcr", "mrc", "mrrc")) and int(operands[0]) > _LAST_COPROCESSOR
