# SPDX-License-Identifier: MIT
"""Rows of values times weights in assembly: the products of two outputs from one multiplication, 24 bits apart (rows.h)."""

from __future__ import annotations

import numpy

from .assembly import Code
from .packing import Form, group_starts

GROUP = 8  # outputs
FIELD = 24
UNROLL = 11  # steps of the text, of 44 B: a table of bytes reaches no further
MOST_TAPS = 1 + UNROLL * 23  # of a turn: the products of 256 fit
SUMS = [(f"r{first}", f"r{first + 1}") for first in (4, 6, 8, 10)]
PARAMETERS = (
    "const int8_t *row, const int32_t *weights, const int32_t *numbers, int8_t *output, aidge_armv7m_row_block *block, "
    "const int32_t *end"
)
FRAME = ("row", "numbers", "output", "first", "entry", "offset", "lowest", "highest", "stop")
FRAME_BYTES = 4 * len(FRAME)
TOTALS = 28  # bytes before the sums of aidge_armv7m_row_block
ODD = TOTALS + 4 * GROUP  # before what odd outputs of aidge_armv7m_product_block lack
SAVED_BYTES = 36
LEAVE, EXACT, TABLE, STEPS, AGAIN = 4, 5, 9, 10, 6  # labels


def _place(name: str) -> str:
    return f"[sp, #{4 * FRAME.index(name)}]"


def _argument(index: int) -> str:
    return f"[sp, #{FRAME_BYTES + SAVED_BYTES + 4 * index}]"


def routine(form: Form, taps: int) -> tuple[str, str]:
    """Name and text of a function that computes all groups of outputs of a row of so many values.

    It returns 0, or the numbers of a group whose outputs the caller has to compute from its sums, which are in `block->sums`.
    """
    name, code = _groups(form, taps, "rows")
    portable = f"return aidge_armv7m_groups(row, weights, numbers, output, block, 0, end, {form.shift});"
    return name, code.function(name, PARAMETERS, f"All outputs of a row, {GROUP} at once.", portable, "const int32_t *")


def product_routine(form: Form, taps: int) -> tuple[str, str]:
    """The same of columns that are weights for a while: what a row adds to odd outputs is in the block, too (matmul_int8.h)."""
    name, code = _groups(form, taps, "product", has_odd=True)
    portable = f"return aidge_armv7m_groups(row, weights, numbers, output, &block->rows, block->odd, end, {form.shift});"
    parameters = PARAMETERS.replace("_row_block", "_product_block")
    return name, code.function(name, parameters, f"All columns of a row, {GROUP} at once.", portable, "const int32_t *")


def _groups(form: Form, taps: int, kind: str, has_odd: bool = False) -> tuple[str, Code]:
    is_long = taps > MOST_TAPS
    name = f"aidge_armv7m_{kind}{'_long' * is_long}_line{form.shift}{'_clamped' * form.is_clamped}"
    code = Code({})
    code("push {{r4-r11, lr}}")
    code(f"sub sp, sp, #{FRAME_BYTES}")
    code(f"ldr r12, {_argument(0)}")
    code("ldm r12, {{r4-r8}}", "first_taps, entry, offset, lowest, highest")
    code("add r4, r4, r0", "where the first turn ends")
    code("mov r12, sp")
    code("stm r12!, {{r0, r2, r3}}")
    code("stm r12, {{r4-r8}}")
    code.label(1, "a group of outputs")
    code("movw r3, #0x00ff")
    code("movt r3, #0xff00")
    if is_long:
        _clear_totals(code)
    code(f"ldr r12, {_place('first')}")
    code(f"str r12, {_place('stop')}")
    code(f"ldr r12, {_place('entry')}")
    if is_long:
        code.label(AGAIN, "a turn")
    _step(code, is_first=True)
    code.table_jump("r12", [*range(STEPS, STEPS + UNROLL), 2], TABLE)
    for index in range(UNROLL):
        code.label(STEPS + index)
        _step(code)
    code.label(2)
    code(f"ldr r2, {_place('stop')}")
    code("cmp r0, r2")
    code(f"bne {STEPS}b")
    for low, high in SUMS:
        code(f"lsrs r2, {low}, #{FIELD}", "the highest bit that leaves is the sign of the first sum")
        code(f"sbfx {low}, {low}, #0, #{FIELD}")
        code(f"adc {high}, r2, {high}, lsl #{32 - FIELD}")
    if is_long:
        _next_turn(code)
    _end_of_group(code, form, has_odd)
    return name, code


