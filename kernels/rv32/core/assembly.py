# SPDX-License-Identifier: MIT
"""The emitters of this library's assembly: for cores with 32 registers and with 16."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.riscv import routine
from aidge_build.contract.kernel_kit.riscv.registers import RV32E


class Routine(routine.Routine):
    """Texts of Armv6-M's instructions, printed for RISC-V."""

    macros = "AIDGE_RV32"


class Routine16(Routine):
    """The same for 16 registers. Cores with 32 also execute texts of functions that have at most 6 parameters."""

    registers = RV32E


FEW = Core("rv32", Routine16, frozenset({"rv32m"}))
CORE = Core("rv32", Routine, frozenset({"rv32m"}), together=4, outputs=8, few=FEW)
