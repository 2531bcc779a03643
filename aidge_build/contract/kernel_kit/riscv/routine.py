# SPDX-License-Identifier: MIT
"""The emitter of RISC-V's assembly, from texts of Armv6-M's instructions that name values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from aidge_build.contract.kernel_kit import routine
from aidge_build.contract.kernel_kit.registers.refusals import names_of
from aidge_build.contract.kernel_kit.registers.texts import Line
from aidge_build.contract.kernel_kit.riscv.printing import riscv_lines
from aidge_build.contract.kernel_kit.riscv.registers import RV32I, Registers, with_registers
from aidge_build.contract.thumb.statements import asm_statements

_KEPT = 1 << 8  # texts


class Routine(routine.Routine):
    """As for Arm; every text names values. A subclass may name other `registers`."""

    registers: ClassVar[Registers] = RV32I
    loads_bytes_anywhere = True
    has_carry = False
    multiplies_high = True

    def with_registers(self, lines: tuple[Line, ...], parameters: str, name: str) -> tuple[Line, ...]:
        return _riscv_lines(lines, names_of(parameters, name), name, self.registers)

    def statements(self, lines: Sequence[Line]) -> str:
        return asm_statements([(line, routine.printed(line, comment)) for line, comment in lines])


@lru_cache(_KEPT)
def _riscv_lines(lines: tuple[Line, ...], parameters: tuple[str, ...], name: str, registers: Registers) -> tuple[Line, ...]:
    return tuple(riscv_lines(with_registers(lines, parameters, name, registers), registers, name))
