# SPDX-License-Identifier: MIT
"""Compares what a program was built for with the core that a model's code was generated for."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.boards import HOST
from aidge_build.cores import architecture_of, runs_code_of
from aidge_build.elf.claim import Claim
from aidge_build.elf.findings import ERROR, WARNING, Finding
from aidge_build.elf.image import Image

_CORTEX_M = "ARM"


def check_machine(image: Image, claim: Claim) -> Iterator[Finding]:
    """MEM13. The program's architecture is the largest one of all its objects: what the linker writes into the attributes.

    Generated constants and code are little-endian."""
    if image.is_big_endian:
        yield Finding(
            "MEM13",
            ERROR,
            f"the code and the constants of model {claim.model} are little-endian, the program is big-endian",
            "compile without -mbig-endian",
        )
    architecture = architecture_of(claim.cpu)
    what = f"model {claim.model} was generated for {claim.cpu}"
    if claim.cpu == HOST and image.architecture:
        yield Finding(
            "MEM13", WARNING, f"{what}, the program is for {image.architecture}: kernels that are made for it are not used"
        )
    if not architecture:
        return
    if image.machine != _CORTEX_M:
        yield Finding("MEM13", ERROR, f"{what}, the program is for {image.machine}")
    elif image.architecture and not runs_code_of(image.architecture, architecture):
        yield Finding("MEM13", ERROR, f"{what} ({architecture}), the program is for {image.architecture}")
    elif image.architecture and image.architecture != architecture:
        yield Finding(
            "MEM13",
            WARNING,
            f"{what} ({architecture}), the program is for {image.architecture}: kernels that are made for it are not used",
        )
