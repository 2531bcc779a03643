# SPDX-License-Identifier: MIT
"""What makes outputs of neighbours in a line (resample_lines.h), as text: 14 to 21 instructions for eight values.

The sum of two neighbours, each with its share, and of `added` becomes a level in one of four ways:

- even: sums of values + 128; a shift, and ties go to the even level, which a bit of the sum tells;
- scaled: (sum * multiplier + start) >> shift, proved for every sum;
- float, wide: sums of values minus the zero point times a float32 factor, rounded half to even, plus the zero point. Wide: sums
  need more than 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .assembly import Assembler, c_function, function

# r4: shares of the first neighbour where they are gathered
COUNT, OTHER, ADDED, MULTIPLIER, START = "r8", "r9", "r10", "r11", "r12"
PARAMETERS = "int8_t *y, const int16_t *line, const {table} *columns, const int32_t *numbers"


@dataclass(frozen=True)
class Form:
    """How a sum becomes a level. `turned`: ties go to the odd bit; `start` of float and wide: the zero point."""

    kind: str
    shift: int
    turned: bool
    added: int
    multiplier: int
    start: int

    @property
    def suffix(self) -> str:
        """Of names of functions."""
        return self.kind + (f"_{self.shift}" if self.shift else "") + ("_turned" if self.turned else "")


def resample_text(form: Form, gathers: bool, count: int) -> tuple[str, tuple[str, ...]]:
    """The name of the function for a layer with so many outputs side by side, and the texts that it needs."""
    odd = form.kind in ("scaled", "float") and count % 2 == 1
    suffix = f"{'gathered' if gathers else 'runs'}_{form.suffix}{'_odd' if odd else ''}"
    inner, outer = f"aidge_helium_blend_{suffix}", f"aidge_helium_resample_{suffix}"
    table = "uint16_t" if gathers else "int32_t"
    emit, plain = (_gathered(form, odd), _plain_gathered(form)) if gathers else (_runs(form, odd), _plain_runs(form))
    purpose = "A row of outputs, each of two neighbours of the line."
    text = function(inner, purpose, PARAMETERS.format(table=table), emit.lines, plain)
    driver = c_function(
        outer,
        "const int8_t *input, int8_t *output, void *scratch, const int32_t *rows, "
        f"const {table} *columns, const int32_t *numbers, const aidge_helium_lines_shape *shape",
        [
            "int32_t image, row;",
            "for (image = 0; image < shape->images; image++) {",
            "    for (row = 0; row < shape->rows; row++) {",
            "        aidge_helium_blend_rows((int16_t *)scratch, input, rows + 4 * row, shape->count);",
            f"        {inner}(output, (const int16_t *)scratch, columns, numbers);",
            "        output += shape->outputs;",
            "    }",
            "    input += shape->step;",
            "}",
        ],
    )
    return outer, (text, driver)


def _enter(form: Form) -> Assembler:
    emit = Assembler()
    emit("push {r4-r12, lr}", "vpush {d8-d9}", f"ldm r3, {{{COUNT}, {OTHER}, {ADDED}, {MULTIPLIER}, {START}}}")
    if form.kind == "even":
        emit("vmov.i16 q4, #1")
    elif form.kind == "scaled":
        emit(f"vdup.32 q4, {MULTIPLIER}")
    return emit


def _gathered(form: Form, odd: bool) -> Assembler:
    emit, lanes = _enter(form), 32 if form.kind == "wide" else 16
    emit("ldr r4, [r3, #20]", why="all shares together")
    emit(f"add {OTHER}, {OTHER}, r1", f"add r3, r2, {COUNT}, lsl #1", why="second neighbours, and their shares")
    _pieces(emit, form, COUNT, odd, "r0", lambda then: _gather(emit, form, lanes, then))
    emit("vpop {d8-d9}", "pop {r4-r12, pc}")
    return emit


def _gather(emit: Assembler, form: Form, lanes: int, then: str) -> None:
    if form.kind == "wide":
        emit("vldrh.u32 q0, [r2], #8", "vldrb.u32 q3, [r3], #4")
        emit("vldrh.s32 q1, [r1, q0, uxtw #1]", f"vldrh.s32 q2, [{OTHER}, q0, uxtw #1]")
    else:
        emit(*(["vpstttt"] if then else []), f"vldrh{then}.u16 q0, [r2], #16", f"vldrb{then}.u16 q3, [r3], #8")
        emit(f"vldrh{then}.u16 q1, [r1, q0, uxtw #1]", f"vldrh{then}.u16 q2, [{OTHER}, q0, uxtw #1]")
    emit(f"vsub.i{lanes} q2, q2, q1", f"vmlas.s{lanes} q2, q3, {ADDED}", f"vmla.s{lanes} q2, q1, r4")


def _runs(form: Form, odd: bool) -> Assembler:
    emit, lanes = _enter(form), 32 if form.kind == "wide" else 16
    emit.label(5)
    emit("ldm r2!, {r4-r7}", "add r4, r4, r1", "add r6, r6, r1", "mov r3, r0", f"add r0, r0, {OTHER}")
    _pieces(emit, form, OTHER, odd, "r3", lambda then: _neighbours(emit, form, lanes, then))
    emit(f"subs {COUNT}, {COUNT}, #1", "bne 5b")
    emit("vpop {d8-d9}", "pop {r4-r12, pc}")
    return emit


def _neighbours(emit: Assembler, form: Form, lanes: int, then: str) -> None:
    if form.kind == "wide":
        emit("vldrh.s32 q2, [r4], #8", "vldrh.s32 q1, [r6], #8")
    else:
        emit(*(["vpstt"] if then else []), f"vldrh{then}.u16 q2, [r4], #16", f"vldrh{then}.u16 q1, [r6], #16")
    emit(f"vmul.i{lanes} q2, q2, r5", f"vmla.s{lanes} q2, q1, r7", f"vadd.i{lanes} q2, q2, {ADDED}")


def _pieces(emit: Assembler, form: Form, count: str, odd: bool, output: str, load: Callable[[str], None]) -> None:
    """All sums, and their levels. Where they are odd, the end of a loop would hold half of a sum of 32 bits: it is by itself."""
    if odd:
        emit(f"lsr lr, {count}, #3", "wls lr, lr, 2f")
    else:
        emit(f"wlstp.{32 if form.kind == 'wide' else 16} lr, {count}, 2f")
    emit.label(1)
    load("")
    _level(emit, form, output, "")
    emit("le lr, 1b" if odd else "letp lr, 1b")
    emit.label(2)
    if odd:
        emit(f"and lr, {count}, #7", "vctp.16 lr", why="those left over")
        load("t")
        _level(emit, form, output, "t")


def _level(emit: Assembler, form: Form, output: str, then: str) -> None:
    """Stores the levels of the sums in q2."""
    if form.kind == "even":
        emit(f"vshr.u16 q0, q2, #{form.shift}", "vand q0, q0, q4", why="whether the level below is odd")
        emit(f"v{'sub' if form.turned else 'add'}.i16 q2, q2, q0", f"vadd.i16 q2, q2, {START}")
        emit(f"vshr.s16 q2, q2, #{form.shift}", f"vstrb.16 q2, [{output}], #8")
    elif form.kind == "scaled":
        emit("vmovlb.u16 q0, q2", "vmovlt.u16 q1, q2", f"vmlas.s32 q0, q4, {START}", f"vmlas.s32 q1, q4, {START}")
        emit(f"vshr.s32 q0, q0, #{form.shift}", f"vshr.s32 q1, q1, #{form.shift}")
        emit("vqmovnb.s32 q2, q0", "vqmovnt.s32 q2, q1", "vqmovnb.s16 q2, q2")
        emit(*(["vpst"] if then else []), f"vstrb{then}.16 q2, [{output}], #8")
    elif form.kind == "float":
        emit("vmovlb.s16 q0, q2", "vmovlt.s16 q1, q2", "vcvt.f32.s32 q0, q0", "vcvt.f32.s32 q1, q1")
        emit(f"vmul.f32 q0, q0, {MULTIPLIER}", f"vmul.f32 q1, q1, {MULTIPLIER}")
        emit("vcvtn.s32.f32 q0, q0", "vcvtn.s32.f32 q1, q1", "vqmovnb.s32 q2, q0", "vqmovnt.s32 q2, q1")
        emit(f"vqadd.s16 q2, q2, {START}", "vqmovnb.s16 q2, q2")
        emit(*(["vpst"] if then else []), f"vstrb{then}.16 q2, [{output}], #8")
    else:
        emit("vcvt.f32.s32 q2, q2", f"vmul.f32 q2, q2, {MULTIPLIER}", "vcvtn.s32.f32 q2, q2", f"vqadd.s32 q2, q2, {START}")
        emit("vqmovnb.s32 q2, q2", "vqmovnb.s16 q2, q2", f"vstrb.32 q2, [{output}], #4")


def _plain_level(form: Form) -> list[str]:
    """C from the int32 `sum` to `level`."""
    if form.kind == "even":
        sign = "-" if form.turned else "+"
        return [
            "sum &= 0xFFFF;",
            f"level = (sum + numbers[4] {sign} (sum >> {form.shift} & 1)) >> {form.shift};",
        ]
    if form.kind == "scaled":
        lines = [f"level = ((sum & 0xFFFF) * numbers[3] + numbers[4]) >> {form.shift};"]
    else:
        lines = ["(void)memcpy(&factor, numbers + 3, sizeof factor);", "level = aidge_kit_scale(sum, factor) + numbers[4];"]
    return [*lines, "level = level < -128 ? -128 : level > 127 ? 127 : level;"]


def _plain_gathered(form: Form) -> str:
    body = [
        "const int32_t first = line[columns[i]], second = line[columns[i] + numbers[1] / 2];",
        "int32_t sum = first * (numbers[5] - shares[i]) + second * shares[i] + numbers[2], level;",
        *(["float factor;"] if form.kind in ("float", "wide") else []),
        *_plain_level(form),
        "y[i] = (int8_t)level;",
    ]
    lines = ["const uint8_t *const shares = (const uint8_t *)(columns + numbers[0]);", "int32_t i;"]
    return _c([*lines, "for (i = 0; i < numbers[0]; i++) {", *(f"    {line}" for line in body), "}"])


def _plain_runs(form: Form) -> str:
    body = [
        "const int32_t first = line[columns[0] / 2 + i], second = line[columns[2] / 2 + i];",
        "int32_t sum = first * columns[1] + second * columns[3] + numbers[2], level;",
        *(["float factor;"] if form.kind in ("float", "wide") else []),
        *_plain_level(form),
        "*y++ = (int8_t)level;",
    ]
    inner = ["for (i = 0; i < numbers[1]; i++) {", *(f"    {line}" for line in body), "}", "columns += 4;"]
    return _c(
        ["int32_t column, i;", "for (column = 0; column < numbers[0]; column++) {", *(f"    {line}" for line in inner), "}"]
    )


def _c(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
