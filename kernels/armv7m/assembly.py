# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.routine import Routine


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

    def values(self, value: Callable[[], None], together: int) -> None:
        """As many values as {count} says, any number: turns of `together`, then what is left one by one; labels 1 to 4."""
        self(f"subs {{count}}, {{count}}, #{together}")
        self("blt 2f")
        self.label(1)
        for _ in range(together):
            value()
        self(f"subs {{count}}, {{count}}, #{together}")
        self("bge 1b")
        self.label(2)
        self(f"adds {{count}}, {{count}}, #{together}")
        self("beq 4f")
        self.label(3)
        value()
        self("subs {count}, {count}, #1")
        self("bne 3b")
        self.label(4)
