# SPDX-License-Identifier: MIT
"""Depthwise convolution in assembly: a plane of one channel at a time, three columns of it in two words.

A word pair of the plane holds the values at the same place of three parts of a row (`requantize.separate` says how), so that
two products and two additions are three multiply-accumulates here, too. A sum of at most 63 taps always has 21 bits with
its sign, whatever the weights.

Registers: plane in r0, a weight in r1, up to three taps in r2 to r7, the words of sums in r8 and r9, the step to the next row
of taps in r10, constant and width of the requantization in r11 and r12, the output in lr.
"""

from __future__ import annotations

from .assembly import Routine
from .requantize import SEPARATED, Requantization, begin_sums, separate, split_multiplier

MOST_TAPS = 25  # whose weights lie on the stack
PARAMETERS = (
    "const uint32_t *plane, int8_t *output, const int32_t *channel, const aidge_armv6m_sweep *sweep, int32_t rows, "
    "const int32_t *head"
)
# On the stack: the beginning of the struct sweep, that of the stream, and what stands behind them.
NEXT, OUT_STEP, SECOND, LAST, BELOW, ABOVE, BITS = (4 * place for place in range(7))
HIGH, LOW, FIRST_WORD, SECOND_WORD, SWEEP, WEIGHTS = (28 + 4 * place for place in range(6))
SAVED_BYTES = 36
MOST_BACK = 124  # instructions of 2 bytes that a conditional branch reaches back over
# The rest of the struct sweep.
ROW_STEP, ROW_BYTES, END_STEP, OUT_END = (4 * place for place in range(4))
REQUANTIZATION = Requantization("r1", "r12", "r11", BELOW, ABOVE)


def sweep(kernel: tuple[int, int], dilation: int, is_wide: bool, is_sums: bool) -> tuple[str, str]:
    """Name and text of a function that computes `rows` rows of outputs of one channel, or their sums as 32-bit words; the
    weights are bytes, or halfwords if they are `is_wide`."""
    name = f"aidge_armv6m_depthwise_int8_{'wide_' * is_wide}{kernel[0]}x{kernel[1]}_d{dilation}{'_sums' * is_sums}"
    taps = kernel[0] * kernel[1]
    frame = WEIGHTS + 4 * taps
    rows, head = frame + SAVED_BYTES, frame + SAVED_BYTES + 4
    row_end = head  # in its place, once it is read
    code = Routine()
    code.push_all()
    code(f"sub sp, #{frame}")
    code("mov lr, r1")
    code("mov r1, r2")
    code("mov r2, sp")
    code("ldm r3!, {r4-r7}", "next_step, out_step, second, last")
    code("stm r2!, {r4-r7}")
    code(f"str r3, [sp, #{SWEEP}]")
    code(f"ldr r4, [r3, #{ROW_STEP}]")
    code("mov r10, r4")
    if not is_sums:
        code(f"ldr r3, [sp, #{head}]")
        code("ldm r3!, {r4-r6}", "lowest - highest level, highest level, bits")
        code("stm r2!, {r4-r6}")
    code("ldm r1!, {r4-r7}", "offset, width, constant, multiplier")
    if taps % 4 == 1 and not is_wide:
        code("asrs r2, r5, #24", "the last weight")
        code(f"str r2, [sp, #{WEIGHTS + 4 * taps - 4}]")
        code("lsls r5, r5, #8")
        code("lsrs r5, r5, #8")
    code("mov r12, r5")
    code("mov r11, r6")
    begin_sums(code)
    code(f"str r5, [sp, #{FIRST_WORD}]")
    code(f"str r6, [sp, #{SECOND_WORD}]")
    if not is_sums:
        code("mov r8, r0")
        code("mov r2, r7")
        code(f"ldr r0, [sp, #{BITS}]")
        split_multiplier(code)
        code(f"str r2, [sp, #{HIGH}]")
        code(f"str r3, [sp, #{LOW}]")
        code("mov r0, r8")
    each = 2 if is_wide else 4
    for tap in range(taps if is_wide else taps - (taps % 4 == 1)):
        if tap % each == 0:
            code("ldm r1!, {r4}", f"{each} weights")
        code(f"{'sxth' if is_wide else 'sxtb'} r5, r4")
        code(f"str r5, [sp, #{WEIGHTS + 4 * tap}]")
        if tap % each < each - 1 and tap + 1 < taps:
            code(f"asrs r4, r4, #{32 // each}")
    code.label(1, "a row")
    code(f"ldr r4, [sp, #{SWEEP}]")
    code(f"ldr r4, [r4, #{ROW_BYTES}]")
    code("add r4, lr")
    code(f"str r4, [sp, #{row_end}]")
    code.label(2, "three outputs")
    begin = code.instructions
    _taps(code, kernel, dilation)
    code(f"ldr r1, [sp, #{NEXT}]")
    code("adds r0, r0, r1")
    code("mov r7, lr")
    if not is_sums:
        code(f"add r4, sp, #{BITS}")
        code("ldm r4!, {r1-r3}", "bits, high and low part of the multiplier")
    separate(code, ("r8", "r9"), 0, lambda value, spare, part: _store(code, value, spare, part, is_sums))
    code(f"ldr r4, [sp, #{OUT_STEP}]")
    code("adds r7, r7, r4")
    code("mov lr, r7")
    code(f"ldr r4, [sp, #{row_end}]")
    code("cmp r7, r4")
    if code.instructions - begin < MOST_BACK:
        code("bne 2b")
    else:
        code("beq 3f")
        code("b 2b")
        code.label(3)
    code(f"ldr r4, [sp, #{SWEEP}]")
    code(f"ldr r5, [r4, #{END_STEP}]")
    code("adds r0, r0, r5")
    code(f"ldr r5, [r4, #{OUT_END}]")
    code("adds r7, r7, r5")
    code("mov lr, r7")
    code(f"ldr r4, [sp, #{rows}]")
    code("subs r4, r4, #1")
    code(f"str r4, [sp, #{rows}]")
    code("beq 4f")
    code("b 1b")
    if not is_sums:
        for part, (value, spare) in enumerate(SEPARATED):
            REQUANTIZATION.saturated(code, value, spare, part)
    code.label(4)
    code(f"add sp, #{frame}")
    code.pop_all()
    sizes = f"{kernel[0]}, {kernel[1]}, {dilation}, {is_wide:d}, {is_sums:d}"
    portable = f"aidge_armv6m_sweep_of(plane, output, channel, sweep, rows, head, {sizes});"
    what = "The sums of outputs" if is_sums else "Outputs"
    return name, code.function(name, PARAMETERS, f"{what} of one channel, {kernel[0]} x {kernel[1]} taps.", portable)


