# SPDX-License-Identifier: MIT
"""Compares what a program was built for with the core that a model's code was generated for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from aidge_build.cores import find_core, runs_code_of
from aidge_build.elf.claim import Claim
from aidge_build.elf.findings import ERROR, WARNING, Finding
from aidge_build.elf.image import Image


def check_machine(image: Image, claim: Claim, folders: Sequence[Path] = ()) -> Iterator[Finding]:
    """MEM13. The program's architecture is the largest one of all its objects: what the linker writes into the attributes.

    Generated constants and code are little-endian. `folders` are those of boards, which may have cores."""
    if image.is_big_endian:
        yield Finding(
            "MEM13",
            ERROR,
            f"the code and the constants of model {claim.model} are little-endian, the program is big-endian",
            "compile without -mbig-endian",
        )
    core = find_core(claim.cpu.partition("+")[0], folders)
    if core is None:
        return
    what = f"model {claim.model} was generated for {claim.cpu}" + (f" ({core.architecture})" if core.architecture else "")
    unused = f"{what}, the program is for {image.architecture}: kernels that are made for it are not used"
    if core.is_native or core.is_portable:
        if image.architecture:
            yield Finding("MEM13", WARNING, unused)
    elif image.machine not in core.machines:
        yield Finding("MEM13", ERROR, f"model {claim.model} was generated for {claim.cpu}, the program is for {image.machine}")
    elif image.has_64_bits != (core.pointer_bytes == 8):
        bits = 64 if image.has_64_bits else 32
        yield Finding(
            "MEM13", ERROR, f"model {claim.model} was generated for {claim.cpu}, the program has pointers of {bits} bits"
        )
    elif core.architecture and image.architecture:
        if not runs_code_of(image.architecture, core.architecture, folders):
            yield Finding("MEM13", ERROR, f"{what}, the program is for {image.architecture}")
        elif image.architecture != core.architecture:
            yield Finding("MEM13", WARNING, unused)
