# SPDX-License-Identifier: MIT
"""The bounds of a program's stack, from the code of its core."""

from __future__ import annotations

from pathlib import Path

from aidge_build.boards.cores import NO_STACK, RISCV, Core
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import Image, StackUse, stack_use
from aidge_build.prove.elf.riscv_stack import riscv_stack_use
from aidge_build.run.toolchain.disassembler import disassemble


def program_stack(image: Image, core: Core, run_symbols: tuple[str, ...]) -> StackUse | None:
    """Returns bounds for the program of `image`, and for each of `run_symbols`; None if nobody reads the code of the core.
    MissingTool without the disassembler that Thumb code needs."""
    if core.stack == NO_STACK:
        return None
    if core.stack == RISCV:
        return riscv_stack_use(image, run_symbols)
    return stack_use(image, read_disassembly(disassemble(Path(image.path), core)), run_symbols)
