# SPDX-License-Identifier: MIT
"""Programs of kernels contain no instruction that their core lacks: read from the disassembly, not from what an emulator does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import helium_harness
import pytest
import test_armv6m_linear
import test_armv7m_linear
from armv6m_harness import accepted
from harness import STRESS

from aidge_build.contract.thumb.instruction import CONDITIONS, read_disassembly
from aidge_build.run.toolchain import disassemble

# ARMv6-M Architecture Reference Manual (DDI 0419), A6.7: all instructions.
ARMV6M = set(
    """adc add adr and asr b bic bkpt bl blx bx cmn cmp cps cpsid cpsie dmb dsb eor isb ldm ldmia ldmfd ldr ldrb ldrh ldrsb ldrsh
    lsl lsr mov mrs msr mul mvn neg nop orr pop push rev rev16 revsh ror rsb sbc sev stm stmia str strb strh sub svc sxtb sxth tst
    udf uxtb uxth wfe wfi yield""".split()
)
ONLY_LOW = {"and", "adc", "asr", "bic", "cmn", "eor", "lsl", "lsr", "mul", "mvn", "orr", "ror", "rsb", "sbc", "tst", "ldm", "stm"}
HIGH = re.compile(r"\b(r8|r9|r1[0-2]|sl|fp|ip|lr)\b")


# What Armv8-M Baseline adds (Armv8-M Architecture Reference Manual, DDI 0553, table "Baseline").
ARMV8M_BASELINE = ARMV6M | set(
    """cbz cbnz movw movt sdiv udiv ldrex ldrexb ldrexh strex strexb strexh clrex lda ldab ldah stl stlb stlh ldaex stlex sg tt
    ttt tta ttat bxns blxns""".split()
)


def armv6m_lacks(name: str, operands: tuple[str, ...], size_bytes: int) -> bool:
    """Whether a Cortex-M0, M0+ or M1 has no such instruction."""
    plain = name[:-1] if name.endswith("s") and name[:-1] in ARMV6M else name
    if name[:1] == "b" and name[1:] in CONDITIONS:
        return size_bytes != 2
    wide = {"bl", "dmb", "dsb", "isb", "mrs", "msr", "udf"}
    return plain not in ARMV6M or (size_bytes == 4) != (plain in wide) or plain in ONLY_LOW and bool(HIGH.search(str(operands)))


def armv8m_baseline_lacks(name: str, operands: tuple[str, ...], size_bytes: int) -> bool:
    """Whether a Cortex-M23 has no such instruction."""
    if name in ARMV8M_BASELINE - ARMV6M or name == "b":
        return False
    return armv6m_lacks(name, operands, size_bytes)


# ARMv7-M Architecture Reference Manual (DDI 0403), A7.7, without the DSP extension, the FPU and coprocessors.
ARMV7M = ARMV6M | set(
    """bfc bfi cbz cbnz clrex clz ldmdb ldmea ldrbt ldrd ldrex ldrexb ldrexh ldrht ldrsbt ldrsht ldrt mla mls movt movw orn pld
    pli rbit rrx sbfx sdiv smlal smull ssat ssbb stmdb strbt strd strex strexb strexh strht strt subw addw tbb tbh teq ubfx udiv
    umlal umull usat""".split()
)
# What Armv8-M Mainline adds to it (DDI 0553).
ARMV8M_MAINLINE = ARMV7M | ARMV8M_BASELINE


def _armv7m_knows(name: str, known: set[str]) -> bool:
    if name.startswith("it") and not name.strip("ite"):
        return True
    bare = name.removesuffix("s") if name.removesuffix("s") in known else name
    if bare in known:
        return True
    return name[-2:] in CONDITIONS and _armv7m_knows(name[:-2], known)


def armv7m_lacks(name: str, operands: tuple[str, ...], size_bytes: int) -> bool:
    """Whether a Cortex-M3 has no such instruction."""
    return not _armv7m_knows(name, ARMV7M)


def armv8m_mainline_lacks(name: str, operands: tuple[str, ...], size_bytes: int) -> bool:
    """Whether a Cortex-M33 without DSP extension and FPU has no such instruction."""
    return not _armv7m_knows(name, ARMV8M_MAINLINE)


FLAGS = ("-O2", "-Os")
# Of a core: a board, the cases of its library, and what the core lacks.
Lacks = Callable[[str, tuple[str, ...], int], bool]
CORES: dict[str, tuple[str, Callable[[], list], Lacks]] = {
    "cortex-m0plus": ("rp2040", lambda: accepted(test_armv6m_linear.candidates())[::6], armv6m_lacks),
    "cortex-m23": ("m2354", lambda: accepted(test_armv6m_linear.candidates())[::18], armv8m_baseline_lacks),
    "cortex-m3": ("mps2-an385", lambda: accepted(test_armv7m_linear.candidates()[::12]), armv7m_lacks),
    "cortex-m33+nodsp": (
        "mps2-an505-nodsp",
        lambda: accepted(test_armv7m_linear.candidates()[1::24]),
        armv8m_mainline_lacks,
    ),
}


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize(
    "core, flag", [(core, flag) for index, core in enumerate(CORES) for flag in (FLAGS if STRESS else FLAGS[index % 2 :][:1])]
)
def test_programs_have_no_instruction_that_the_core_lacks(core, flag, tmp_path):
    board, cases, lacks = CORES[core]
    elf = helium_harness.build(cases(), tmp_path, flag, board=board)
    instructions = read_disassembly(disassemble(elf)).values()
    assert len(instructions) > 2000
    assert [str(one) for one in instructions if lacks(one.mnemonic, one.operands, one.size_bytes)] == []


@pytest.mark.parametrize(
    "name, operands, size_bytes",
    [
        ("smlad", ("r0", "r1", "r2", "r3"), 4),
        ("mla", ("r0", "r1", "r2", "r3"), 4),
        ("umull", ("r0", "r1", "r2", "r3"), 4),
        ("cbz", ("r0", "8"), 2),
        ("movw", ("r0", "#1"), 4),
        ("ldr", ("r0", "[r1, #4]"), 4),
        ("ldm", ("r8!", "{r0, r1}"), 4),
        ("it", ("eq",), 2),
        ("vadd.f32", ("s0", "s1", "s2"), 4),
    ],
)
def test_what_armv6m_lacks_is_seen(name, operands, size_bytes):
    assert armv6m_lacks(name, operands, size_bytes)


@pytest.mark.parametrize(
    "name",
    """smlad smlald smlabb smlsd smmul smmla smuad smulbb qadd qadd16 qsub sadd16 sel sxtab sxtah sxtb16 sxtab16 uxtab uadd8
    umaal usad8 pkhbt pkhtb ssat16 usat16 shadd8 vadd.f32 vmov vldr vpush vcvt.f32.s32 vldrb.8 smmulr smladne""".split(),
)
def test_what_cores_without_dsp_lack_is_seen(name):
    assert armv7m_lacks(name, (), 4) and armv8m_mainline_lacks(name, (), 4)


@pytest.mark.parametrize("name", ["smlal", "movlt", "it", "itte", "ldrsb", "subs", "bne", "tbb", "ssat", "adcs", "ldrdne"])
def test_what_cores_without_dsp_have_is_let_through(name):
    assert not armv7m_lacks(name, (), 4)
