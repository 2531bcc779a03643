# SPDX-License-Identifier: MIT
"""Which instructions write how many core registers, by how their names begin; all others may write each that they name."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.elf.disassembly import register_list

# These write no core register (stores: their address is handled apart).
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
# Sums of a vector's lanes go to core registers, the other additions of vectors do not.
SUMS = ("vaddv", "vaddlv")
# A debugger answers a semihosting call in r0; what else a function that is called may change is not relied upon either.
BREAKPOINT = frozenset(("r0", "r1", "r2", "r3", "r12"))


def written_registers(name: str, operands: Sequence[str]) -> set[str]:
    """The registers that an instruction may write, but for base registers that are written back."""
    if name == "bkpt":
        return set(BREAKPOINT)
    plain = [operand for operand in operands if not operand.startswith(("[", "{"))]
    if name.startswith(("strex", "stlex")):
        return set(plain[:1])
    if name.startswith(("ldm", "vldm", "pop", "vpop", "clrm")):
        return {register for operand in operands if operand.startswith("{") for register in register_list(operand)}
    if name.startswith((*NO_DESTINATION, "stm")) and not name.startswith(SUMS):
        return set()
    if name.startswith(TWO_DESTINATIONS):
        return set(plain[:2])
    return set(plain[:1]) if name.startswith(ONE_DESTINATION) else set(plain)
