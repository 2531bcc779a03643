# SPDX-License-Identifier: MIT
"""Rows of values times weights in assembly: the products of two outputs from one multiplication, 24 bits apart (rows.h).

Weights of 4 bits have products 28 bits apart. A word has those of 8 outputs: turned to the right by 0, 8, 16 and 24 bits, it has
one of them at each end. The lower one is 8 more than the weight, the upper one has its sign.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.packing import group_starts

from ..core.assembly import Code
from .packing import Form

GROUP = 8  # outputs
FIELD, NIBBLE_FIELD = 24, 28  # bits
NIBBLE_ORDER = (0, 3, 2, 5, 4, 7, 6, 1)  # outputs of the nibbles of a word
UNROLL = 11  # steps of the text, of 44 B: a table of bytes reaches no further
MOST_TAPS = 1 + UNROLL * 23  # of a turn: the products of 256 fit
SUMS = [(f"low_{index}", f"high_{index}") for index in range(GROUP // 2)]
PARAMETERS = (
    "const int8_t *row, const int32_t *weights, const int32_t *numbers, int8_t *output, aidge_armv7m_row_block *block, "
    "const int32_t *end"
)
TOTALS = 28  # bytes before the sums of aidge_armv7m_row_block
ODD = TOTALS + 4 * GROUP  # before what odd outputs of aidge_armv7m_product_block lack
_STEPS = [f"step_{index}" for index in range(UNROLL)]
_ALL_SUMS = ", ".join(f"%{word}" for pair in SUMS for word in pair)


def routine(form: Form, taps: int) -> tuple[str, str]:
    """Name and text of a function that computes all groups of outputs of a row of so many values.

    It returns 0, or the numbers of a group whose outputs the caller has to compute from its sums, which are in `block->sums`.
    """
    name, code = _groups(form, taps, "rows")
    return name, code.function(name, PARAMETERS, f"All outputs of a row, {GROUP} at once.", result="const int32_t *")


def product_routine(form: Form, taps: int) -> tuple[str, str]:
    """The same of columns that are weights for a while: what a row adds to odd outputs is in the block, too (matmul_int8.h)."""
    name, code = _groups(form, taps, "product", has_odd=True)
    parameters = PARAMETERS.replace("_row_block", "_product_block")
    return name, code.function(name, parameters, f"All columns of a row, {GROUP} at once.", result="const int32_t *")


def _groups(form: Form, taps: int, kind: str, has_odd: bool = False) -> tuple[str, Code]:
    is_long, has_nibbles = taps > MOST_TAPS, form.has_nibbles
    step = _step_of_nibbles if has_nibbles else _step
    name = f"aidge_armv7m_{kind}{'_long' * is_long}_line{form.shift}{'_clamped' * form.is_clamped}{'_w4' * has_nibbles}"
    code = Code()
    code("%enter")
    code("ldr %block, [%argument.4]")
    code(f"ldm %block, {{%first_end, %entry, %offset{', %lowest, %highest' * form.is_clamped}}}")
    code("add %first_end, %first_end, %row", "where the first turn ends")
    code("put %row, %numbers")
    code("put %output, %first_end")
    code("put %entry, %offset")
    if form.is_clamped:
        code("put %lowest, %highest")
    code("mov %next, %row")
    code.label("group", "a group of outputs")
    code.constant("%mask", 0xF000000F if has_nibbles else 0xFF0000FF)
    if is_long:
        _clear_totals(code)
        code("get %first_end")
        code("mov %turn_end, %first_end")
        code("put %turn_end")
    code("get %entry")
    if is_long:
        code.label("turn")
    step(code, is_first=True)
    code.table_jump("%entry", [*_STEPS, "done"], "table")
    for label in _STEPS:
        code.label(label)
        step(code)
    code.label("done")
    end = "turn_end" if is_long else "first_end"
    code(f"get %{end}")
    code(f"cmp %next, %{end}")
    code(f"bne %{_STEPS[0]}")
    for low, high in SUMS:
        code.separate(low, high, NIBBLE_FIELD if has_nibbles else FIELD)
    if is_long:
        _next_turn(code)
    _end_of_group(code, form, has_odd)
    return name, code


def _step(code: Code, is_first: bool = False) -> None:
    """A value of the row and its weights for the outputs of the group."""
    product = "smull" if is_first else "smlal"
    code("ldrsb %value, [%next], #1")
    for index in (0, 2):
        (low, high), (other_low, other_high) = SUMS[index], SUMS[index + 1]
        code("ldr %four, [%weights], #4", "weights of 4 outputs")
        if is_first:
            code(f"and %{other_low}, %mask, %four, ror #16")
            code("and %four, %four, %mask")
            code(f"{product} %{low}, %{high}, %value, %four")
            code(f"{product} %{other_low}, %{other_high}, %value, %{other_low}")
        else:
            code("and %masked, %four, %mask")
            code(f"{product} %{low}, %{high}, %value, %masked")
            code("and %four, %mask, %four, ror #16")
            code(f"{product} %{other_low}, %{other_high}, %value, %four")


def _step_of_nibbles(code: Code, is_first: bool = False) -> None:
    """The same of weights of 4 bits."""
    code("ldrsb %value, [%next], #1")
    code("ldr %eight, [%weights], #4", "weights of 8 outputs")
    for index in (3, 2, 1, 0):
        low, high = SUMS[index]
        masked = low if is_first else "masked"
        code(f"and %{masked}, %mask, %eight{f', ror #{8 * index}' * (index > 0)}")
        code(f"{'smull' if is_first else 'smlal'} %{low}, %{high}, %value, %{masked}")


def _totals_of_block(code: Code) -> None:
    code("ldr %block, [%argument.4]")
    code(f"adds %block, %block, #{TOTALS}")
    code(f"stm %block, {{{_ALL_SUMS}}}")


def _clear_totals(code: Code) -> None:
    for low, high in SUMS:
        code(f"mov %{low}, #0")
        code(f"mov %{high}, #0")
    _totals_of_block(code)


def _next_turn(code: Code) -> None:
    """The sums of a turn to those of the turns before it, and on to the next one unless it was the last."""
    code("ldr %block, [%argument.4]")
    for index, (low, high) in enumerate(SUMS):
        code(f"ldrd %before_low, %before_high, [%block, #{TOTALS + 8 * index}]")
        code(f"add %{low}, %{low}, %before_low")
        code(f"add %{high}, %{high}, %before_high")
    code("get %row")
    code("ldr %row_end, [%block, #24]", "taps")
    code("add %row_end, %row_end, %row")
    code("cmp %next, %row_end")
    code("beq %summed")
    code(f"add %block, %block, #{TOTALS}")
    code(f"stm %block, {{{_ALL_SUMS}}}")
    code(f"addw %turn_end, %next, #{MOST_TAPS}")
    code("put %turn_end")
    code("mov %entry, #0")
    code("b %turn")
    code.label("summed")


def _end_of_group(code: Code, form: Form, has_odd: bool) -> None:
    if has_odd:
        code("ldr %block, [%argument.4]")
        code(f"ldr %odd, [%block, #{ODD}]")
        for _, high in SUMS:
            code(f"sub %{high}, %{high}, %odd")
    code("get %offset")
    code("get %numbers")
    for low, _ in SUMS:
        code(f"sub %{low}, %{low}, %offset")
    code("ldr %have_lines, [%numbers], #4", "whether every output has a line")
    code("get %output")
    code("cmp %have_lines, #0")
    code("beq %exact")
    for pair in SUMS:
        for value in pair:
            code("ldm %numbers!, {%factor, %low, %level}")
            code(f"smlal %low, %level, %{value}, %factor")
            code.level(form.shift, form.is_clamped)
            code("strb %level, [%output], #1")
    code("ldr %end, [%argument.5]")
    code("put %output")
    code("cmp %numbers, %end")
    code("put %numbers")
    code("get %row")
    code("mov %next, %row")
    code("bne %group")
    code("movs %numbers, #0")
    code.label("stop")
    code("%leave %numbers")
    code.label("exact", "the caller computes this group")
    _totals_of_block(code)
    code("get %numbers")
    code("b %stop")


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


def pack_nibbles(rows: numpy.ndarray) -> numpy.ndarray:
    """The same of weights of 4 bits: a word for each tap of a group."""
    padded = numpy.concatenate([rows, numpy.zeros((max(0, GROUP - len(rows)), rows.shape[1]), rows.dtype)])
    padded = padded.astype(numpy.int64)
    groups = [padded[start : start + GROUP] for start in group_starts(len(padded), GROUP)]
    own = numpy.array([8, 0] * (GROUP // 2))[:, None]
    places = 1 << 4 * numpy.arange(GROUP)[:, None]
    words = [(((group + own) & 15)[list(NIBBLE_ORDER)] * places).sum(axis=0) for group in groups]
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
    offset, tap_words = (8, "") if form.has_nibbles else (128, "2 * ")
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
        weights += {tap_words}block->taps * (done + 1);
        numbers = stop + AIDGE_ARMV7M_GROUP_WORDS;
    }}
}}""",
        f"""/* All outputs of a row; the last 8 of them overlap others where they are no multiple of 8. */
static void {name}(const int8_t *row, int8_t *output, const int32_t *weights, const int32_t *numbers,
    aidge_armv7m_row_block *block, const aidge_armv7m_rows *shape)
{{
    const int32_t *const whole = numbers + shape->whole_numbers;
    block->offset = {offset} * aidge_armv7m_row_sum(row, shape->taps);
    {some}(row, output, weights, numbers + AIDGE_ARMV7M_HEAD, whole, block, shape->count);
    if (shape->rest > 0) {{
        {some}(row, output + shape->outputs - AIDGE_ARMV7M_GROUP, weights + shape->whole_weights, whole,
            whole + AIDGE_ARMV7M_GROUP_WORDS, block, AIDGE_ARMV7M_GROUP);
    }}
}}""",
    )


