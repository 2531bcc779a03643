# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from aidge_build.contract.kernel_kit import routine


class Routine(routine.Routine):
    """Low registers are r0 to r7: only MOV, ADD and CMP reach the others."""

    macros = "AIDGE_ARMV6M"
