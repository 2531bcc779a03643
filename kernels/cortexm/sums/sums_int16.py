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


class Levels(linear_int16.Levels):
    """The same, applied to words in registers."""

    @property
    def _compared(self) -> tuple[tuple[str, str, int], ...]:
        """Condition, name of the end and bound of what no saturating instruction does."""
        low, high = ("lt", "%lowest", self.low - self.zero_point), ("gt", "%highest", self.high - self.zero_point)
        if self._saturates:
            return (high,) if self.high < LIMITS[1] else ()
        return low, high

    @property
    def _saturates(self) -> bool:
        return self.zero_point == 0 and self.low in (0, LIMITS[0])

    def prepare(self, code: Routine) -> None:
        """The numbers that `apply` wants, as far as it does."""
        for _, end, bound in self._compared:
            code.constant(end, bound)
        if self.zero_point:
            code.constant("%point", self.zero_point)

    def apply(self, code: Routine, value: str) -> None:
        """Clamp first, as what is added might not fit."""
        if self._saturates:
            code(f"ssat {value}, #16, {value}" if self.low else f"usat {value}, #15, {value}")
        for condition, end, _ in self._compared:
            code(f"cmp {value}, {end}")
            code(f"it {condition}")
            code(f"mov{condition} {value}, {end}")
        if self.zero_point:
            code(f"add {value}, {value}, %point")


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
        code = Routine()
        code("%enter.floats")
        code("ldr %end, [%argument.4]")
        code("mov %begin, %column")
        turns = self.pairs // MOST_PAIRS
        if turns > 1:
            code.constant("%turns_end", 4 * (1 if self.apart else self.pixels) * MOST_PAIRS * turns)
            code("add %turns_end, %turns_end, %column")
        sums = [[f"%sum{pixel}_{channel}" for channel in range(4)] for pixel in range(self.pixels)]
        code.label("group", "4 channels")
        code(f"ldm %stream!, {{{', '.join(sums[0])}}}", "biases")
        for bias, total in zip(sums[0], sums[-1] if self.pixels == 2 else ()):
            code(f"mov {total}, {bias}")
        if turns > 1:
            code.label("turn", f"{2 * MOST_PAIRS} taps")
        if turns:
            self._pairs(code, sums, MOST_PAIRS)
        if turns > 1:
            code("cmp %column, %turns_end")
            code("bne %turn")
        self._pairs(code, sums, self.pairs % MOST_PAIRS)
        code("vldmia %stream!, {%s.factor0, %s.factor1, %s.factor2, %s.factor3}", "multipliers")
        for totals, pointer in zip(sums, ("%first", "%second")):
            requantize(code, totals, self.levels)
            store(code, totals, pointer)
        code("mov %column, %begin")
        code("cmp %stream, %end")
        code("bne %group")
        code("%leave")
        return code.function(
            self.name,
            PARAMETERS,
            f"{2 * self.pairs} taps of int16.",
            f"aidge_cortexm_sums_int16_c(column, stream, first, second, end, {self.pairs}, {self.pixels}, "
            f"{self.apart // 4}, {self.levels.in_c});",
        )

    def _pairs(self, code: Routine, sums: list[list[str]], count: int) -> None:
        for _ in range(count):
            code("ldm %column!, {%data0, %data1}" if self.pixels == 2 and not self.apart else "ldr %data0, [%column], #4")
            if self.apart and self.pixels == 2:
                code(f"ldr %data1, [%column, #{self.apart - 4}]")
            for first in (0, 2):
                code("ldr %odd, [%stream], #4")
                code("sxtb16 %even, %odd")
                code("sxtb16 %odd, %odd, ror #8")
                for channel, weights in ((first, "%even"), (first + 1, "%odd")):
                    for pixel, totals in enumerate(sums):
                        code(f"smlad {totals[channel]}, %data{pixel}, {weights}, {totals[channel]}")


def requantize(code: Routine, sums: list[str], levels: Levels) -> None:
    """Four sums times the multipliers %s.factor0 to %s.factor3 become levels."""
    code(f"vmov %s.value0, %s.value1, {sums[0]}, {sums[1]}")
    code(f"vmov %s.value2, %s.value3, {sums[2]}, {sums[3]}")
    for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, {1}", "vcvtr.s32.f32 {0}, {0}"):
        for channel in range(4):
            code(operation.format(f"%s.value{channel}", f"%s.factor{channel}"))
    code(f"vmov {sums[0]}, {sums[1]}, %s.value0, %s.value1")
    code(f"vmov {sums[2]}, {sums[3]}, %s.value2, %s.value3")
    levels.prepare(code)
    for total in sums:
        levels.apply(code, total)


def store(code: Routine, levels: list[str], pointer: str) -> None:
    """Four levels to any address."""
    for low, high in (levels[:2], levels[2:]):
        code(f"pkhbt {low}, {low}, {high}, lsl #16")
        code(f"str {low}, [{pointer}], #4")
