# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: four values at a time, two products of halfwords in an instruction.

Sums are words, so that shares may be finer than those of `resample_lanes_int8`, and levels those of any two scales.
"""

from __future__ import annotations

import functools

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8, SHIFTS
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import ResampleLanes, not_linear, run_of, whole_of
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, NodeView, Predicate
from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.thresholds import low_form, staircase
from aidge_build.operators.resampling import LARGEST_VALUE, multiplier

from .assembly import Routine
from .conditions import FEATURES
from .float32 import values
from .packing import as_words
from .resample_lanes_int8 import ENOUGH, RUN, TOGETHER, begin_column, end_of_row, end_of_run, layer_text

MOST = 32767  # of all shares of an output: each is a halfword
MOST_LEVEL = 1 << 20  # before it is limited
LINE_SHIFTS = (*SHIFTS, 0)
FLOATS = -1  # in place of a shift: levels by a product in float32
PARAMETERS = "const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns, const int32_t *levels"
_SUMS = tuple(f"%sum{place}" for place in range(TOGETHER))


def _not_linear(view: NodeView) -> str:
    return not_linear(view, MOST)


def _factor(view: NodeView) -> tuple[numpy.float32, int]:
    """Of a sum, and the sum of zero points."""
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    factor = multiplier(shares, float(source.quantization.scale), float(target.quantization.scale))
    return factor, -source.quantization.zero_point * whole_of(shares)


def _line_of(view: NodeView) -> tuple[int, list[int]] | None:
    """The shift of the integer form, and {start, multiplier, constant}; None where there is none."""
    (source,), (target,) = view.inputs, view.outputs
    whole = whole_of(view.operator.in_integers(source, target))
    return _found(*_factor(view), whole, target.quantization.zero_point)


@functools.lru_cache(64)
def _found(factor: numpy.float32, start: int, whole: int, zero_point: int) -> tuple[int, list[int]] | None:
    ends = (numpy.array([start + whole * level]) for level in INT8)
    stairs = staircase(FloatFactors(numpy.array([factor])), zero_point, *ends)
    for shift in LINE_SHIFTS:
        form = low_form(stairs, shift)
        if form.multipliers[0]:
            return shift, [start + int(form.extras[0]), int(form.multipliers[0]), int(form.constants[0])]
    return None


def _no_line(view: NodeView) -> str:
    return "" if _line_of(view) else "no line in integers gives the levels"


def _no_need(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    factor, _ = _factor(view)
    if LARGEST_VALUE * whole_of(view.operator.in_integers(source, target)) * float(factor) >= MOST_LEVEL:
        return "levels are far beyond 8 bits"
    return "a line in integers gives the levels" if _line_of(view) else ""


LINEAR = Predicate("sums of two axes with shares that fit 16 bits", _not_linear)
IN_INTEGERS = Predicate("a line in integers gives the levels", _no_line)
IN_FLOATS = Predicate("levels that floats alone give", _no_need)


@kernel("Resize", resample_spec(LINEAR, IN_INTEGERS, ENOUGH, features=FEATURES, form=CHANNELS_LAST))
class ResamplePairsInt8(ResampleLanes):
    def call(self) -> Call:
        return self.by_rows(*_line_of(self.view))

    def by_rows(self, shift: int, numbers: list[int]) -> Call:
        """The call of a layer whose sums become levels so."""
        row, text = _row_text(shift, run_of(self.view) % TOGETHER > 0)
        name = row.replace("pairs", "resample_pairs", 1)
        arguments = self.arguments_with(Constant("levels", as_words(numbers)))
        texts = text, layer_text(name, row, "int32_t")
        return Call(name, ("resample_pairs_int8.h",), arguments, texts=texts, facts=computed("4 values", 1))


@kernel("Resize", resample_spec(LINEAR, IN_FLOATS, ENOUGH, features=FEATURES | {"fpu"}, form=CHANNELS_LAST))
class ResamplePairsFloatInt8(ResamplePairsInt8):
    """Ties of sums over what is no power of two go to the even level, which no line does."""

    def call(self) -> Call:
        factor, start = _factor(self.view)
        zero_point = self.outputs[0].quantization.zero_point
        return self.by_rows(FLOATS, [start, int(factor.view(numpy.int32)), zero_point])


def _row_text(shift: int, is_odd: bool) -> tuple[str, str]:
    """Name and text of a row of outputs."""
    is_float = shift == FLOATS
    name = f"aidge_cortexm_pairs_{'floats' if is_float else shift}{'_odd' * is_odd}"
    code = Routine()
    code("%enter")
    if is_float:
        code("ldm %levels, {%start, %factor, %zero}")
        code("put %zero")
        code("vmov %s.factor, %factor")
    else:
        code("ldm %levels, {%start, %multiplier, %constant}")
        code("put %multiplier, %constant")
    code("put %start")
    begin_column(code)
    code("orr %share, %share0, %share1, lsl #16")
    code("mul %upper, %share, %upper")
    code("mul %lower, %share, %lower")
    code(f"ldr %run, [%row, #{RUN}]")
    code("add %end, %output, %run")
    code("put %end")
    code.label("turn", "4 values")
    _sums(code, "%source0", "%source1", "%upper", is_first=True)
    _sums(code, "%source2", "%source3", "%lower", is_first=False)
    (_floats if is_float else _line)(code, shift)
    for place, value in enumerate(_SUMS):
        code(f"strb {value}, [%output, #{place - TOGETHER}]" if place else f"strb {value}, [%output], #{TOGETHER}")
    code("get %end")
    end_of_run(code, is_odd)
    end_of_row(code)
    form = "aidge_cortexm_pairs_by_floats" if is_float else "aidge_cortexm_pairs_by_line"
    portable = f"{form}(row, output, columns, levels{f', {shift}' * (not is_float)});"
    return name, code.function(name, PARAMETERS, "Linear resizing: a row of outputs.", portable)


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


def _line(code: Routine, shift: int) -> None:
    code("get %multiplier, %constant")
    for total in _SUMS:
        code(f"smmla {total}, {total}, %multiplier, %constant")
    for total in _SUMS:
        code(f"ssat {total}, #8, {total}{f', asr #{shift}' if shift else ''}")


def _floats(code: Routine, _: int) -> None:
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
