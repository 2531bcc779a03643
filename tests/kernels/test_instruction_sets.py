# SPDX-License-Identifier: MIT
"""Programs of kernels contain no instruction that their core lacks: read from the disassembly, not from what an emulator does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import helium_harness
import pytest
import test_armv6m_linear
from armv6m_harness import accepted

from aidge_build.elf.disassembly import CONDITIONS, read_disassembly
from aidge_build.toolchain import disassemble

# ARMv6-M Architecture Reference Manual (DDI 0419), A6.7: all instructions.
ARMV6M = set(
    """adc add adr and asr b bic bkpt bl blx bx cmn cmp cps cpsid cpsie dmb dsb eor isb ldm ldmia ldmfd ldr ldrb ldrh ldrsb ldrsh
    lsl lsr mov mrs msr mul mvn neg nop orr pop push rev rev16 revsh ror rsb sbc sev stm stmia str strb strh sub svc sxtb sxth tst
    udf uxtb uxth wfe wfi yield""".split()
)
ONLY_LOW = {"and", "adc", "asr", "bic", "cmn", "eor", "lsl", "lsr", "mul", "mvn", "orr", "ror", "rsb", "sbc", "tst", "ldm", "stm"}
HIGH = re.compile(r"\b(r8|r9|r1[0-2]|sl|fp|ip|lr)\b")


def armv6m_lacks(name: str, operands: tuple[str, ...], size_bytes: int) -> bool:
    """Whether a Cortex-M0, M0+ or M1 has no such instruction."""
    plain = name[:-1] if name.endswith("s") and name[:-1] in ARMV6M else name
    if name[:1] == "b" and name[1:] in CONDITIONS:
        return size_bytes != 2
    wide = {"bl", "dmb", "dsb", "isb", "mrs", "msr", "udf"}
    return plain not in ARMV6M or (size_bytes == 4) != (plain in wide) or plain in ONLY_LOW and bool(HIGH.search(str(operands)))


# Of a library: the board that it is built for, its cases, and what the board's core lacks.
LIBRARIES: dict[str, tuple[str, Callable[[], list], Callable[[str, tuple[str, ...], int], bool]]] = {
    "armv6m": ("rp2040", lambda: accepted(test_armv6m_linear.candidates())[::4], armv6m_lacks),
}


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("flags", [("-O2",), ("-Os",)], ids="".join)
@pytest.mark.parametrize("library", LIBRARIES)
def test_programs_have_no_instruction_that_the_core_lacks(library, flags, tmp_path):
    board, cases, lacks = LIBRARIES[library]
    elf = helium_harness.build(cases(), tmp_path, *flags, board=board)
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
