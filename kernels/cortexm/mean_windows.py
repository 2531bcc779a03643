# SPDX-License-Identifier: MIT
"""Means of windows that lie inside the image in assembly: 4 channels at a time, all taps in the text."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.operators.arithmetic.means import Order

from .assembly import Routine
from .depthwise_layout import LARGEST_OFFSET
from .mean_rows import BYTES, COUNT, INPUT_SCALE, MEAN, NUMBERS, SCALE, mean_function, mean_row, totals_of
from .offsets import plus
from .windows_inside import lanes_of, loads, name_of, places_of

REGISTERS = {
    "source": "r0",
    "output": "r1",
    "end": "r2",
    "multiplier": "r3",
    "start": "r4",
    "unsure": "r5",
    "even": "r6",
    "odd": "r7",
    **{f"level{index}": f"r{8 + index}" for index in range(4)},
    "word": "r12",
    "row": "lr",
}
# What waits in FPU registers, as floats: zero point and scale of the input, by what sums are divided, the zero point.
_INPUT_ZERO, _FACTOR, _COUNT, _DIVISOR, _ZERO = "s10", "s11", "s12", "s13", "s14"
_UNSURE, _FLOATS, _TABLE, _FOUND = 20, 30, 31, 32  # labels


def window_text_without_fpu(shape: Mapping[str, int], bits: int, order: Order) -> tuple[str, str]:
    """The same on a core without an FPU: `unsure_text` adds up what lies beside the middle of two levels."""
    name = f"aidge_cortexm_means_{name_of(shape)}_b{bits}_{order.name.lower()}_in_c"
    code, lanes = Routine(REGISTERS), lanes_of(shape)
    mean_row(code, shape, lambda: code("ldm r2, {{r3-r5}}", "its line"), lambda: _four(code, shape, bits), on_stack=True)
    for lane in lanes:
        code.label(_UNSURE + 2 * lane)
        code("push {{r0-r3}}")
        code(f"sub r1, {{source}}, #{4 - lane}", "the window's first value of this channel")
        code(f"{'asr' if lane > 1 else 'sxth'} r0, {{{('even', 'odd')[lane % 2]}}}{', #16' if lane > 1 else ''}")
        code(f"ldr r2, [sp, #{16 + MEAN}]")
        code.call(f"aidge_cortexm_unsure_mean2d_{order.name.lower()}")
        code(f"lsl {{level{lane}}}, r0, #{bits}")
        code("pop {{r0-r3}}")
        code(f"b {_UNSURE + 2 * lane + 1}b")
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
    code = Routine(REGISTERS)
    taps = shape["kernel_height"] * shape["kernel_width"]
    is_exact = taps & (taps - 1) == 0 and not counts_pads  # a division by the count only changes the exponent

    def begin() -> None:
        _begin(code, is_exact)
        code("ldm r2, {{r3-r5}}", "its line")

    mean_row(code, shape, begin, lambda: _four(code, shape, bits))
    _unsure(code, shape, bits, order, is_exact)
    return name, mean_function(code, name, shape)


def _four(code: Routine, shape: Mapping[str, int], bits: int) -> None:
    """The levels of 4 values."""
    lanes = lanes_of(shape)
    for index, _ in enumerate(loads(code, shape)):
        for total, turned in totals_of(lanes):
            before = f"sxtab16 {{{total}}}, {{{total}}}" if index else f"sxtb16 {{{total}}}"
            code(f"{before}, {{word}}{turned}")
    _levels(code, bits, lanes)


def _begin(code: Routine, is_exact: bool) -> None:
    """What the values in order need; r2: the mean."""
    code(f"ldr r4, [r2, #{NUMBERS}]", "its numbers")
    code(f"ldrsb r5, [r4, #{BYTES}]", "zero point of the input")
    code(f"ldrsb r6, [r4, #{BYTES + 1}]", "zero point")
    code(f"ldr r7, [r4, #{COUNT}]")
    code(f"vldr {_FACTOR}, [r4, #{INPUT_SCALE}]")
    code(f"vldr {_DIVISOR}, [r4, #{SCALE}]")
    code(f"vmov {_INPUT_ZERO}, r5")
    code(f"vmov {_ZERO}, r6")
    code(f"vmov {_COUNT}, r7")
    for register in (_INPUT_ZERO, _ZERO, _COUNT):
        code(f"vcvt.f32.s32 {register}, {register}")
    if is_exact:
        code(f"vmul.f32 {_DIVISOR}, {_DIVISOR}, {_COUNT}", "exact")


def _levels(code: Routine, bits: int, lanes: tuple[int, ...]) -> None:
    for lane in lanes:
        code(f"smla{'bbtt'[lane]}b {{level{lane}}}, {{{('even', 'odd')[lane % 2]}}}, {{multiplier}}, {{start}}")
    for lane in lanes:
        code(f"cmp {{unsure}}, {{level{lane}}}, lsl #{32 - bits}")
        code(f"bhs {_UNSURE + 2 * lane}f", "beside the middle of two levels")
        code.label(_UNSURE + 2 * lane + 1)
    for lane in lanes:
        code(f"ssat {{level{lane}}}, #8, {{level{lane}}}, asr #{bits}")
    for lane in lanes:
        code(f"strb {{level{lane}}}, [{{output}}], #1")


def _unsure(code: Routine, shape: Mapping[str, int], bits: int, order: Order, is_exact: bool) -> None:
    """Out of the way: the level of one channel by its values in order, where the line's one is expected."""
    lanes = lanes_of(shape)
    for lane in lanes:
        code.label(_UNSURE + 2 * lane)
        code(f"mov {{row}}, #{lane}")
        if lane != lanes[-1]:
            code(f"b {_FLOATS}f")
    code.label(_FLOATS, "the values of channel {row} of the window in order")
    code("add {source}, {source}, {row}")
    _floats(code, shape, order, is_exact)
    code("sub {source}, {source}, {row}")
    code("ssat {word}, #8, {word}")
    code(f"lsl {{word}}, {{word}}, #{bits}")
    code.table_jump("lr", [_FOUND + (lane if lane in lanes else lanes[0]) for lane in range(4)], _TABLE)
    for lane in lanes:
        code.label(_FOUND + lane)
        code(f"mov {{level{lane}}}, {{word}}")
        code(f"b {_UNSURE + 2 * lane + 1}b")


