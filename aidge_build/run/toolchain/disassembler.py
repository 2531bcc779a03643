# SPDX-License-Identifier: MIT
"""The toolchain's disassembler: it decodes every instruction that the compiler of the same toolchain emits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards.cores import PREFIX_VARIABLE, Core, core_of_machine
from aidge_build.prove.elf.image import architecture_of, machine_of
from aidge_build.run.toolchain.compiler import installing
from aidge_build.run.toolchain.environment import of_tools

# The argument of objdump -m where a program's attributes alone do not make objdump decode every instruction.
_MACHINES = {"v8.1-M.mainline": "armv8.1-m.main"}


def disassemble(elf: Path, core: Core | None = None) -> str:
    """Returns the text of `objdump -d`, by default of the toolchain of the built-in cores for the program's machine.

    Vector instructions are decoded as such, not as operations of a coprocessor. MissingTool when the toolchain has no objdump on
    this machine.
    """
    core = core or core_of_machine(machine_of(elf))
    if core is None:
        raise MissingTool(f"{elf.name}: no known core has a toolchain that reads it", hint="name the board", code="TOOLCHAIN")
    name = f"{core.prefix}objdump"
    program = shutil.which(name)
    if program is None:
        raise MissingTool(
            f"{name} is not on this machine",
            hint=f"{installing(core.objdump_packages)}set {PREFIX_VARIABLE}",
            code="TOOLCHAIN",
        )
    machine = _MACHINES.get(architecture_of(elf))
    words = [program, "-d", *(("-m", machine) if machine else ()), str(elf)]
    result = subprocess.run(words, capture_output=True, text=True, errors="replace", env=of_tools())
    if result.returncode != 0:
        raise AidgeError(next(iter(result.stderr.splitlines()), "objdump failed"), where=str(elf), code="ELF")
    return result.stdout
