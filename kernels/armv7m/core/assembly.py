# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.routine import Routine


class Code(Routine):
    macros = "AIDGE_ARMV7M"
    adds_products = True

    def table_jump(self, register: str, labels: Sequence[int | str], first: int | str, is_far: bool = False) -> None:
        """Adds the jump, and no nop behind its table: a Cortex-M3 is slower where long instructions are at odd half-words."""
        super().table_jump(register, labels, first, is_far)
        self.align()

    def separate(self, low: str, high: str, bits: int) -> None:
        """Two sums, of which the first one has so many bits, to a word each."""
        self(f"lsrs %carried, %{low}, #{bits}", "the highest bit that leaves is the sign of the first sum")
        self(f"sbfx %{low}, %{low}, #0, #{bits}")
        self(f"adc %{high}, %carried, %{high}, lsl #{32 - bits}")

    def level(self, shift: int, is_clamped: bool) -> None:
        """The level of the sum in %level, in its place; %lowest and %highest wait."""
        self(f"ssat %level, #8, %level{f', asr #{shift}' if shift else ''}")
        for limit, condition in (("lowest", "lt"), ("highest", "gt")) if is_clamped else ():
            self(f"get %{limit}")
            self(f"cmp %level, %{limit}")
            self(f"it {condition}")
            self(f"mov{condition} %level, %{limit}")

    def values(self, value: Callable[[], None], together: int) -> None:
        """As many values as %count says, any number: turns of `together`, then what is left one by one."""
        self(f"subs %count, %count, #{together}")
        self("blt %rest")
        self.align()
        self.label("turn")
        for _ in range(together):
            value()
        self(f"subs %count, %count, #{together}")
        self("bge %turn")
        self.label("rest")
        self(f"adds %count, %count, #{together}")
        self("beq %done")
        self.label("one")
        value()
        self("subs %count, %count, #1")
        self("bne %one")
        self.label("done")


CORE = Core("armv7m", Code)