def _taps(code: Routine, kernel: tuple[int, int], dilation: int) -> None:
    """All taps of three outputs, in r8 and r9."""
    together = 3 if dilation == 1 else 1
    for row in range(kernel[0]):
        if row:
            code("add r0, r10")
        for first in range(0, kernel[1], together):
            count = min(together, kernel[1] - first)
            if first and dilation > 1:
                code(f"adds r0, #{8 * (dilation - 1)}")
            code(f"ldm r0!, {{r2-r{1 + 2 * count}}}")
            for tap in range(count):
                code(f"ldr r1, [sp, #{WEIGHTS + 4 * (row * kernel[1] + first + tap)}]")
                code(f"muls r{2 + 2 * tap}, r1")
                code(f"muls r{3 + 2 * tap}, r1")
            for tap in range(1, count):
                code(f"adds r2, r2, r{2 + 2 * tap}")
                code(f"adds r3, r3, r{3 + 2 * tap}")
            if row or first:
                code("add r8, r2")
                code("add r9, r3")
            else:
                for word, (sums, value) in zip((FIRST_WORD, SECOND_WORD), (("r8", "r2"), ("r9", "r3"))):
                    code(f"ldr r1, [sp, #{word}]")
                    code(f"adds {value}, {value}, r1")
                    code(f"mov {sums}, {value}")


def _store(code: Routine, value: str, spare: str, part: int, is_sums: bool) -> None:
    if not is_sums:
        REQUANTIZATION.value(code, value, spare, part)
    store = "str" if is_sums else "strb"
    if part:
        code(f"ldr {spare}, [sp, #{(SECOND, LAST)[part - 1]}]")
    code(f"{store} {value}, [r7, {spare}]" if part else f"{store} {value}, [r7]")


def layer(fast: str, sums: str, is_fine: bool) -> tuple[str, str]:
    """Name and text of the C function around sweeps; `sums` is "" where every channel has the fast form; `is_fine`: biases may
    lie between two units of the sums."""
    fine = "_fine" * is_fine
    name = f"{fast}_layer{f'{fine}_corrected' if sums else ''}"
    call = f"{fast}(plane, output + channel, numbers, &shape->sweep, strip.rows, stream);"
    given, start = "", ""
    if sums:
        given = ", const uint8_t *kinds, const int32_t *corrections"
        start = "\n            const int32_t *correction = corrections;"
        target = "output + line * shape->out_row_step + channel"
        correct = f"aidge_armv6m_correct_row(strip.sums, {target}, numbers, stream, kinds[channel], correction, shape);"
        if is_fine:
            correct = f"""if (kinds[channel] == AIDGE_ARMV6M_GENERAL_KIND) {{
                            aidge_armv6m_fine_row(strip.sums, {target}, numbers, stream, shape);
                        }} else {{
                            {correct}
                        }}"""
        call = f"""if (kinds[channel] != AIDGE_ARMV6M_GENERAL_KIND) {{
                    {call}
                }}
                if (kinds[channel] != 0u) {{
                    for (line = 0; line < strip.rows; line++) {{
                        {sums}(plane + line * shape->row_words, (int8_t *)strip.sums, numbers, &shape->sums, 1, stream);
                        {correct}
                    }}
                    correction += kinds[channel] != AIDGE_ARMV6M_GENERAL_KIND ? 3 * (int32_t)kinds[channel] : 0;
                }}"""
    text = f"""/* Strips of rows, channel by channel. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *stream{given}, void *scratch,
                   const aidge_armv6m_depthwise *shape)
{{
    uint32_t *const plane = (uint32_t *)scratch;
    int32_t batch, row, channel{", line" if sums else ""};
    for (batch = shape->batches; batch > 0; batch--) {{
        for (row = 0; row < shape->out_rows; row += shape->strip_rows) {{
            const aidge_armv6m_strip strip = aidge_armv6m_strip_at(row, input, plane, stream, shape);
            const int32_t *numbers = stream + AIDGE_ARMV6M_DEPTHWISE_HEAD;{start}
            for (channel = 0; channel < shape->channels; channel++) {{
                if (strip.count > 0) {{
                    aidge_armv6m_plane(plane + strip.first, strip.places, input + channel, strip.count);
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
