# SPDX-License-Identifier: MIT
"""Means of windows that lie inside the image in assembly: 4 channels at a time, all taps in the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aidge_build.operators.arithmetic.means import Order

from ..core.assembly import Routine
from ..core.offsets import plus
from .depthwise_layout import LARGEST_OFFSET
from .mean_rows import BYTES, COUNT, INPUT_SCALE, NUMBERS, SCALE, mean_function, mean_row, totals_of
from .windows_inside import lanes_of, loads, name_of, places_of

# Floats: zero point and scale of the input, what sums are divided by, the zero point.
_INPUT_ZERO, _FACTOR, _COUNT, _DIVISOR, _ZERO = (f"%s.{name}" for name in ("input_zero", "factor", "count", "divisor", "zero"))
_LINE = "ldm %mean, {%multiplier, %start, %unsure}"
_TOTALS = "%even", "%odd"
_SUM, _OTHER, _VALUE = "%s.sum", "%s.other", "%s.value"


def window_text_without_fpu(shape: Mapping[str, int], bits: int, order: Order) -> tuple[str, str]:
    """The same on a core without an FPU: `unsure_text` adds up what lies beside the middle of two levels."""
    name, code = f"aidge_cortexm_means_{name_of(shape)}_b{bits}_{order.name.lower()}_in_c", Routine()

    def begin() -> None:
        code("put %mean")
        code(_LINE, "its line")

    def level(lane: str) -> None:
        code("put %source, %output")
        code("sub %first, %source, #4", "the window's first value of this channel")
        if lane:
            code(f"add %first, %first, {lane}")
        code("mov %number, %total")
        code("get %mean")
        code.call(f"aidge_cortexm_unsure_mean2d_{order.name.lower()}", "%number", "%first", "%mean", result="%result")
        code(f"lsl %word, %result, #{bits}")
        if lane:  # then there are more values than registers that a call keeps
            code("get %mean")
            code(_LINE)
        code("get %source, %output")

    mean_row(code, shape, begin, lambda: _four(code, shape, bits), on_stack=True)
    _unsure(code, shape, level, needs_sum=True)
    return name, mean_function(code, name, shape)


def unsure_text(order: Order) -> str:
    """The C function of one order alone, which takes less stack than that of any."""
    return f"""/* The stored value of a sum that lies beside the middle of two levels, or nearly so. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_unsure_mean2d_{order.name.lower()}(
    int32_t sum, const int8_t *first, const aidge_cortexm_mean2d *mean)
{{
    const int32_t *const numbers = mean->numbers;
    const int64_t product = aidge_kit_multiply_s64((sum + mean->offset) * AIDGE_KIT_MEAN_FACTOR, numbers[0]);
    const uint32_t fraction = (uint32_t)product;
    int32_t level = (int32_t)((uint64_t)product >> 32) + (int32_t)(fraction >> 31);
    if (aidge_kit_is_decided(fraction, numbers) == 0) {{
        level = aidge_kit_mean_{order.name.lower()}(first, &mean->window, numbers[AIDGE_CORTEXM_MEAN_COUNT], numbers);
    }}
    return aidge_kit_stored_level(level, numbers);
}}"""


def window_text(shape: Mapping[str, int], bits: int, order: Order, counts_pads: bool = False) -> tuple[str, str]:
    """Name and text of a row of such windows, of a shape as in kit/window2d.h, whose values are added up in this order; sums are
    scaled with `bits` fraction bits. `counts_pads`: they count more taps than they have."""
    name = f"aidge_cortexm_means_{name_of(shape)}_b{bits}_{order.name.lower()}{'_counted' if counts_pads else ''}"
    code = Routine()
    taps = shape["kernel_height"] * shape["kernel_width"]
    is_exact = taps & (taps - 1) == 0 and not counts_pads  # a division by the count only changes the exponent

    def begin() -> None:
        _begin(code, is_exact)
        code(_LINE, "its line")

    def level(lane: str) -> None:
        if lane:
            code(f"add %source, %source, {lane}")
        _floats(code, shape, order, is_exact)
        if lane:
            code(f"sub %source, %source, {lane}")
        code("ssat %word, #8, %word")
        code(f"lsl %word, %word, #{bits}")

    mean_row(code, shape, begin, lambda: _four(code, shape, bits))
    _unsure(code, shape, level)
    return name, mean_function(code, name, shape)


def _four(code: Routine, shape: Mapping[str, int], bits: int) -> None:
    """The levels of 4 values."""
    lanes = lanes_of(shape)
    for index, word in enumerate(loads(code, shape)):
        for total, turned in totals_of(lanes):
            before = f"sxtab16 {total}, {total}" if index else f"sxtb16 {total}"
            code(f"{before}, {word}{turned}")
    _levels(code, bits, lanes)


def _begin(code: Routine, is_exact: bool) -> None:
    """Loads the numbers for values in order."""
    code(f"ldr %numbers, [%mean, #{NUMBERS}]")
    code(f"ldrsb %input_zero, [%numbers, #{BYTES}]", "zero point of the input")
    code(f"ldrsb %zero, [%numbers, #{BYTES + 1}]", "zero point")
    code(f"ldr %count, [%numbers, #{COUNT}]")
    code(f"vldr {_FACTOR}, [%numbers, #{INPUT_SCALE}]")
    code(f"vldr {_DIVISOR}, [%numbers, #{SCALE}]")
    for number, value in ((_INPUT_ZERO, "input_zero"), (_ZERO, "zero"), (_COUNT, "count")):
        code(f"vmov {number}, %{value}")
        code(f"vcvt.f32.s32 {number}, {number}")
    if is_exact:
        code(f"vmul.f32 {_DIVISOR}, {_DIVISOR}, {_COUNT}", "exact")


def _levels(code: Routine, bits: int, lanes: tuple[int, ...]) -> None:
    for lane in lanes:
        code(f"smla{'bbtt'[lane]}b %level{lane}, {_TOTALS[lane % 2]}, %multiplier, %start")
    for lane in lanes:
        code(f"cmp %unsure, %level{lane}, lsl #{32 - bits}")
        code(f"bhs %unsure{lane}", "beside the middle of two levels")
        code.label(f"sure{lane}")
    for lane in lanes:
        code(f"ssat %level{lane}, #8, %level{lane}, asr #{bits}")
    for lane in lanes:
        code(f"strb %level{lane}, [%output], #1")


def _unsure(code: Routine, shape: Mapping[str, int], level: Callable[[str], None], needs_sum: bool = False) -> None:
    """Out of the way: the level of one channel by its values in order, where the line's one is expected. `level` leaves it,
    shifted, in %word, for a channel; its sum is in %total if it `needs_sum`."""
    lanes = lanes_of(shape)
    for lane in lanes:
        code.label(f"unsure{lane}")
        if needs_sum:
            code(f"asr %total, {_TOTALS[lane % 2]}, #16" if lane > 1 else f"sxth %total, {_TOTALS[lane % 2]}")
        if len(lanes) > 1:
            code(f"mov %lane, #{lane}")
        if lane != lanes[-1]:
            code("b %level")
    code.label("level", "of this channel of the window")
    level("%lane" if len(lanes) > 1 else "")
    if len(lanes) > 1:
        code.table_jump("%lane", [f"found{lane if lane in lanes else lanes[0]}" for lane in range(4)], "table")
    for lane in lanes:
        code.label(f"found{lane}")
        code(f"mov %level{lane}, %word")
        code(f"b %sure{lane}")


def _floats(code: Routine, shape: Mapping[str, int], order: Order, is_exact: bool) -> None:
    """The level with the zero point in %word of one channel's values in float32, as in kit/mean.h; VMLA rounds twice."""
    places = places_of(shape)
    chains = list(zip(*places)) if order is Order.COLUMNS else [sum(places, [])]
    for chain, taps in enumerate(chains):
        total = _OTHER if chain else _SUM
        for index, place in enumerate(taps):
            _value(code, place)
            if index:
                code(f"vmla.f32 {total}, {_VALUE}, {_FACTOR}")
            else:
                code(f"vmul.f32 {total}, {_VALUE}, {_FACTOR}")
        if chain:
            code(f"vadd.f32 {_SUM}, {_SUM}, {_OTHER}")
    if not is_exact:
        code(f"vdiv.f32 {_SUM}, {_SUM}, {_COUNT}")
    code(f"vdiv.f32 {_SUM}, {_SUM}, {_DIVISOR}")
    code(f"vcvtr.s32.f32 {_SUM}, {_SUM}")
    code(f"vcvt.f32.s32 {_SUM}, {_SUM}")
    code(f"vadd.f32 {_SUM}, {_SUM}, {_ZERO}")
    code(f"vcvt.s32.f32 {_SUM}, {_SUM}")
    code(f"vmov %word, {_SUM}")


def _value(code: Routine, place: int) -> None:
    """The value at a place behind the window, whose first 4 channels lie before the source; without the zero point."""
    behind = place - 4
    if behind > LARGEST_OFFSET:
        code("mov %word, %source")
        plus(code, "%word", behind)
        code("ldrsb %word, [%word]")
    else:
        code(f"ldrsb %word, [%source, #{behind}]")
    code(f"vmov {_VALUE}, %word")
    code(f"vcvt.f32.s32 {_VALUE}, {_VALUE}")
    code(f"vsub.f32 {_VALUE}, {_VALUE}, {_INPUT_ZERO}")
