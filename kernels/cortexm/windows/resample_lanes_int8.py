# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: four values at a time, two products of halfwords in an instruction.

A sum becomes a quantized value by a shift, if the factor is a power of two (ties go to the even value, which a bit of the sum
tells), by a product of integers, or by a product in float32.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8, SHIFTS
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import Even, ResampleLanes, not_linear, run_of, sums_of
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, NodeView, Predicate
from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.thresholds import low_form, staircase
from aidge_build.operators.resampling import LARGEST_VALUE

from ..core.assembly import Routine
from ..core.conditions import FEATURES
from ..core.float32 import values

TOGETHER = 4  # values; the last ones of a run overlap those before
MOST = 32767  # of all shares of an output: each is a halfword
MOST_LEVEL = 1 << 20  # before it is limited
LINE_SHIFTS = (*SHIFTS, 0)
EVEN, TURNED, LINE, FLOATS = "even", "turned", "line", "floats"
PARAMETERS = "const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns, const int32_t *levels"
_ROWS, _SHARES, _END, _RUN = 0, 8, 16, 20  # in the row
_SUMS = tuple(f"%sum{place}" for place in range(TOGETHER))


@dataclass(frozen=True)
class Levels:
    """The way from sums to quantized values, and the numbers that the text reads: what sums begin with first."""

    form: str
    shift: int
    numbers: tuple[int, ...]


def _not_linear(view: NodeView) -> str:
    return not_linear(view, MOST)


def _short_run(view: NodeView) -> str:
    run = run_of(view)
    return f"{run} adjacent elements, wants at least {TOGETHER}" if run < TOGETHER else ""


def _levels(view: NodeView) -> Levels:
    if even := Even.of(view):
        # If ties are turned, the bit is read after the last 1 is added.
        return Levels(TURNED if even.is_turned else EVEN, even.shift, (even.start + even.is_turned,))
    return _found(*sums_of(view), view.outputs[0].quantization.zero_point)


@functools.lru_cache(64)
def _found(factor: numpy.float32, start: int, whole: int, zero_point: int) -> Levels:
    ends = (numpy.array([start + whole * level]) for level in INT8)
    stairs = staircase(FloatFactors(numpy.array([factor])), zero_point, *ends)
    for shift in LINE_SHIFTS:
        form = low_form(stairs, shift)
        if form.multipliers[0]:
            return Levels(LINE, shift, (start + int(form.extras[0]), int(form.multipliers[0]), int(form.constants[0])))
    return Levels(FLOATS, 0, (start, int(factor.view(numpy.int32)), zero_point))


def _in_floats(view: NodeView) -> str:
    return "no product of integers gives the levels" if _levels(view).form == FLOATS else ""


def _far(view: NodeView) -> str:
    factor, _, whole = sums_of(view)
    return "levels are far beyond 8 bits" if LARGEST_VALUE * whole * float(factor) >= MOST_LEVEL else ""


LINEAR = Predicate("sums of two axes with shares that fit 16 bits", _not_linear)
IN_INTEGERS = Predicate("a shift or a product of integers gives the levels", _in_floats)
NEAR = Predicate("levels that floats give", _far)
ENOUGH = Predicate("runs of at least 4", _short_run)


@kernel("Resize", resample_spec(LINEAR, IN_INTEGERS, ENOUGH, features=FEATURES, form=CHANNELS_LAST))
class ResampleLanesInt8(ResampleLanes):
    assembly = "needed"

    def call(self) -> Call:
        levels, is_odd = _levels(self.view), run_of(self.view) % TOGETHER > 0
        row, text = _row_text(levels.form, levels.shift, is_odd)
        name = row.replace("lanes", "resample_lanes", 1)
        arguments = self.arguments(Constant("levels", as_words(levels.numbers)))
        texts = text, _layer_text(name, row)
        return Call(name, ("core/target.h", "kit/resample_lanes.h"), arguments, texts=texts, facts=computed("4 values", 1))


@kernel("Resize", resample_spec(LINEAR, NEAR, ENOUGH, features=FEATURES | {"fpu"}, form=CHANNELS_LAST))
class ResampleLanesFloatInt8(ResampleLanesInt8):
    """Ties of sums over what is no power of two go to the even value, which no product of integers gives."""


def _row_text(form: str, shift: int, is_odd: bool) -> tuple[str, str]:
    """Name and text of a row of outputs."""
    kind = {FLOATS: FLOATS, TURNED: f"{EVEN}_{shift}_{TURNED}"}.get(form, f"{form}_{shift}")
    name = f"aidge_cortexm_lanes_{kind}{'_odd' * is_odd}"
    code = Routine()
    code("%enter")
    code(
        {FLOATS: "ldm %levels, {%start, %factor, %zero}", LINE: "ldm %levels, {%start, %multiplier, %constant}"}.get(
            form, "ldr %start, [%levels]"
        )
    )
    if form == FLOATS:
        code("put %zero")
        code("vmov %s.factor, %factor")
    elif form == LINE:
        code("put %multiplier, %constant")
    code("put %start")
    _begin_column(code)
    code.label("turn", "4 values")
    _sums(code, "%source0", "%source1", "%upper", is_first=True)
    _sums(code, "%source2", "%source3", "%lower", is_first=False)
    {FLOATS: _floats, LINE: _line}.get(form, _even)(code, form, shift)
    for place, value in enumerate(_SUMS):
        code(f"strb {value}, [%output, #{place - TOGETHER}]" if place else f"strb {value}, [%output], #{TOGETHER}")
    code("get %end")
    _end_of_run(code, is_odd)
    code("get %columns, %row")
    code(f"ldr %last, [%row, #{_END}]")
    code("cmp %columns, %last")
    code("bne %column")
    code("%leave")
    return name, code.function(name, PARAMETERS, "Linear resizing: a row of outputs.")