def _floats(code: Routine, shape: Mapping[str, int], order: Order, is_exact: bool) -> None:
    """The level with the zero point in {word} of one channel's values in float32, as in kit/mean.h; VMLA rounds twice."""
    places = places_of(shape)
    chains = list(zip(*places)) if order is Order.COLUMNS else [sum(places, [])]
    for chain, taps in enumerate(chains):
        total = "s1" if chain else "s0"
        for index, place in enumerate(taps):
            _value(code, place)
            if index:
                code(f"vmla.f32 {total}, s2, {_FACTOR}")
            else:
                code(f"vmul.f32 {total}, s2, {_FACTOR}")
        if chain:
            code("vadd.f32 s0, s0, s1")
    if not is_exact:
        code(f"vdiv.f32 s0, s0, {_COUNT}")
    code(f"vdiv.f32 s0, s0, {_DIVISOR}")
    code("vcvtr.s32.f32 s0, s0")
    code("vcvt.f32.s32 s0, s0")
    code(f"vadd.f32 s0, s0, {_ZERO}")
    code("vcvt.s32.f32 s0, s0")
    code("vmov {word}, s0")


def _value(code: Routine, place: int) -> None:
    """In s2: the value at a place behind the window, whose first 4 channels lie before the source; without the zero point."""
    behind = place - 4
    if behind > LARGEST_OFFSET:
        code("mov {word}, {source}")
        plus(code, "{word}", behind)
        code("ldrsb {word}, [{word}]")
    else:
        code(f"ldrsb {{word}}, [{{source}}, #{behind}]")
    code("vmov s2, {word}")
    code("vcvt.f32.s32 s2, s2")
    code(f"vsub.f32 s2, s2, {_INPUT_ZERO}")
