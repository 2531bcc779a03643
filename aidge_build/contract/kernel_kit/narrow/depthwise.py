# SPDX-License-Identifier: MIT
"""Depthwise convolution in assembly: a plane of one channel at a time, three columns of it in two words.

A word pair of the plane holds the values at the same place of three parts of a row (`requantize.separate` says how), so that
two products and two additions are three multiply-accumulates here, too. A sum of at most 63 taps always has 21 bits with
its sign, whatever the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.requantize import SEPARATED, begin_sums, level, saturated, separate, split_multiplier
from aidge_build.contract.kernel_kit.routine import Routine

MOST_TAPS = 25  # their weights are on the stack
PARAMETERS = (
    "const uint32_t *plane, int8_t *output, const int32_t *channel, const aidge_kit_narrow_sweep *sweep, int32_t rows, "
    "const int32_t *head"
)
MOST_BACK = 124  # instructions of 2 bytes that a conditional branch reaches back over
# The rest of the struct sweep.
ROW_STEP, ROW_BYTES, END_STEP, OUT_END = (4 * place for place in range(4))


@dataclass(frozen=True)
class Plane:
    """The C of a plane of a channel: `what` it holds, for `Call.note`; its header, the `owner` of its functions and structs, the
    type of its items, the arguments `given` to the function that begins a strip, the `arguments` that load a channel's rows."""

    what: str
    header: str
    owner: str
    item: str
    given: str
    arguments: str


WORDS = Plane(
    "three sums in two words",
    "kit/narrow/depthwise.h",
    "aidge_kit_narrow",
    "uint32_t",
    "input, ",
    "strip.places, input + channel, strip.count",
)


def sweep(core: Core, kernel: tuple[int, int], dilation: int, is_wide: bool, is_sums: bool) -> tuple[str, str]:
    """Name and text of a function that computes `rows` rows of outputs of one channel, or their sums as 32-bit words; the
    weights are bytes, or halfwords if they are `is_wide`."""
    name = f"{core.prefix}_depthwise_int8_{'wide_' * is_wide}{kernel[0]}x{kernel[1]}_d{dilation}{'_sums' * is_sums}"
    taps = kernel[0] * kernel[1]
    code = core.emitter()
    code("%enter.low")
    code(f"%frame next_step, out_step, second, last{'' if is_sums else ', below, above, bits, high, low'}, weights.{taps}")
    _begin(code, is_sums, has_last=taps % 4 == 1 and not is_wide, last=taps - 1)
    _weights(code, taps, is_wide)
    code.label("row", "a row")
    code("get %sweep")
    code(f"ldr %row_end, [%sweep, #{ROW_BYTES}]")
    code("add %row_end, %out")
    code("str %row_end, [%argument.5]", "in the place of the head, which is read")
    code.label("three", "three outputs")
    begin = code.instructions
    _taps(code, kernel, dilation)
    _outputs(code, is_sums)
    code("cmp %to, %row_end")
    if code.instructions - begin < MOST_BACK:
        code("bne %three")
    else:
        code("beq %row_done")
        code("b %three")
        code.label("row_done")
    _next_row(code)
    if not is_sums:
        for part, value in enumerate(SEPARATED):
            saturated(code, value, part)
    code.label("done")
    code("%leave")
    what = "The sums of outputs" if is_sums else "Outputs"
    return name, code.function(name, PARAMETERS, f"{what} of one channel, {kernel[0]} x {kernel[1]} taps.")


def _begin(code: Routine, is_sums: bool, has_last: bool, last: int) -> None:
    """The numbers of the sweep and of the channel; with `has_last` the last weight is above the width."""
    code("mov %out, %output")
    code("mov %to, sp")
    code("ldm %sweep!, {%begin, %width, %spare, %high}", "next_step, out_step, second, last")
    code("stm %to!, {%begin, %width, %spare, %high}")
    code("put %sweep")
    code(f"ldr %spare, [%sweep, #{ROW_STEP}]")
    code("mov %row_step, %spare")
    if not is_sums:
        code("ldr %from, [%argument.5]", "head")
        code("ldm %from!, {%begin, %width, %spare}", "lowest - highest level, highest level, bits")
        code("stm %to!, {%begin, %width, %spare}")
    code("ldm %channel!, {%begin, %width, %spare, %high}", "offset, width, constant, multiplier")
    if has_last:
        code("asrs %weight, %width, #24", "the last weight")
        code(f"str %weight, [sp, %frame.weights.{last}]")
        code("lsls %width, %width, #8")
        code("lsrs %width, %width, #8")
    code("mov %limit, %width")
    code("mov %constant, %spare")
    begin_sums(code, "begin")
    code("put %first_word")
    code("put %second_word")
    if not is_sums:
        code("ldr %bits, [sp, %frame.bits]")
        split_multiplier(code)
        code("str %high, [sp, %frame.high]")
        code("str %low, [sp, %frame.low]")


def _weights(code: Routine, taps: int, is_wide: bool) -> None:
    """The weights, as words on the stack."""
    each = 2 if is_wide else 4
    for tap in range(taps if is_wide else taps - (taps % 4 == 1)):
        if tap % each == 0:
            code("ldm %channel!, {%weights}", f"{each} weights")
        code(f"{'sxth' if is_wide else 'sxtb'} %weight, %weights")
        code(f"str %weight, [sp, %frame.weights.{tap}]")
        if tap % each < each - 1 and tap + 1 < taps:
            code(f"asrs %weights, %weights, #{32 // each}")


