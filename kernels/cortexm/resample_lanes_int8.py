# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: four values at a time, two sums in a register."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import LANES, Levels, ResampleLanes, levels_of, run_of
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, NodeView, Predicate

from .assembly import Routine
from .conditions import FEATURES

TOGETHER = 4  # values; the last ones of a run overlap those before
_EVEN = 1  # form of the C version
_UPPER, _ABOVE, _END, RUN = 0, 8, 16, 20  # in the row
PARAMETERS = "const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns, const aidge_kit_lanes_levels *levels"


def _short_run(view: NodeView) -> str:
    run = run_of(view)
    return f"{run} elements side by side, wants at least {TOGETHER}" if run < TOGETHER else ""


def _scaled(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    levels = levels_of(view.operator.in_integers(source, target), source, target)
    return "" if levels and levels.ties else "sums become levels by more than a shift"


ENOUGH = Predicate("runs of at least 4", _short_run)
SHIFTED = Predicate("levels by a shift alone", _scaled)


def _sums(code: Routine) -> None:
    """Of bytes 0 and 2 of four words, and of bytes 1 and 3."""
    for place in range(4):
        code(f"ldr %word, [%source{place}], #4")
        code("eor %word, %word, #0x80808080")
        code("uxtb16 %even, %word")
        code("uxtb16 %odd, %word, ror #8")
        for value in ("even", "odd"):
            product = f"%{value}s, %{value}, %weight{place}"
            code(f"mla {product}, %{value}s" if place else f"mul {product}")


def begin_column(code: Routine) -> None:
    """Label column: where two taps are in both rows (%source0 to %source3), their shares (%share0, %share1) and the shares of the
    rows (%upper, %lower)."""
    code.label("column", "a column")
    code("ldm %columns!, {%offset0, %share0, %offset1, %share1}")
    code("put %columns, %row")
    code(f"ldrd %upper, %lower, [%row, #{_UPPER}]", "both rows")
    for place in range(4):
        code(f"add %source{place}, %{('upper', 'lower')[place // 2]}, %offset{place % 2}")
    code(f"ldrd %upper, %lower, [%row, #{_ABOVE}]", "their shares")


def end_of_run(code: Routine, is_odd: bool) -> None:
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


def end_of_row(code: Routine) -> None:
    """The loop `column` goes on until the row's last columns; then the function returns."""
    code("get %columns, %row")
    code(f"ldr %last, [%row, #{_END}]")
    code("cmp %columns, %last")
    code("bne %column")
    code("%leave")


def _even(code: Routine, levels: Levels) -> None:
    for total in ("%evens", "%odds"):
        code(f"mvn %half, {total}, lsr #{levels.shift}" if levels.ties == 3 else f"lsr %half, {total}, #{levels.shift}")
        code("and %half, %half, #0x00010001")
        code(f"add {total}, {total}, %half")
        if levels.start:
            code(f"add {total}, {total}, #{levels.start * 0x00010001:#010x}")
        code(f"lsr {total}, {total}, #{levels.shift}")
        code(f"uxtb16 {total}, {total}")
    code("orr %evens, %evens, %odds, lsl #8")
    code("eor %evens, %evens, #0x80808080")


def row_text(levels: Levels, is_odd: bool) -> tuple[str, str]:
    """Name and text of a row of outputs. A clamp costs nothing here."""
    name, code = f"aidge_cortexm_lanes_even_{levels.ties}_{levels.shift}{'_odd' * is_odd}", Routine()
    code("%enter")
    begin_column(code)
    for place in range(4):
        code(f"mul %weight{place}, %share{place % 2}, %{('upper', 'lower')[place // 2]}")
    code(f"ldr %run, [%row, #{RUN}]")
    code("add %end, %output, %run")
    code.label("turn", "4 values")
    _sums(code)
    _even(code, levels)
    code("str %evens, [%output], #4")
    end_of_run(code, is_odd)
    end_of_row(code)
    portable = f"aidge_kit_lanes_columns(row, output, columns, levels, {_EVEN});"
    return name, code.function(name, PARAMETERS, "Linear resizing: a row of outputs.", portable)


@kernel("Resize", resample_spec(LANES, SHIFTED, ENOUGH, features=FEATURES, form=CHANNELS_LAST))
class ResampleLanesInt8(ResampleLanes):
    def call(self) -> Call:
        row, text = row_text(self.levels, run_of(self.view) % TOGETHER > 0)
        name = row.replace("lanes", "resample_lanes", 1)
        texts = text, layer_text(name, row, "aidge_kit_lanes_levels")
        return Call(name, ("resample_lanes_int8.h",), self.arguments(), texts=texts, facts=computed("4 values", 1))


def layer_text(name: str, row: str, levels: str) -> str:
    """The function `name` of a layer, which calls `row` for each row of outputs with levels of this type."""
    return f"""/* Resizing along rows and columns with two taps each. */
static void {name}(
    const int8_t *input, int8_t *output, const int32_t *rows, const int32_t *columns, const {levels} *levels,
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
