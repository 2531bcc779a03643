# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.kernel_kit.routine import Routine


class Code(Routine):
    macros = "AIDGE_ARMV7M"

    def level(self, shift: int, limit: Callable[[str], str] | None) -> None:
        """The level of the sum in lr, in lr, by way of r12; `limit` gives the places of "lowest" and "highest", if there are."""
        self(f"ssat lr, #8, lr{f', asr #{shift}' if shift else ''}")
        for name, condition in (("lowest", "lt"), ("highest", "gt")) if limit else ():
            self(f"ldr r12, {limit(name)}")
            self("cmp lr, r12")
            self(f"it {condition}")
            self(f"mov{condition} lr, r12")
