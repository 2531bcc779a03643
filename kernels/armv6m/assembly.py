# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from aidge_build.contract.kernel_kit import routine


class Routine(routine.Routine):
    """Low registers are r0 to r7: only MOV, ADD and CMP reach the others."""

    macros = "AIDGE_ARMV6M"

    def push_all(self) -> None:
        """Saves r4 to r11 and the return address: 36 bytes."""
        self("push {r4-r7, lr}")
        for low, high in zip(range(4, 8), range(8, 12)):
            self(f"mov r{low}, r{high}")
        self("push {r4-r7}")

    def pop_all(self) -> None:
        """Back to the caller of `push_all`."""
        self("pop {r4-r7}")
        for low, high in zip(range(4, 8), range(8, 12)):
            self(f"mov r{high}, r{low}")
        self("pop {r4-r7, pc}")
