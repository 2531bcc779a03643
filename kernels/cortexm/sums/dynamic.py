# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization in assembly: one or two pixels x 4 output channels, sums scaled to float32."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aidge_build.contract.kernel_kit.dynamic import bits_of, end_name

from ..core.assembly import Routine
from ..core.conditions import GROUP
from ..core.float32 import listed, values
from .dense import split_steps
from .weights import Pixel, Weights

PARAMETERS = "const uint32_t *column, const int32_t *stream, const float *table, float *first, float *second, const int32_t *end"
_HIGHEST = (1 << 31) - 1  # of int32
_SUMS = [[f"%{letter}{channel}" for channel in range(GROUP)] for letter in "ab"]  # of both pixels
Bounds = tuple[float, float]


def routine(pixels: int, pairs: int, weights: Weights, bounds: Bounds, unroll: int, overlap: int) -> tuple[str, str]:
    """Name and text of a function that computes all groups of channels for one or two pixels of `pairs` pairs of taps. One more
    group is behind the end of the stream if `overlap` of its channels are in the group before, too."""
    name = f"aidge_cortexm_dynamic_{pixels}x{pairs}_{weights.name}{clamp_name(bounds)}_u{unroll}"
    name += f"_overlap{overlap}" if overlap else ""
    outputs = ["first", "second"][:pixels]
    code = Routine()
    code("%enter.floats")
    code.constant("%column_end", 4 * pixels * pairs)
    code("add %column_end, %column_end, %column")
    code("put %column")
    code("put %table, %first")
    if pixels == 2:
        code("ldr %second, [%argument.4]")
        code("put %second, %column_end")
    if weights.minus:
        _add_up(code, pixels, weights)
    code.align()
    code.label("group", f"a group of {GROUP} channels")
    _all_steps(code, pixels, pairs * pixels // 2, weights, unroll)
    for sums, output in zip(_SUMS, outputs):
        weights.separate(code, sums)
        if weights.minus:
            code(f"get %{output}_minus")
            weights.less_sums(code, sums, f"%{output}_minus")
    code("get %table")
    code(f"vldmia %table!, {listed([*values('factor', GROUP), *values('bias', GROUP)])}")
    code("put %table")
    load_limit(code, bounds, "%limit")
    for sums, output in zip(_SUMS, outputs):
        code(f"get %{output}")
        scale(code, sums, bounds, f"%{output}", "%limit")
        code(f"put %{output}")
    code("ldr %end, [%argument.5]")
    code("get %column")
    code("cmp %stream, %end")
    if overlap:
        code("blo %group")
        code("bhi %leaving")
        for output in outputs:
            code(f"get %{output}")
            code(f"sub %{output}, %{output}, #{4 * overlap}", "to the last 4 channels")
            code(f"put %{output}")
        code("b %group")
        code.label("leaving")
    else:
        code("bne %group")
    code("%leave")
    return name, code.function(name, PARAMETERS, f"{pairs} pairs of taps of {pixels} pixels to float32.")


def _add_up(code: Routine, pixels: int, weights: Weights) -> None:
    """The sums of the taps of each pixel, times the `minus` of the weights."""
    totals = ["%first_minus", "%second_minus"][:pixels]
    for total in totals:
        code(f"mov {total}, #0")
    code(f"mvn %minus, #{0x10001 * ~weights.minus}")
    code.label("add_up", "4 taps")
    code("ldrd %x0, %x1, [%column], #8")
    for tap, total in zip(("%x0", "%x1"), (totals[0], totals[-1])):
        code(f"smlad {total}, {tap}, %minus, {total}")
    code("cmp %column, %column_end")
    code("bne %add_up")
    for total in totals:
        code(f"put {total}")
    code("get %column")


def _all_steps(code: Routine, pixels: int, steps: int, weights: Weights, unroll: int) -> None:
    """The products of a group, at most `unroll` steps in the text; the first one begins the sums."""
    ahead, body = split_steps(steps - 1, unroll, start=0)
    for index in range(1 + ahead):
        _step(code, pixels, weights, index == 0)
    if body:
        code.label("turn", f"{body} steps")
        for _ in range(body):
            _step(code, pixels, weights)
        if pixels == 2:
            code("get %column_end")
        code("cmp %column, %column_end")
        code("bne %turn")


def _step(code: Routine, pixels: int, weights: Weights, is_first: bool = False) -> None:
    """Two words of the column: a pair of taps of both pixels, or two pairs of one."""
    code("ldrd %x0, %x1, [%column], #8", "taps")
    (first, second), nothing = _SUMS, [""] * GROUP
    pair: Pixel = ("%x0", first, nothing if is_first else first)
    if pixels == 2:
        registers, pairs = ["%w0", "%w1"], [[pair, ("%x1", second, nothing if is_first else second)]]
    else:
        registers, pairs = ["%w0", "%w1", "%w2", "%w3"], [[pair], [("%x1", first, first)]]
    for words in weights.steps(pairs, registers):
        loads = {1: "ldr %w0, [%stream], #4", 2: "ldrd %w0, %w1, [%stream], #8", 4: f"ldm.w %stream!, {listed(registers)}"}
        code(loads[len(words)], "weights")
        weights.multiply(code, words, registers[len(words) :])


def clamp_name(bounds: Bounds) -> str:
    """The part of a name that tells the limits of the output."""
    lowest, highest = bounds
    if highest < math.inf:
        return end_name(highest)
    return "_relu" if lowest == 0 else ""


def scale(code: Routine, sums: Sequence[str], bounds: Bounds, output: str, limit: str) -> None:
    """4 sums times their factors plus their biases, to the `output`, which then points behind them; `limit` as in `clamp`."""
    floats = values("scaled", GROUP)
    for first in (0, 2):
        code(f"vmov {', '.join((*floats[first : first + 2], *sums[first : first + 2]))}")
    for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, {1}", "vadd.f32 {0}, {0}, {2}"):
        for value, factor, bias in zip(floats, values("factor", GROUP), values("bias", GROUP)):
            code(operation.format(value, factor, bias))
    if not clamp_name(bounds):
        code(f"vstmia {output}!, {listed(floats)}")
        return
    for first in (0, 2):
        code(f"vmov {', '.join((*sums[first : first + 2], *floats[first : first + 2]))}")
    clamp(code, sums, bounds, limit)
    code(f"stm {output}!, {listed(sums)}")


def load_limit(code: Routine, bounds: Bounds, limit: str) -> None:
    """Loads the register `limit` for `clamp`: from the highest value to 2^31 - 1, as integers."""
    if bounds[1] < math.inf:
        code.constant(limit, _HIGHEST - bits_of(bounds[1]))


def clamp(code: Routine, totals: Sequence[str], bounds: Bounds, limit: str) -> None:
    """Clamps floats in core registers as integers, in whose order those above 0 are: a value beyond the highest one saturates
    when `limit` is added."""
    if bounds[1] < math.inf:
        for operation in ("qadd", "sub"):
            for value in totals:
                code(f"{operation} {value}, {value}, {limit}")
    if clamp_name(bounds):
        for value in totals:
            code(f"bic {value}, {value}, {value}, asr #31", "0 if negative")


CHANNELS = (
    "const uint8_t *from, const int32_t *weights, const float *numbers, float *output, const aidge_cortexm_dynamic_patch *patch"
)


def depthwise(bounds: Bounds, signed: bool) -> tuple[str, str]:
    """Name and text of a function that computes 4 channels of one pixel of a depthwise layer; `signed`: of int8."""
    name = f"aidge_cortexm_dynamic_channels{clamp_name(bounds)}{'_signed' * signed}"
    sums, extend = [f"%sum{channel}" for channel in range(GROUP)], f"{'s' if signed else 'u'}xtab16"
    code = Routine()
    code("%enter.floats")
    code("ldr %patch, [%argument.4]")
    code("ldm %patch, {%zero, %rows, %length, %next_row, %step, %next_weights}")
    code("put %numbers, %output")
    code("put %length, %next_row")
    code("put %next_weights")
    code(f"mov %zeros, #{0x800080 if signed else 0}", "data are read with their signs")
    code("ssub16 %zeros, %zeros, %zero", "less than nothing, to be added")
    for total in sums:
        code(f"mov {total}, #0")
    code("cmp %rows, #0")
    code("beq %summed")
    code.label("row", "a row of taps")
    code("get %length")
    code("add %end, %from, %length")
    code.label("tap")
    code("ldr %taps, [%from]")
    code("ldrd %even, %odd, [%weights], #8")
    code("add %from, %from, %step")
    for half, first in (("even", 0), ("odd", 1)):
        code(f"{extend} %pair, %zeros, %taps{', ror #8' * first}")
        code(f"smlabb {sums[first]}, %pair, %{half}, {sums[first]}")
        code(f"smlatt {sums[first + 2]}, %pair, %{half}, {sums[first + 2]}")
    code("cmp %from, %end")
    code("bne %tap")
    code("get %next_row")
    code("get %next_weights")
    code("add %from, %from, %next_row")
    code("add %weights, %weights, %next_weights")
    code("subs %rows, %rows, #1")
    code("bne %row")
    code.label("summed")
    code("get %numbers, %output")
    code(f"vldmia %numbers, {listed([*values('factor', GROUP), *values('bias', GROUP)])}")
    load_limit(code, bounds, "%limit")
    scale(code, sums, bounds, "%output", "%limit")
    code("%leave")
    return name, code.function(name, CHANNELS, "Depthwise: 4 channels of a pixel.")
