# SPDX-License-Identifier: MIT
"""The toolchain's disassembler: it decodes whatever the compiler of the same toolchain emits."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from aidge_build.errors import AidgeError, MissingTool
from aidge_build.toolchain.compiler import DEFAULT_PREFIX, PREFIX_VARIABLE


def disassemble(elf: Path) -> str:
    """The text of `objdump -d`; MissingTool when the toolchain has no objdump on this machine."""
    name = f"{os.environ.get(PREFIX_VARIABLE) or DEFAULT_PREFIX}objdump"
    program = shutil.which(name)
    if program is None:
        raise MissingTool(
            f"{name} is not on this machine",
            hint=f"apt install binutils-arm-none-eabi, or set {PREFIX_VARIABLE}",
            code="TOOLCHAIN",
        )
    result = subprocess.run(
        [program, "-d", str(elf)], capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"}
    )
    if result.returncode != 0:
        raise AidgeError(next(iter(result.stderr.splitlines()), "objdump failed"), where=str(elf), code="ELF")
    return result.stdout
