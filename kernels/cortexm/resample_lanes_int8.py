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
_UPPER, _ABOVE, _END, _RUN = 0, 8, 16, 20  # in the row
COLUMNS, _FRAME = 0, 8  # on the stack; behind the columns the row
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
    """Of bytes 0 and 2 of four words in r11, of bytes 1 and 3 in r12."""
    for place in range(4):
        code(f"ldr r10, [r{place}], #4")
        code("eor r10, r10, #0x80808080")
        code("uxtb16 r9, r10")
        code("uxtb16 r10, r10, ror #8")
        for total, value in (("r11", "r9"), ("r12", "r10")):
            code(f"mla {total}, {value}, r{4 + place}, {total}" if place else f"mul {total}, {value}, r{4 + place}")


def end_of_run(code: Routine, output: str, end: str, left: str, is_odd: bool) -> None:
    """The loop 2 goes on until `end`; of an odd run the last ones start that many values earlier."""
    if is_odd:
        code(f"subs {left}, {end}, {output}", "values that are left")
        code("beq 3f")
        code(f"subs {left}, {left}, #{TOGETHER}")
        code("bge 2b")
        for pointer in ("r0", "r1", "r2", "r3", output):
            code(f"add {pointer}, {pointer}, {left}")
        code("b 2b")
        code.label(3)
    else:
        code(f"cmp {output}, {end}")
        code("bne 2b")


def end_of_row(code: Routine, frame: int) -> None:
    """The loop 1 goes on until the row's last columns; then the function returns, whose frame has `frame` bytes."""
    code(f"ldrd r2, lr, [sp, #{COLUMNS}]")
    code(f"ldr r3, [lr, #{_END}]")
    code("cmp r2, r3")
    code("bne 1b")
    code(f"add sp, sp, #{frame}")
    code("pop {{r4-r11, pc}}")


def _even(code: Routine, levels: Levels) -> None:
    for total in ("r11", "r12"):
        code(f"mvn r9, {total}, lsr #{levels.shift}" if levels.ties == 3 else f"lsr r9, {total}, #{levels.shift}")
        code("and r9, r9, #0x00010001")
        code(f"add {total}, {total}, r9")
        if levels.start:
            code(f"add {total}, {total}, #{levels.start * 0x00010001:#010x}")
        code(f"lsr {total}, {total}, #{levels.shift}")
        code(f"uxtb16 {total}, {total}")
    code("orr r11, r11, r12, lsl #8")
    code("eor r11, r11, #0x80808080")


def row_text(levels: Levels, is_odd: bool) -> tuple[str, str]:
    """Name and text of a row of outputs. A clamp costs nothing here."""
    name, code = f"aidge_cortexm_lanes_even_{levels.ties}_{levels.shift}{'_odd' * is_odd}", Routine({})
    code("push {{r4-r11, lr}}")
    code(f"sub sp, sp, #{_FRAME}")
    code("mov lr, r0")
    code("mov r8, r1")
    code.label(1, "a column")
    code("ldm r2!, {{r4-r7}}", "offset, share, offset, share")
    code(f"strd r2, lr, [sp, #{COLUMNS}]")
    code(f"ldrd r10, r11, [lr, #{_UPPER}]", "both rows")
    code("add r0, r10, r4")
    code("add r1, r10, r6")
    code("add r2, r11, r4")
    code("add r3, r11, r6")
    code(f"ldrd r10, r11, [lr, #{_ABOVE}]", "their shares")
    code("mul r4, r5, r10")
    code("mul r6, r5, r11")
    code("mul r5, r7, r10")
    code("mul r7, r7, r11")
    code(f"ldr r9, [lr, #{_RUN}]")
    code("add lr, r8, r9", "the end of the run")
    code.label(2, "4 values")
    _sums(code)
    _even(code, levels)
    code("str r11, [r8], #4")
    end_of_run(code, "r8", "lr", "r9", is_odd)
    end_of_row(code, _FRAME)
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
