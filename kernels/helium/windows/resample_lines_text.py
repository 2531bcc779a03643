# SPDX-License-Identifier: MIT
"""The functions of resizing in lines, as text: rows are added up to a line of sums, then neighbours in the line.

A sum of neighbours, each times its share, and of a constant becomes a quantized value in one of two ways:

- even: the shares are fractions over a power of two; ties go to the even value, which a bit of the sum tells;
- float: the sum times a float32 factor, rounded half to even, plus the zero point.

numbers: columns of an output row and elements of a run (gathered: elements of an output row, and the bytes from one neighbour to
the next), the constant, the bits of the factor, the zero point.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import Assembler, c_function, function


@dataclass(frozen=True)
class Form:
    """Taps of `rows` and `columns`, bits of a sum in the `line` and in the `lanes` of a vector. `shift`: of even sums, else 0;
    `is_turned`: ties go to the odd bit."""

    gathers: bool
    rows: int
    columns: int
    line: int
    lanes: int
    shift: int
    is_turned: bool

    @property
    def suffix(self) -> str:
        """The end of the names of functions."""
        kind = f"even_{self.shift}{'_turned' * self.is_turned}" if self.shift else "float"
        return f"{'gathered' if self.gathers else 'runs'}_{kind}_{self.columns}_{self.line}_{self.lanes}"

    @property
    def table(self) -> str:
        """The C type of the columns' table."""
        return "int16_t" if self.gathers else "int32_t"


def resample_text(form: Form) -> tuple[str, tuple[str, ...]]:
    """The name of a layer's function, and the texts that it needs."""
    name = f"aidge_helium_resample_{form.suffix}_of_{form.rows}"
    line, add_up = f"int{form.line}_t", f"aidge_helium_line_{form.rows}_{form.line}"
    driver = c_function(
        name,
        "const int8_t *input, int8_t *output, void *scratch, const int32_t *rows, "
        f"const {form.table} *columns, const int32_t *numbers, const aidge_helium_lines_shape *shape",
        [
            "int32_t image, row;",
            "for (image = 0; image < shape->images; image++) {",
            "    for (row = 0; row < shape->rows; row++) {",
            f"        {add_up}(({line} *)scratch, input, rows + {2 * form.rows} * row, shape->count);",
            f"        aidge_helium_blend_{form.suffix}(output, (const {line} *)scratch, columns, numbers);",
            "        output += shape->outputs;",
            "    }",
            "    input += shape->step;",
            "}",
        ],
    )
    return name, (_line_text(form), _columns_text(form), driver)


