# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.riscv import routine


class Routine(routine.Routine):
    """Texts of Armv6-M's instructions, printed for RISC-V."""

    macros = "AIDGE_RV32"


CORE = Core("rv32", Routine, frozenset({"rv32m"}), together=4)
