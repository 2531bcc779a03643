# SPDX-License-Identifier: MIT
"""Means of 2 or 4 values whose scale stays, of windows inside the image, in assembly.

The sum is the level, shifted: each halfword of a word is rounded by itself, and no multiplication is needed. But many means lie
in the middle between two levels. Which of them float32 takes depends on how each product and sum of the values is rounded: there,
and nowhere else, the taps that the registers still hold are added up in float32.
"""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.means import FRACTION_BITS, IntegerMean, Order

from .assembly import Routine
from .mean_rows import BYTES, INPUT_SCALE, NUMBERS, SCALE, mean_function, mean_row, totals_of
from .narrow_windows import store_lanes
from .windows_inside import lanes_of, loads, name_of

REGISTERS = {
    "source": "r0",
    "output": "r1",
    "end": "r2",
    "half": "r3",
    "minus_zero": "r4",
    "zero": "r5",
    "even": "r6",
    "odd": "r7",
    **{f"word{index}": f"r{8 + index}" for index in range(4)},
    "word": "r12",
    "row": "lr",
}
WORDS = 4  # of taps in registers
# What waits in FPU registers: the input's scale, by what sums are divided.
_FACTOR, _DIVISOR = "s13", "s14"
_MIDDLE = 20  # labels: of each channel, where it lies in the middle and where it goes on


def are_halves(count: int, mean: IntegerMean | None, data: Quantization, result: Quantization) -> bool:
    """Whether means of so many values are their sums, shifted, but for those in the middle between two levels."""
    is_shift = 1 < count <= WORDS and count & (count - 1) == 0 and data.scale == result.scale
    return is_shift and mean is not None and mean.band * count < 1 << FRACTION_BITS


def halves_text(shape: Mapping[str, int], order: Order, saturates: bool) -> tuple[str, str]:
    """Name and text of a row of such windows, of a shape as in kit/window2d.h, whose values are added up in this order;
    `saturates`: the zero points differ."""
    name = f"aidge_cortexm_means_{name_of(shape)}_halves_{order.name.lower()}{'_saturated' if saturates else ''}"
    code, taps, lanes = Routine(REGISTERS), shape["kernel_height"] * shape["kernel_width"], lanes_of(shape)

    def four() -> None:
        _sums(code, shape, lanes)
        for lane in lanes:
            total, place = _place(lane)
            code(f"tst {total}, #{taps - 1 << place}")
            code(f"beq {_MIDDLE + 2 * lane}f", "in the middle of two levels")
            code.label(_MIDDLE + 2 * lane + 1)
        _store(code, taps.bit_length() - 1, saturates, lanes)

    mean_row(code, shape, lambda: _begin(code, taps), four)
    for lane in lanes:
        _middle(code, shape, order, lane)
    return name, mean_function(code, name, shape)


def _begin(code: Routine, taps: int) -> None:
    """What is rounded, and what values in order need; r2: the mean. Leaves lr alone."""
    bits = taps.bit_length() - 1
    code(f"ldr r4, [r2, #{NUMBERS}]", "its numbers")
    code(f"vldr {_FACTOR}, [r4, #{INPUT_SCALE}]")
    code(f"vldr {_DIVISOR}, [r4, #{SCALE}]")
    code(f"ldrsb r5, [r4, #{BYTES + 1}]", "zero point")
    code(f"ldrsb r4, [r4, #{BYTES}]", "zero point of the input")
    code(f"vmov.f32 s0, #{taps}.0")
    code(f"vmul.f32 {_DIVISOR}, {_DIVISOR}, s0", "exact")
    code("sub r3, r5, r4")
    code(f"lsl r3, r3, #{bits}")
    code(f"add r3, r3, #{taps // 2}")
    code("pkhbt r3, r3, r3, lsl #16", "a half and the difference of the zero points")
    code("rsb r4, r4, #0")
    code(f"lsl r5, r5, #{bits}")
    code("mov r12, #0xFF00FF00")
    code("uadd8 r12, r12, r12", "SEL takes bytes 1 and 3 of the first operand")


def _sums(code: Routine, shape: Mapping[str, int], lanes: tuple[int, ...]) -> None:
    words = [f"word{index}" for index in range(shape["kernel_height"] * shape["kernel_width"])]
    for index, word in enumerate(loads(code, shape, words)):
        for total, turned in totals_of(lanes):
            code(f"sxtab16 {{{total}}}, {{{total if index else 'half'}}}, {{{word}}}{turned}")


def _store(code: Routine, bits: int, saturates: bool, lanes: tuple[int, ...]) -> None:
    totals = [total for total, _ in totals_of(lanes)]
    for total in totals if saturates else ():
        code(f"ssat16 {{{total}}}, #{8 + bits}, {{{total}}}")
    code(f"lsr {{even}}, {{even}}, #{bits}")
    if "odd" in totals:
        code(f"lsl {{odd}}, {{odd}}, #{8 - bits}")
        code("sel {even}, {odd}, {even}")
    store_lanes(code, "{even}", lanes)


def _place(lane: int) -> tuple[str, int]:
    """The register and the lowest bit of a sum."""
    return "{odd}" if lane % 2 else "{even}", lane // 2 * 16


def _middle(code: Routine, shape: Mapping[str, int], order: Order, channel: int) -> None:
    """Out of the way: one channel's level by its taps in float32, as in kit/mean.h; VMLA rounds twice."""
    taps, (total, place) = shape["kernel_height"] * shape["kernel_width"], _place(channel)
    turned = f", ror #{8 * channel}" if channel else ""
    code.label(_MIDDLE + 2 * channel)
    for tap in range(0, taps, 2):
        for register, word in (("word", tap), ("row", tap + 1)):
            code(f"sxtab {{{register}}}, {{minus_zero}}, {{word{word}}}{turned}")
        code(f"vmov s{tap + 2}, s{tap + 3}, {{word}}, {{row}}")
    for tap in range(taps):
        code(f"vcvt.f32.s32 s{tap + 2}, s{tap + 2}")
    _add_up(code, shape, order)
    code(f"vdiv.f32 s0, s0, {_DIVISOR}")
    code("vcvtr.s32.f32 s0, s0")
    code("vmov {word}, s0")
    code(f"add {{word}}, {{zero}}, {{word}}, lsl #{taps.bit_length() - 1}")
    code(f"bfi {total}, {{word}}, #{place}, #16")
    code(f"b {_MIDDLE + 2 * channel + 1}b")


def _add_up(code: Routine, shape: Mapping[str, int], order: Order) -> None:
    """In s0: the sum of the taps from s2 on."""
    width = shape["kernel_width"]
    rows = [[f"s{2 + row * width + tap}" for tap in range(width)] for row in range(shape["kernel_height"])]
    chains = list(zip(*rows)) if order is Order.COLUMNS else [sum(rows, [])]
    for number, chain in enumerate(chains):
        sums = "s1" if number else "s0"
        for index, tap in enumerate(chain):
            code(f"{'vmla' if index else 'vmul'}.f32 {sums}, {tap}, {_FACTOR}")
        if number:
            code("vadd.f32 s0, s0, s1")
