# SPDX-License-Identifier: MIT
"""Layers of blocks of pixels: how their taps get into the column, and the C function around the assembly."""

from __future__ import annotations

from .assembly import Code
from .dense import PARAMETERS, Shape
from .packing import CHANNEL_WORDS, Form

TAPS_TOGETHER = 4  # that a turn of the gathering loop takes


def pairs_text(shape: Shape) -> tuple[str, str]:
    """Name and text of a function that writes `count` values of two pixels as words, a step of the column apart."""
    name = f"aidge_armv7m_pairs_{shape.pairs}"
    code = Code({"column": "r0", "first": "r1", "second": "r2", "count": "r3"})
    code("push {{r4}}")
    code(f"subs {{count}}, {{count}}, #{TAPS_TOGETHER}")
    code("blo 2f")
    code.label(1)
    for _ in range(TAPS_TOGETHER):
        _pair(code, shape)
    code(f"subs {{count}}, {{count}}, #{TAPS_TOGETHER}")
    code("bhs 1b")
    code.label(2)
    code(f"adds {{count}}, {{count}}, #{TAPS_TOGETHER}")
    code("beq 4f")
    code.label(3)
    _pair(code, shape)
    code("subs {count}, {count}, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4}}")
    code("bx lr")
    parameters = "uint32_t *column, const int8_t *first, const int8_t *second, int32_t count"
    portable = (
        f"for (; count > 0; count--) {{\n        *column = (uint32_t)*first++ + ((uint32_t)*second++ << {shape.field});\n"
        f"        column += {shape.pairs};\n    }}"
    )
    return name, code.function(name, parameters, "Values of two pixels as words of both.", portable)


def _pair(code: Code, shape: Shape) -> None:
    code("ldrsb r12, [{first}], #1")
    code("ldrsb r4, [{second}], #1")
    code(f"add r12, r12, r4, lsl #{shape.field}")
    code(f"str r12, [{{column}}], #{shape.step_bytes}")


def groups_text(shape: Shape, form: Form) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a function that computes groups of channels of a block, whatever their sums are."""
    dense, text = shape.routine(form)
    if form.is_proved:
        return dense, (text,)
    name, exact = f"{dense}_groups", f"aidge_armv7m_exact{'_fine' * (form.fine_bits > 0)}"
    step = shape.group_words
    return name, (
        text,
        f"""/* All channels of a block, those without a line among them. */
static void {name}({PARAMETERS})
{{
    while (numbers != end) {{
        const int32_t *const stop = {dense}(column, weights, numbers, output, block, end);
        int32_t groups;
        if (stop == NULL) {{
            break;
        }}
        groups = (int32_t)(stop - numbers) / {step};
        output += {_times(shape)}groups;
        {exact}(stop{_head(shape)}, output, block, {form.shift}, {shape.pixels}, {shape.channels});
        output += {shape.channels};
{_behind(shape, form)}        numbers = stop + {step};
    }}
}}""",
    )


def _times(shape: Shape) -> str:
    """A factor for the channels of a group."""
    return f"{shape.channels} * " if shape.channels > 1 else ""


def _head(shape: Shape) -> str:
    """What to add to the numbers of a group for those of its first channel."""
    words = shape.group_words - CHANNEL_WORDS * shape.channels
    return f" + {words}" if words else ""


def _behind(shape: Shape, form: Form) -> str:
    """The statement that makes `weights` those behind the group that has just been computed."""
    if shape.core == "halves":
        return "        weights += block->behind;\n"
    of_group = f"{_times(shape)}block->column_bytes / {shape.step_bytes}"
    if form.has_offsets:
        of_group = f"({of_group} + {shape.channels})"
    return f"        weights += {of_group} * (groups + 1);\n"


def _pointwise_text(shape: Shape) -> tuple[str, tuple[str, ...]]:
    pairs, text = pairs_text(shape)
    name = f"aidge_armv7m_gather_{shape.pairs}"
    return name, (
        text,
        f"""/* The column of a block of neighbouring pixels. */
static void {name}(uint32_t *column, const int8_t *source, int32_t channels)
{{
    int32_t pair;
    for (pair = 0; pair < {shape.pairs}; pair++) {{
        {pairs}(column + pair, source, source + channels, channels);
        source += 2 * channels;
    }}
}}""",
    )


def _window_text(shape: Shape) -> tuple[str, tuple[str, ...]]:
    pairs, text = pairs_text(shape)
    name = f"aidge_armv7m_gather_window_{shape.pairs}"
    return name, (
        text,
        f"""/* The column of a block that begins at this pixel of the output: row after row of the window, two pixels at once. */
