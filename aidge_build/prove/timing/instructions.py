# SPDX-License-Identifier: MIT
"""The instruction sets of timing tables: only this module of the room names them."""

from __future__ import annotations

from aidge_build.contract.riscv.instruction import Instruction as RiscvInstruction
from aidge_build.contract.riscv.work import work_of as riscv_work
from aidge_build.contract.thumb.instruction import Instruction as ThumbInstruction
from aidge_build.contract.thumb.work import work_of as thumb_work
from aidge_build.contract.work import Work

Instruction = ThumbInstruction | RiscvInstruction


def work_of(instruction: Instruction) -> Work:
    """Returns the work of an instruction."""
    if isinstance(instruction, RiscvInstruction):
        return riscv_work(instruction.operation, instruction.size_bytes)
    return thumb_work(instruction.mnemonic, instruction.operands, instruction.size_bytes, instruction.data_type)