def _outputs(code: Routine, is_sums: bool) -> None:
    """Three outputs of their sums."""
    code("ldr %spare, [sp, %frame.next_step]")
    code("adds %plane, %plane, %spare")
    code("mov %to, %out")
    if not is_sums:
        code("add %from, sp, %frame.bits")
        code("ldm %from!, {%bits, %high, %low}", "bits, high and low part of the multiplier")
    separate(code, ("sum0", "sum1"), 0, lambda value, part: _store(code, value, part, is_sums))
    code("ldr %spare, [sp, %frame.out_step]")
    code("adds %to, %to, %spare")
    code("mov %out, %to")
    code("ldr %row_end, [%argument.5]")


def _next_row(code: Routine) -> None:
    code("get %sweep")
    code(f"ldr %spare, [%sweep, #{END_STEP}]")
    code("adds %plane, %plane, %spare")
    code(f"ldr %spare, [%sweep, #{OUT_END}]")
    code("adds %to, %to, %spare")
    code("mov %out, %to")
    code("ldr %spare, [%argument.4]", "rows")
    code("subs %spare, %spare, #1")
    code("str %spare, [%argument.4]")
    code("beq %done")
    code("b %row")


def _taps(code: Routine, kernel: tuple[int, int], dilation: int) -> None:
    """All taps of three outputs, in %sum0 and %sum1."""
    together = 3 if dilation == 1 else 1
    for row in range(kernel[0]):
        if row:
            code("add %plane, %row_step")
        for first in range(0, kernel[1], together):
            count = min(together, kernel[1] - first)
            if first and dilation > 1:
                code(f"adds %plane, #{8 * (dilation - 1)}")
            code(f"ldm %plane!, {{{', '.join(f'%x{tap}, %y{tap}' for tap in range(count))}}}")
            for tap in range(count):
                code(f"ldr %weight, [sp, %frame.weights.{row * kernel[1] + first + tap}]")
                code(f"muls %x{tap}, %weight")
                code(f"muls %y{tap}, %weight")
            for tap in range(1, count):
                code(f"adds %x0, %x0, %x{tap}")
                code(f"adds %y0, %y0, %y{tap}")
            if row or first:
                code("add %sum0, %x0")
                code("add %sum1, %y0")
            else:
                for word, sums, value in (("first_word", "sum0", "x0"), ("second_word", "sum1", "y0")):
                    code(f"get %{word}")
                    code(f"adds %{value}, %{value}, %{word}")
                    code(f"mov %{sums}, %{value}")


def _store(code: Routine, value: str, part: int, is_sums: bool) -> None:
    if not is_sums:
        level(code, value, part)
    store = "str" if is_sums else "strb"
    if part:
        code(f"ldr %spare, [sp, %frame.{('second', 'last')[part - 1]}]")
    code(f"{store} %{value}, [%to, %spare]" if part else f"{store} %{value}, [%to]")


def layer(fast: str, sums: str, plane: Plane, is_shared: bool) -> tuple[str, str]:
    """Name and text of the C function around sweeps; `sums` is "" where every channel has the fast form. `is_shared`: all
    channels read the same plane."""
    name, owner = f"{fast}{'_shared' * is_shared}_layer{'_corrected' * bool(sums)}", plane.owner
    call = f"{fast}(plane, output + channel, numbers, &shape->sweep, strip.rows, stream);"
    load = f"{owner}_plane(plane + strip.first, {plane.arguments});"
    if is_shared:
        load = f"{owner}_rows_to_plane(plane + strip.first, input + strip.source, shape, strip.count);"
    given, start = "", ""
    if sums:
        given = ", const uint8_t *kinds, const int32_t *corrections"
        start = "\n            const int32_t *correction = corrections;"
        target = "output + line * shape->out_row_step + channel"
        call = f"""if (kinds[channel] != AIDGE_KIT_NARROW_GENERAL_KIND) {{
                    {call}
                }}
                if (kinds[channel] != 0u) {{
                    for (line = 0; line < strip.rows; line++) {{
                        {sums}(plane + line * shape->row_step, (int8_t *)strip.sums, numbers, &shape->sums, 1, stream);
                        aidge_kit_narrow_correct_row(strip.sums, {target}, numbers, stream, kinds[channel], correction,
                                                     shape->out_columns, shape->out_column_step);
                    }}
                    correction += kinds[channel] != AIDGE_KIT_NARROW_GENERAL_KIND ? 3 * (int32_t)kinds[channel] : 0;
                }}"""
    text = f"""/* Strips of rows, channel by channel. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *stream{given}, void *scratch,
                   const {owner}_depthwise *shape)
{{
    {plane.item} *const plane = ({plane.item} *)scratch;
    int32_t batch, row, channel{", line" if sums else ""};
    for (batch = shape->batches; batch > 0; batch--) {{
        for (row = 0; row < shape->out_rows; row += shape->strip_rows) {{
            const {owner}_strip strip = {owner}_strip_at(row, {plane.given}plane, stream, shape);
            const int32_t *numbers = stream + AIDGE_KIT_NARROW_DEPTHWISE_HEAD;{start}
            for (channel = 0; channel < shape->channels; channel++) {{
                if ({"(channel == 0) && (strip.count > 0)" if is_shared else "strip.count > 0"}) {{
                    {load}
                }}
                {call}
                numbers += shape->numbers;
            }}
            output += strip.rows * shape->out_row_step;
        }}
        input += shape->in_image;
        output += shape->out_image - shape->out_rows * shape->out_row_step;
    }}
}}"""
    return name, text
