# SPDX-License-Identifier: MIT
"""Sums of int16 data times int8 weights: a pair of taps in an instruction, 1 or 2 pixels by 4 channels, requantized in float32.

A column holds words of two taps, of both pixels in turn. The stream holds for each group of 4 channels the biases, for each pair
of taps two words of weights, channel 0, 1, 0, 1 and 2, 3, 2, 3, and the multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.kernel_kit import linear_int16
from aidge_build.contract.kernel_kit.linear_int16 import LIMITS

from ..core.assembly import Routine

MOST_PAIRS = 8  # in the text as one turn of the loop
PARAMETERS = "const uint32_t *column, const int32_t *stream, int16_t *first, int16_t *second, const int32_t *end"
_ENDS = "r12", "lr"
_SAVED_BYTES = 36 + 32  # r4-r11, lr, s16-s23


class Levels(linear_int16.Levels):
    """The same, applied to words in registers."""

    @property
    def _compared(self) -> tuple[tuple[str, int, int], ...]:
        """Condition, place of the end and bound of what no saturating instruction does."""
        low, high = ("lt", 0, self.low - self.zero_point), ("gt", 1, self.high - self.zero_point)
        if self._saturates:
            return (high,) if self.high < LIMITS[1] else ()
        return low, high

    @property
    def _saturates(self) -> bool:
        return self.zero_point == 0 and self.low in (0, LIMITS[0])

    def prepare(self, code: Routine, ends: tuple[str, str] = _ENDS) -> None:
        """The lowest and the highest level as `apply` wants them, as far as it does."""
        for _, place, bound in self._compared:
            code.constant(ends[place], bound)

    def apply(self, code: Routine, register: str, ends: tuple[str, str] = _ENDS) -> None:
        """Clamp first, as what is added might not fit. r2 holds a zero point other than 0."""
        if self._saturates:
            code(f"ssat {register}, #16, {register}" if self.low else f"usat {register}, #15, {register}")
        for condition, place, _ in self._compared:
            code(f"cmp {register}, {ends[place]}")
            code(f"it {condition}")
            code(f"mov{condition} {register}, {ends[place]}")
        if self.zero_point:
            code(f"add {register}, {register}, r2")


@dataclass(frozen=True)
class Sums:
    """The routine for so many pairs of taps of one or two pixels."""

    pairs: int
    pixels: int
    levels: Levels
    apart: int = 0  # bytes from a pixel to the next where data are read as they lie; 0: from a column

    @property
    def name(self) -> str:
        return f"aidge_cortexm_sums_int16_{self.pairs}x{self.pixels}{'_apart' * bool(self.apart)}{self.levels.name}"

    def text(self) -> str:
        """The C text."""
        code = Routine({})
        code("push {{r4-r11, lr}}")
        code("vpush {{s16-s23}}")
        code(f"ldr r4, [sp, #{_SAVED_BYTES}]", "end")
        code("vmov s16, s17, r4, r0")
        code("vmov s18, s19, r2, r3", "where the levels go")
        turns = self.pairs // MOST_PAIRS
        if turns > 1:
            code.constant("r5", 4 * (1 if self.apart else self.pixels) * MOST_PAIRS * turns)
            code("add r5, r5, r0")
            code("vmov s20, r5")
        code.label(1, "a group of 4 channels")
        code("ldmia r1!, {{r4-r7}}", "biases")
        if self.pixels == 2:
            for channel in range(4):
                code(f"mov r{8 + channel}, r{4 + channel}")
        if turns:
            if turns > 1:
                code.label(2, f"{2 * MOST_PAIRS} taps")
            self._pairs(code, MOST_PAIRS)
            if turns > 1:
                code("vmov r2, s20")
                code("cmp r0, r2")
                code("bne 2b")
        self._pairs(code, self.pairs % MOST_PAIRS)
        code("vldmia r1!, {{s0-s3}}", "multipliers")
        for pixel, place in ((0, "s18"), (4, "s19"))[: self.pixels]:
            self._store(code, [f"r{4 + pixel + channel}" for channel in range(4)], place)
        code("vmov r2, r0, s16, s17")
        code("cmp r1, r2")
        code("bne 1b")
        code("vpop {{s16-s23}}")
        code("pop {{r4-r11, pc}}")
        return code.function(
            self.name,
            PARAMETERS,
            f"{2 * self.pairs} taps of int16.",
            f"aidge_cortexm_sums_int16_c(column, stream, first, second, end, {self.pairs}, {self.pixels}, "
            f"{self.apart // 4}, {self.levels.in_c});",
        )

    def _pairs(self, code: Routine, count: int) -> None:
        for _ in range(count):
            code("ldmia r0!, {{r2, r3}}" if self.pixels == 2 and not self.apart else "ldr r2, [r0], #4")
            if self.apart and self.pixels == 2:
                code(f"ldr r3, [r0, #{self.apart - 4}]")
            for first in (4, 6):
                code("ldr r12, [r1], #4")
                code("sxtb16 lr, r12")
                code("sxtb16 r12, r12, ror #8")
                for channel, weights in ((first, "lr"), (first + 1, "r12")):
                    code(f"smlad r{channel}, r2, {weights}, r{channel}")
                    if self.pixels == 2:
                        code(f"smlad r{channel + 4}, r3, {weights}, r{channel + 4}")

    def _store(self, code: Routine, sums: list[str], place: str) -> None:
        requantize(code, sums, self.levels)
        code(f"vmov r2, {place}")
        store(code, sums, "r2")
        code(f"vmov {place}, r2")


def requantize(code: Routine, sums: list[str], levels: Levels) -> None:
    """Four sums times the multipliers in s0-s3 become levels. r2, r12 and lr are lost, and s4-s7."""
    code(f"vmov s4, s5, {sums[0]}, {sums[1]}")
    code(f"vmov s6, s7, {sums[2]}, {sums[3]}")
    for operation in ("vcvt.f32.s32 s{0}, s{0}", "vmul.f32 s{0}, s{0}, s{1}", "vcvtr.s32.f32 s{0}, s{0}"):
        for channel in range(4):
            code(operation.format(4 + channel, channel))
    code(f"vmov {sums[0]}, {sums[1]}, s4, s5")
    code(f"vmov {sums[2]}, {sums[3]}, s6, s7")
    levels.prepare(code)
    if levels.zero_point:
        code.constant("r2", levels.zero_point)
    for total in sums:
        levels.apply(code, total)


def store(code: Routine, levels: list[str], pointer: str) -> None:
    """Four levels to any address."""
    for low, high in (levels[:2], levels[2:]):
        code(f"pkhbt {low}, {low}, {high}, lsl #16")
        code(f"str {low}, [{pointer}], #4")
