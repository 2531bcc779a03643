# SPDX-License-Identifier: MIT
"""Layers of blocks of pixels: how their taps get into the column, and the C function around the assembly."""

from __future__ import annotations

from ..core.assembly import Code
from .dense import MIDDLE, PARAMETERS, SUM_BITS, Shape, routine
from .packing import CHANNEL_WORDS, Form

TAPS_TOGETHER = 4  # that a turn of the gathering loop takes


PIXELS = ("first", "second", "third")  # of a set, which share words


def values_text(shape: Shape) -> tuple[str, str]:
    """Name and text of a function that writes `count` values of a set of pixels, a step of the column apart."""
    name = f"aidge_armv7m_triples_{shape.sets}"
    code = Code()
    code("%enter")
    code("ldr %count, [%argument.4]")
    code.values(lambda: _value(code, shape), TAPS_TOGETHER)
    code("%leave")
    pointers = ", ".join(f"const int8_t *{pixel}" for pixel in PIXELS)
    what = "Values of three pixels as words of all."
    return name, code.function(name, f"uint32_t *column, {pointers}, int32_t count", what)


def _value(code: Code, shape: Shape) -> None:
    code("ldrsb %a, [%first], #1")
    code("ldrsb %b, [%second], #1")
    code("ldrsb %c, [%third], #1")
    code(f"add %a, %a, %b, lsl #{SUM_BITS}")
    code(f"add %c, %c, %b, lsl #{MIDDLE}")
    code(f"strd %a, %c, [%column], #{shape.step_bytes}")


def groups_text(shape: Shape, form: Form, is_long: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a function that computes groups of channels of a block, whatever their sums are."""
    dense, text = routine(shape, form, is_long)
    if form.is_proved:
        return dense, (text,)
    name, step = f"{dense}_groups", CHANNEL_WORDS * shape.channels
    of_channel = f"(block->column_bytes / {shape.step_bytes}{' + 1' * form.has_offsets})"  # bytes of weights
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
        output += {shape.channels} * groups;
        aidge_armv7m_exact(stop, output, block, {form.shift}, {shape.pixels}, {shape.channels}, {form.is_fine});
        output += {shape.channels};
        weights += {shape.channels // (2 if form.has_nibbles else 1)} * {of_channel} * (groups + 1);
        numbers = stop + {step};
    }}
}}""",
    )


def _pointwise_text(shape: Shape) -> tuple[str, tuple[str, ...]]:
    values, text = values_text(shape)
    name = f"aidge_armv7m_gather_{shape.sets}"
    return name, (
        text,
        f"""/* The column of a block of neighbouring pixels. */
static void {name}(uint32_t *column, const int8_t *source, int32_t channels)
{{
    int32_t set;
    for (set = 0; set < {shape.sets}; set++) {{
        {values}(column + 2 * set, source, source + channels, source + 2 * channels, channels);
        source += 3 * channels;
    }}
}}""",
    )


def _window_text(shape: Shape) -> tuple[str, tuple[str, ...]]:
    values, text = values_text(shape)
    name = f"aidge_armv7m_gather_window_{shape.sets}"
    corners = "".join(
        f"        {pixel}_top = y * shape->stride_height - shape->pad_top;\n"
        f"        {pixel}_left = x * shape->stride_width - shape->pad_left;\n"
        "        aidge_armv7m_next_pixel(&y, &x, shape);\n"
        for pixel in PIXELS
    )
    rows = "".join(
        f"            const int8_t *const {pixel}\n"
        f"                = aidge_armv7m_row(image, {pixel}_top + down, {pixel}_left, patches + {place} * run, fill, shape);\n"
        for place, pixel in enumerate(PIXELS)
    )
    return name, (
        text,
        f"""/* The column of a block that begins at this pixel of the output: row after row of the window, pixels together. */
static void {name}(uint32_t *column, int8_t *patches, const int8_t *image, int32_t pixel, int32_t fill,
    const aidge_kit_window2d *shape)
{{
    const int32_t run = shape->kernel_width * shape->in_channels;
    int32_t y = aidge_kit_divide(pixel, shape->out_width);
    int32_t x = pixel - y * shape->out_width;
    int32_t set, row;
    for (set = 0; set < {shape.sets}; set++) {{
        uint32_t *to = column + 2 * set;
        int32_t {", ".join(f"{pixel}_top, {pixel}_left" for pixel in PIXELS)};
{corners}        for (row = 0; row < shape->kernel_height; row++) {{
            const int32_t down = row * shape->dilation_height;
{rows}            {values}(to, {", ".join(PIXELS)}, run);
            to += {shape.step_bytes // 4} * run;
        }}
    }}
}}""",
    )


def layer_texts(shape: Shape, form: Form, is_window: bool, is_long: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a whole layer: pointwise, or with a window."""
    gather, gathering = _window_text(shape) if is_window else _pointwise_text(shape)
    groups, texts = groups_text(shape, form, is_long)
    room = begin = ""
    if form.has_offsets:
        room = f" + {shape.pixels}"
        begin = f"aidge_armv7m_sums_of_taps(column, shape->column_bytes, {shape.sets});\n            "
    kind = "conv2d" if is_window else "pointwise"
    name = f"aidge_armv7m_{kind}{form.family}_int8{'_long' * is_long}_{shape.pixels}x{shape.channels}_{form.variant}"
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
                         whole + {CHANNEL_WORDS * shape.channels});
            }}
"""