def _line_text(form: Form) -> str:
    emit = Assembler()
    emit("%enter")
    _taps(emit, "row", "input", form.rows)
    emit(f"wlstp.{form.line} lr, %count, %done")
    emit.label("turn")
    _products(emit, form.rows, form.line, f"vldrb.s{form.line}", 128 // form.line)
    emit(f"vstr{'h' if form.line == 16 else 'w'}.{form.line} %q.sum, [%line], #16", "letp lr, %turn")
    emit.label("done")
    emit("%leave")
    return function(
        f"aidge_helium_line_{form.rows}_{form.line}",
        "line = rows of the input, each times its share; row: offsets, shares.",
        f"int{form.line}_t *line, const int8_t *input, const int32_t *row, int32_t count",
        emit.lines,
    )


def _taps(emit: Assembler, table: str, base: str, count: int) -> None:
    """Reads offsets and shares from a table; %from0, ... are addresses from the base on."""
    taps = range(count)
    emit(f"ldm %{table}!, {{{', '.join([f'%from{tap}' for tap in taps] + [f'%share{tap}' for tap in taps])}}}")
    emit(*(f"add %from{tap}, %from{tap}, %{base}" for tap in taps))


def _products(emit: Assembler, taps: int, lanes: int, load: str, step: int) -> None:
    """The sum of the taps, each times its share."""
    emit(f"{load} %q.sum, [%from0], #{step}", f"vmul.i{lanes} %q.sum, %q.sum, %share0")
    for tap in range(1, taps):
        emit(f"{load} %q.value, [%from{tap}], #{step}", f"vmla.s{lanes} %q.sum, %q.value, %share{tap}")


def _columns_text(form: Form) -> str:
    emit = Assembler()
    emit("%enter")
    names = ["count", "step" if form.gathers else "run", "added", *([] if form.shift else ["factor", "zero"])]
    emit(f"ldm %numbers, {{{', '.join(f'%{name}' for name in names)}}}")
    if form.shift:
        emit("vmov.i16 %q.one, #1")
    (_gathered if form.gathers else _runs)(emit, form)
    emit("%leave")
    return function(
        f"aidge_helium_blend_{form.suffix}",
        "A row of outputs, each of neighbours in the line.",
        f"int8_t *y, const int{form.line}_t *line, const {form.table} *columns, const int32_t *numbers",
        emit.lines,
    )


def _gathered(emit: Assembler, form: Form) -> None:
    size, step = ("u16", 16) if form.lanes == 16 else ("s32", 8)
    load = "vldrw.u32" if form.line == 32 else f"vldrh.{size}"
    for tap in range(1, form.columns):
        emit(f"add %from{tap}, %{f'from{tap - 1}' if tap > 1 else 'line'}, %step", why="the next neighbours")
    emit(f"wlstp.{form.lanes} lr, %count, %done")
    emit.label("turn")
    emit(f"vldrh.u{form.lanes} %q.place, [%columns], #{step}")
    for tap in range(form.columns):
        value = f"%q.{'value' if tap else 'sum'}"
        place = f"[%{f'from{tap}' if tap else 'line'}, %q.place, uxtw #{form.line // 16}]"
        emit(f"{load} {value}, {place}", f"vldrh.{size} %q.share, [%columns], #{step}")
        if tap:
            emit(f"vmul.i{form.lanes} {value}, {value}, %q.share", f"vadd.i{form.lanes} %q.sum, %q.sum, {value}")
        else:
            emit(f"vmlas.s{form.lanes} {value}, %q.share, %added")
    _store(emit, form, "y")
    emit("letp lr, %turn")
    emit.label("done")


def _runs(emit: Assembler, form: Form) -> None:
    size = "w.u32" if form.line == 32 else "h.u16" if form.lanes == 16 else "h.s32"
    emit.label("column")
    _taps(emit, "columns", "line", form.columns)
    emit("mov %to, %y", "add %y, %y, %run", f"wlstp.{form.lanes} lr, %run, %done")
    emit.label("turn")
    _products(emit, form.columns, form.lanes, f"vldr{size}", 16 * form.line // form.lanes)
    emit(f"vadd.i{form.lanes} %q.sum, %q.sum, %added")
    _store(emit, form, "to")
    emit("letp lr, %turn")
    emit.label("done")
    emit("subs %count, %count, #1", "bne %column")


def _store(emit: Assembler, form: Form, output: str) -> None:
    """Stores the quantized values of the sums."""
    if form.shift:
        emit(f"vshr.u16 %q.bit, %q.sum, #{form.shift}")
        emit("vbic %q.bit, %q.one, %q.bit" if form.is_turned else "vand %q.bit, %q.bit, %q.one", why="1 where ties go up")
        emit("vadd.i16 %q.sum, %q.sum, %q.bit", f"vshr.s16 %q.sum, %q.sum, #{form.shift}")
    elif form.lanes == 16:
        parts = ["%q.even", "%q.odd"]
        emit("vmovlb.s16 %q.even, %q.sum", "vmovlt.s16 %q.odd, %q.sum")
        for text in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, %factor", "vcvtn.s32.f32 {0}, {0}"):
            emit(*(text.format(part) for part in parts))
        emit("vqmovnb.s32 %q.sum, %q.even", "vqmovnt.s32 %q.sum, %q.odd")
        emit("vqadd.s16 %q.sum, %q.sum, %zero", "vqmovnb.s16 %q.sum, %q.sum")
    else:
        emit("vcvt.f32.s32 %q.sum, %q.sum", "vmul.f32 %q.sum, %q.sum, %factor", "vcvtn.s32.f32 %q.sum, %q.sum")
        emit("vqadd.s32 %q.sum, %q.sum, %zero", "vqmovnb.s32 %q.sum, %q.sum", "vqmovnb.s16 %q.sum, %q.sum")
    emit(f"vstrb.{form.lanes} %q.sum, [%{output}], #{128 // form.lanes}")