def rows_texts(form: Form, taps: int, is_window: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer of rows one after the other in memory, or of the windows of an image."""
    whole, texts = layer_texts(form, taps)
    name = whole.replace("_row_", f"_{'conv2d_rows' if is_window else 'fc'}{form.family}_int8_")
    loop = _WINDOWS if is_window else _ROWS
    return name, (
        *texts,
        f"""/* Row after row. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *weights, const int32_t *numbers, void *scratch,
    const aidge_armv7m_rows *shape{", const aidge_kit_window2d *window" * is_window})
{{
    aidge_armv7m_row_block *const block = (aidge_armv7m_row_block *)scratch;
{loop.replace("<row>", whole)}}}""",
    )


_ROWS = """    int32_t rows;
    aidge_armv7m_begin_rows(block, shape, numbers);
    for (rows = shape->rows; rows > 0; rows--) {
        <row>(input, output, weights, numbers, block, shape);
        input += shape->taps;
        output += shape->outputs;
    }
"""
_WINDOWS = """    int8_t *const row = (int8_t *)(block + 1);
    int32_t image, y, x;
    aidge_armv7m_begin_rows(block, shape, numbers);
    for (image = 0; image < window->batches; image++) {
        for (y = 0; y < window->out_height; y++) {
            for (x = 0; x < window->out_width; x++) {
                aidge_armv7m_patch(input, y, x, row, numbers[3], window); /* what the window of the pixel sees */
                <row>(row, output, weights, numbers, block, shape);
                output += shape->outputs;
            }
        }
        input += window->in_height * window->in_width * window->in_channels;
    }
"""