static void {name}(uint32_t *column, int8_t *patches, const int8_t *image, int32_t pixel, int32_t fill,
    const aidge_kit_window2d *shape)
{{
    const int32_t run = shape->kernel_width * shape->in_channels;
    int32_t y = aidge_kit_divide(pixel, shape->out_width);
    int32_t x = pixel - y * shape->out_width;
    int32_t pair, row;
    for (pair = 0; pair < {shape.pairs}; pair++) {{
        uint32_t *to = column + pair;
        const int32_t top = y * shape->stride_height - shape->pad_top;
        const int32_t left = x * shape->stride_width - shape->pad_left;
        int32_t other_top, other_left;
        aidge_armv7m_next_pixel(&y, &x, shape);
        other_top = y * shape->stride_height - shape->pad_top;
        other_left = x * shape->stride_width - shape->pad_left;
        aidge_armv7m_next_pixel(&y, &x, shape);
        for (row = 0; row < shape->kernel_height; row++) {{
            const int32_t down = row * shape->dilation_height;
            const int8_t *const first = aidge_armv7m_row(image, top + down, left, patches, fill, shape);
            const int8_t *const second = aidge_armv7m_row(image, other_top + down, other_left, patches + run, fill, shape);
            {pairs}(to, first, second, run);
            to += {shape.pairs} * run;
        }}
    }}
}}""",
    )


def _sums_text(shape: Shape) -> tuple[str, str]:
    """Name and text of a function that writes the sums of all taps of each pixel before the column."""
    name, pairs = f"aidge_armv7m_sums_of_taps_{shape.pairs}", range(shape.pairs)
    totals = ", ".join(f"of_{pair} = 0" for pair in pairs)
    add = "\n        ".join(f"of_{pair} += (int32_t)word[{pair}];" for pair in pairs)
    store = "\n    ".join(
        f"sums[{2 * pair}] = aidge_armv7m_first_sum(of_{pair});\n"
        f"    sums[{2 * pair + 1}] = (int32_t)((of_{pair} - sums[{2 * pair}]) / ((int64_t)1 << AIDGE_ARMV7M_FIELD));"
        for pair in pairs
    )
    return (
        name,
        f"""/* The sums of all taps of each pixel, before the column. */
AIDGE_KIT_NOINLINE void {name}(uint32_t *column, int32_t column_bytes)
{{
    int32_t *const sums = (int32_t *)column - {shape.pixels};
    const uint32_t *const end = column + column_bytes / 4;
    const uint32_t *word;
    int64_t {totals};
    for (word = column; word != end; word += {shape.pairs}) {{
        {add}
    }}
    {store}
}}""",
    )


def layer_texts(shape: Shape, form: Form, is_window: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a whole layer: pointwise, or with a window."""
    gather, gathering = _window_text(shape) if is_window else _pointwise_text(shape)
    groups, texts = groups_text(shape, form)
    room = begin = ""
    if form.has_offsets:
        sums, text = _sums_text(shape)
        gathering, room, begin = (*gathering, text), f" + {shape.pixels}", f"{sums}(column, shape->column_bytes);\n            "
    kind = "conv2d" if is_window else "pointwise"
    name = f"aidge_armv7m_{kind}_int8_{shape.core}_{shape.pairs}x{shape.channels}_{form.variant}"
    window = ", const aidge_kit_window2d *window" if is_window else ""
    image = "window->in_height * window->in_width * window->in_channels" if is_window else "shape->pixels * shape->channels"
    where = "(int8_t *)column + shape->column_bytes, input, first, numbers[3], window"
    if not is_window:
        where = "input + first * shape->channels, shape->channels"
    text = f"""/* Blocks of {shape.pixels} pixels. */
static void {name}(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *numbers, void *scratch,
    const aidge_armv7m_layer *shape{window})
{{
    aidge_armv7m_block *const block = (aidge_armv7m_block *)scratch;
    const int32_t *const whole = numbers + AIDGE_ARMV7M_HEAD + shape->whole_numbers;
    uint32_t *const column = (uint32_t *)(void *)(block + 1){room};
    int32_t image, first;
    aidge_armv7m_begin_block(block, shape, numbers);
    for (image = 0; image < shape->images; image++) {{
        for (first = 0; first < shape->pixels; first += {shape.pixels}) {{
            int8_t *target;
            first = first + {shape.pixels} > shape->pixels ? shape->pixels - {shape.pixels} : first;
            target = output + first * shape->outputs;
            {gather}(column, {where});
            {begin}{groups}(column, weights, numbers + AIDGE_ARMV7M_HEAD, target, block, whole);
{_last_group(shape, groups)}        }}
        input += {image};
        output += shape->pixels * shape->outputs;
    }}
}}"""
    return name, (*gathering, *texts, text)


def _last_group(shape: Shape, groups: str) -> str:
    """Statements for the group that overlaps the one before."""
    if shape.channels == 1:
        return ""
    return f"""            if (shape->outputs % {shape.channels} != 0) {{
                {groups}(column, weights + shape->whole_weights, whole, target + shape->outputs - {shape.channels}, block,
                         whole + {shape.group_words});
            }}
"""