def _step(code: Code, is_first: bool = False) -> None:
    """A value of the row and its weights for the outputs of the group; r12 stays as it is in the first step."""
    product, masked = ("smull", "r2") if is_first else ("smlal", "r12")
    code("ldrsb lr, [r0], #1")
    for index in (0, 2):
        (low, high), (other_low, other_high) = SUMS[index], SUMS[index + 1]
        code("ldr r2, [r1], #4", "weights of 4 outputs")
        if is_first:
            code(f"and {other_low}, r3, r2, ror #16")
            code(f"and {masked}, r2, r3")
            code(f"{product} {low}, {high}, lr, {masked}")
            code(f"{product} {other_low}, {other_high}, lr, {other_low}")
        else:
            code(f"and {masked}, r2, r3")
            code(f"{product} {low}, {high}, lr, {masked}")
            code("and r2, r3, r2, ror #16")
            code(f"{product} {other_low}, {other_high}, lr, r2")


def _clear_totals(code: Code) -> None:
    for register in range(4, 12):
        code(f"mov r{register}, #0")
    code(f"ldr r12, {_argument(0)}")
    code(f"adds r12, r12, #{TOTALS}")
    code("stm r12, {{r4-r11}}")


def _next_turn(code: Code) -> None:
    """The sums of a turn to those of the turns before it, and on to the next one. Label 7: the last turn has ended."""
    code(f"ldr lr, {_argument(0)}")
    for index in range(4):
        code(f"ldrd r2, r12, [lr, #{TOTALS + 8 * index}]")
        low, high = SUMS[index]
        code(f"add {low}, {low}, r2")
        code(f"add {high}, {high}, r12")
    code(f"ldr r12, {_place('row')}")
    code("ldr r2, [lr, #24]", "taps")
    code("add r2, r2, r12")
    code("cmp r0, r2")
    code("beq 7f")
    code(f"add lr, lr, #{TOTALS}")
    code("stm lr, {{r4-r11}}")
    code(f"addw r2, r0, #{MOST_TAPS}")
    code(f"str r2, {_place('stop')}")
    code("mov r12, #0")
    code(f"b {AGAIN}b")
    code.label(7)


def _end_of_group(code: Code, form: Form, has_odd: bool) -> None:
    if has_odd:
        code(f"ldr r2, {_argument(0)}")
        code(f"ldr r2, [r2, #{ODD}]")
        for _, high in SUMS:
            code(f"sub {high}, {high}, r2")
    code(f"ldr r2, {_place('offset')}")
    code(f"ldr r3, {_place('numbers')}")
    for low, _ in SUMS:
        code(f"sub {low}, {low}, r2")
    code("ldr r2, [r3], #4", "whether every output has a line")
    code(f"ldr r0, {_place('output')}")
    code("cmp r2, #0")
    code(f"beq.w {EXACT}f")
    for register in range(4, 12):
        code("ldm r3!, {{r2, r12, lr}}", "factor, start")
        code(f"smlal r12, lr, r{register}, r2")
        code.level(form.shift, _place if form.is_clamped else None)
        code("strb lr, [r0], #1")
    code(f"ldr r2, {_argument(1)}")
    code(f"str r0, {_place('output')}")
    code(f"str r3, {_place('numbers')}")
    code(f"ldr r0, {_place('row')}")
    code("cmp r3, r2")
    code("bne.w 1b")
    code("movs r0, #0")
    code.label(LEAVE)
    code(f"add sp, sp, #{FRAME_BYTES}")
    code("pop {{r4-r11, pc}}")
    code.label(EXACT, "the caller computes this group")
    code(f"ldr r2, {_argument(0)}")
    code(f"adds r2, r2, #{TOTALS}", "sums")
    code("stm r2, {{r4-r11}}")
    code(f"ldr r0, {_place('numbers')}")
    code(f"b {LEAVE}b")


