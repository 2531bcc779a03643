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

from ..core.assembly import Routine
from ..core.float32 import values
from .mean_rows import BYTES, INPUT_SCALE, NUMBERS, SCALE, mean_function, mean_row, totals_of
from .narrow_windows import store_lanes
from .windows_inside import lanes_of, loads, name_of

WORDS = 4  # of taps in registers
_SUM, _OTHER, _FACTOR, _DIVISOR = "%s.sum", "%s.other", "%s.factor", "%s.divisor"


def are_halves(count: int, mean: IntegerMean | None, data: Quantization, result: Quantization) -> bool:
    """Whether means of so many values are their sums, shifted, but for those in the middle between two levels."""
    is_shift = 1 < count <= WORDS and count & (count - 1) == 0 and data.scale == result.scale
    return is_shift and mean is not None and mean.band * count < 1 << FRACTION_BITS


def halves_text(shape: Mapping[str, int], order: Order, saturates: bool) -> tuple[str, str]:
    """Name and text of a row of such windows, of a shape as in kit/window2d.h, whose values are added up in this order;
    `saturates`: the zero points differ."""
    name = f"aidge_cortexm_means_{name_of(shape)}_halves_{order.name.lower()}{'_saturated' if saturates else ''}"
    code, taps, lanes = Routine(), shape["kernel_height"] * shape["kernel_width"], lanes_of(shape)

    def four() -> None:
        _sums(code, shape, lanes)
        for lane in lanes:
            total, place = _place(lane)
            code(f"tst {total}, #{taps - 1 << place}")
            code(f"beq %middle{lane}", "in the middle of two levels")
            code.label(f"found{lane}")
        _store(code, taps.bit_length() - 1, saturates, lanes)

    mean_row(code, shape, lambda: _begin(code, taps), four)
    for lane in lanes:
        _middle(code, shape, order, lane)
    return name, mean_function(code, name, shape)


def _begin(code: Routine, taps: int) -> None:
    """Loads the numbers for rounding, and for values in order."""
    bits = taps.bit_length() - 1
    code(f"ldr %numbers, [%mean, #{NUMBERS}]")
    code(f"vldr {_FACTOR}, [%numbers, #{INPUT_SCALE}]")
    code(f"vldr {_DIVISOR}, [%numbers, #{SCALE}]")
    code(f"ldrsb %zero, [%numbers, #{BYTES + 1}]", "zero point")
    code(f"ldrsb %minus_zero, [%numbers, #{BYTES}]", "zero point of the input")
    code(f"vmov.f32 {_SUM}, #{taps}.0")
    code(f"vmul.f32 {_DIVISOR}, {_DIVISOR}, {_SUM}", "exact")
    code("sub %half, %zero, %minus_zero")
    code(f"lsl %half, %half, #{bits}")
    code(f"add %half, %half, #{taps // 2}")
    code("pkhbt %half, %half, %half, lsl #16", "a half and the difference of the zero points")
    code("rsb %minus_zero, %minus_zero, #0")
    code(f"lsl %zero, %zero, #{bits}")
    code("mov %bytes, #0xFF00FF00")
    code("uadd8 %bytes, %bytes, %bytes", "SEL takes bytes 1 and 3 of the first operand")


def _sums(code: Routine, shape: Mapping[str, int], lanes: tuple[int, ...]) -> None:
    words = [f"%word{index}" for index in range(shape["kernel_height"] * shape["kernel_width"])]
    for index, word in enumerate(loads(code, shape, words)):
        for total, turned in totals_of(lanes):
            code(f"sxtab16 {total}, {total if index else '%half'}, {word}{turned}")


def _store(code: Routine, bits: int, saturates: bool, lanes: tuple[int, ...]) -> None:
    totals = [total for total, _ in totals_of(lanes)]
    for total in totals if saturates else ():
        code(f"ssat16 {total}, #{8 + bits}, {total}")
    code(f"lsr %even, %even, #{bits}")
    if "%odd" in totals:
        code(f"lsl %odd, %odd, #{8 - bits}")
        code("sel %even, %odd, %even")
    store_lanes(code, "%even", lanes)


def _place(lane: int) -> tuple[str, int]:
    """The value and the lowest bit of a sum."""
    return "%odd" if lane % 2 else "%even", lane // 2 * 16


def _middle(code: Routine, shape: Mapping[str, int], order: Order, channel: int) -> None:
    """Out of the way: one channel's level by its taps in float32, as in kit/mean.h; VMLA rounds twice."""
    numbers, (total, place) = values("tap", shape["kernel_height"] * shape["kernel_width"]), _place(channel)
    turned = f", ror #{8 * channel}" if channel else ""
    code.label(f"middle{channel}")
    for tap in range(0, len(numbers), 2):
        for value, word in (("%left", tap), ("%right", tap + 1)):
            code(f"sxtab {value}, %minus_zero, %word{word}{turned}")
        code(f"vmov {numbers[tap]}, {numbers[tap + 1]}, %left, %right")
    for number in numbers:
        code(f"vcvt.f32.s32 {number}, {number}")
    _add_up(code, numbers, shape["kernel_width"], order)
    code(f"vdiv.f32 {_SUM}, {_SUM}, {_DIVISOR}")
    code(f"vcvtr.s32.f32 {_SUM}, {_SUM}")
    code(f"vmov %level, {_SUM}")
    code(f"add %level, %zero, %level, lsl #{len(numbers).bit_length() - 1}")
    code(f"bfi {total}, %level, #{place}, #16")
    code(f"b %found{channel}")


def _add_up(code: Routine, numbers: list[str], width: int, order: Order) -> None:
    """The sum of the taps of rows of this width."""
    chains = [numbers[column::width] for column in range(width)] if order is Order.COLUMNS else [numbers]
    for number, chain in enumerate(chains):
        total = _OTHER if number else _SUM
        for index, tap in enumerate(chain):
            code(f"{'vmla' if index else 'vmul'}.f32 {total}, {tap}, {_FACTOR}")
        if number:
            code(f"vadd.f32 {_SUM}, {_SUM}, {_OTHER}")