def _begin_column(code: Routine) -> None:
    """Label column: where two taps are in both rows (%source0 to %source3), and pairs of their shares (%upper, %lower)."""
    code.label("column", "a column")
    code("ldm %columns!, {%offset0, %share0, %offset1, %share1}")
    code("put %columns, %row")
    code(f"ldrd %upper, %lower, [%row, #{_ROWS}]", "both rows")
    for place in range(4):
        code(f"add %source{place}, %{('upper', 'lower')[place // 2]}, %offset{place % 2}")
    code(f"ldrd %upper, %lower, [%row, #{_SHARES}]", "their shares")
    code("orr %share, %share0, %share1, lsl #16")
    code("mul %upper, %share, %upper")
    code("mul %lower, %share, %lower")
    code(f"ldr %run, [%row, #{_RUN}]")
    code("add %end, %output, %run")
    code("put %end")


def _end_of_run(code: Routine, is_odd: bool) -> None:
    """The loop `turn` goes on until %end; of an odd run the last ones start that many values earlier."""
    if is_odd:
        code("subs %left, %end, %output", "values that are left")
        code("beq %done")
        code(f"subs %left, %left, #{TOGETHER}")
        code("bge %turn")
        for pointer in (*(f"source{place}" for place in range(4)), "output"):
            code(f"add %{pointer}, %{pointer}, %left")
        code("b %turn")
        code.label("done")
    else:
        code("cmp %output, %end")
        code("bne %turn")


def _sums(code: Routine, first: str, second: str, share: str, is_first: bool) -> None:
    """The products of two neighbours in a row of the input with their shares, added to the sums; the first ones begin them."""
    code(f"ldr %word, [{first}], #4")
    code(f"ldr %upper_bytes, [{second}], #4")
    if is_first:
        code("get %start")
    code("pkhbt %lower_bytes, %word, %upper_bytes, lsl #16", "bytes 0 and 1 of both")
    code("pkhtb %upper_bytes, %upper_bytes, %word, asr #16", "bytes 2 and 3")
    for index, total in enumerate(_SUMS):
        code(f"sxtb16 %word, %{'lower' if index < 2 else 'upper'}_bytes{', ror #8' * (index % 2)}")
        code(f"smlad {total}, %word, {share}, {'%start' if is_first else total}")


def _even(code: Routine, form: str, shift: int) -> None:
    """The bit of a sum that tells where ties go is added, or if they are turned its complement is taken off."""
    for total in _SUMS:
        code(f"lsrs %bit, {total}, #{shift + 1}", "into the carry flag")
        code(f"{'sbc' if form == TURNED else 'adc'} {total}, {total}, #0")
    for total in _SUMS:
        code(f"ssat {total}, #8, {total}, asr #{shift}")


def _line(code: Routine, _: str, shift: int) -> None:
    code("get %multiplier, %constant")
    for total in _SUMS:
        code(f"smmla {total}, {total}, %multiplier, %constant")
    for total in _SUMS:
        code(f"ssat {total}, #8, {total}{f', asr #{shift}' if shift else ''}")


def _floats(code: Routine, *_) -> None:
    numbers = values("number", TOGETHER)
    for first in (0, 2):
        code(f"vmov {', '.join((*numbers[first : first + 2], *_SUMS[first : first + 2]))}")
    for statement in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, %s.factor", "vcvtr.s32.f32 {0}, {0}"):
        for number in numbers:
            code(statement.format(number))
    code("get %zero")
    for first in (0, 2):
        code(f"vmov {', '.join((*_SUMS[first : first + 2], *numbers[first : first + 2]))}")
    for total in _SUMS:
        code(f"add {total}, {total}, %zero")
    for total in _SUMS:
        code(f"ssat {total}, #8, {total}")


def _layer_text(name: str, row: str) -> str:
    """The function `name` of a layer, which calls `row` for each row of outputs."""
    return f"""/* Resizing along rows and columns with two taps each. */
static void {name}(
    const int8_t *input, int8_t *output, const int32_t *rows, const int32_t *columns, const int32_t *levels,
    const aidge_kit_lanes_shape *shape)
{{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {{
        for (row = 0; row < shape->rows; row++) {{
            const aidge_kit_lanes_row place = aidge_kit_lanes_row_of(input, rows, row, columns, shape);
            {row}(&place, output, columns, levels);
            output += shape->columns * shape->run;
        }}
        input += shape->step;
    }}
}}"""