def entry(taps: int) -> tuple[int, int]:
    """Taps of the first turn, and the steps of the text that it leaves out behind its first tap."""
    first = taps - MOST_TAPS * ((taps - 1) // MOST_TAPS)
    rest = (first - 1) % UNROLL
    return first, UNROLL - rest if rest or first == 1 else 0


def pack_rows(rows: numpy.ndarray) -> numpy.ndarray:
    """Weights [outputs, taps] as the words of rows.h; outputs that are missing in the only group have weights 0."""
    padded = numpy.concatenate([rows, numpy.zeros((max(0, GROUP - len(rows)), rows.shape[1]), rows.dtype)])
    words = []
    for start in group_starts(len(padded), GROUP):
        group = padded[start : start + GROUP].astype(numpy.int64).reshape(2, 4, -1)
        group[:, 0::2] += 128
        byte = group[:, (0, 3, 2, 1)] & 0xFF  # outputs of bytes 0 to 3
        words.append((byte * (1 << numpy.array([0, 8, 16, 24]))[None, :, None]).sum(axis=1).T.ravel())
    return numpy.concatenate(words).astype(numpy.uint32).view(numpy.int32)


def pack_numbers(form: Form) -> numpy.ndarray:
    """The words of each group: whether it is computed here, and those of its channels."""
    channels = form.channels
    missing = max(0, GROUP - len(channels))
    padded = numpy.concatenate([channels, numpy.zeros((missing, channels.shape[1]), channels.dtype)])
    groups = [padded[start : start + GROUP] for start in group_starts(len(padded), GROUP)]
    return numpy.concatenate([[int((group[:, 0] != 0).all()), *group.ravel()] for group in groups]).astype(numpy.int32)


def layer_texts(form: Form, taps: int) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a function that computes all outputs of one row."""
    groups, text = routine(form, taps)
    fine = "_fine" * (form.fine_bits > 0)
    some, name = groups.replace("_rows_", f"_some{fine}_"), groups.replace("_rows_", f"_row{fine}_")
    return name, (
        text,
        f"""/* Groups of outputs of a row, and those outputs of them that have no line; of a group `count` are wanted. */
AIDGE_KIT_NOINLINE void {some}(const int8_t *row, int8_t *output, const int32_t *weights, const int32_t *numbers,
    const int32_t *end, aidge_armv7m_row_block *block, int32_t count)
{{
    while (numbers != end) {{
        const int32_t *const stop = {groups}(row, weights, numbers, output, block, end);
        int32_t done, index;
        if (stop == NULL) {{
            break;
        }}
        done = (int32_t)(stop - numbers) / AIDGE_ARMV7M_GROUP_WORDS;
        output += AIDGE_ARMV7M_GROUP * done;
        for (index = 0; index < count; index++) {{
            output[index] = aidge_armv7m_level(block->sums[index], stop + 1 + 3 * index, &block->limits, {form.shift},
                {form.is_fine});
        }}
        output += AIDGE_ARMV7M_GROUP;
        weights += 2 * block->taps * (done + 1);
        numbers = stop + AIDGE_ARMV7M_GROUP_WORDS;
    }}
}}""",
        f"""/* All outputs of a row; the last 8 of them overlap others where they are no multiple of 8. */
static void {name}(const int8_t *row, int8_t *output, const int32_t *weights, const int32_t *numbers,
    aidge_armv7m_row_block *block, const aidge_armv7m_rows *shape)
{{
    const int32_t *const whole = numbers + shape->whole_numbers;
    block->offset = 128 * aidge_armv7m_row_sum(row, shape->taps);
    {some}(row, output, weights, numbers + AIDGE_ARMV7M_HEAD, whole, block, shape->count);
    if (shape->rest > 0) {{
        {some}(row, output + shape->outputs - AIDGE_ARMV7M_GROUP, weights + shape->whole_weights, whole,
            whole + AIDGE_ARMV7M_GROUP_WORDS, block, AIDGE_ARMV7M_GROUP);
    }}
}}""",
    )


def rows_texts(form: Form, taps: int) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer of rows that lie one behind the other."""
    whole, texts = layer_texts(form, taps)
    name = whole.replace("_row_", "_fc_int8_")
    return name, (
        *texts,
        f"""/* Row after row. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *weights, const int32_t *numbers, void *scratch,
    const aidge_armv7m_rows *shape)
{{
    aidge_armv7m_row_block *const block = (aidge_armv7m_row_block *)scratch;
    int32_t rows;
    aidge_armv7m_begin_rows(block, shape, numbers);
    for (rows = shape->rows; rows > 0; rows--) {{
        {whole}(input, output, weights, numbers, block, shape);
        input += shape->taps;
        output += shape->outputs;
    }}
}}""",
    )


def window_texts(form: Form, taps: int) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a convolution whose pixels become rows one after the other."""
    whole, texts = layer_texts(form, taps)
    name = whole.replace("_row_", "_conv2d_rows_int8_")
    return name, (
        *texts,
        f"""/* Pixel after pixel: what its window sees is copied to a row. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *weights, const int32_t *numbers, void *scratch,
    const aidge_armv7m_rows *shape, const aidge_kit_window2d *window)
{{
    aidge_armv7m_row_block *const block = (aidge_armv7m_row_block *)scratch;
    int8_t *const row = (int8_t *)(block + 1);
    int32_t image, y, x;
    aidge_armv7m_begin_rows(block, shape, numbers);
    for (image = 0; image < window->batches; image++) {{
        for (y = 0; y < window->out_height; y++) {{
            for (x = 0; x < window->out_width; x++) {{
                aidge_armv7m_patch(input, y, x, row, numbers[3], window);
                {whole}(row, output, weights, numbers, block, shape);
                output += shape->outputs;
            }}
        }}
        input += window->in_height * window->in_width * window->in_channels;
    }}
}}""",
    )
