# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from aidge_build.contract.kernel_kit import routine
from aidge_build.contract.kernel_kit.narrow.core import Core


class Routine(routine.Routine):
    """Only MOV, ADD and CMP reach values in r8 to r12 and lr: `mov` moves values there that wait, or that are only added."""

    macros = "AIDGE_ARMV6M"


CORE = Core("armv6m", Routine)  # every Cortex-M can run this library
