# SPDX-License-Identifier: MIT
"""A depthwise layer in assembly: a plane of words of two outputs for each channel, blocks of 3 pairs of outputs from it."""

from __future__ import annotations

from .assembly import Code
from .depthwise_layout import Layout
from .packing import CHANNEL_WORDS, FIELD, Form

PAIRS = 3  # of a block
WORDS = ("r2", "r3", "r4", "r11", "r12")  # that hold words of the plane
SUMS = (("r5", "r6"), ("r7", "r8"), ("r9", "r10"))
WEIGHT = "lr"
LARGEST_OFFSET, LARGEST_PAIR_OFFSET = 4095, 1020
PAIRS_TOGETHER = 4  # pairs of columns in a turn of the loop that fills the plane

SUMS_PARAMETERS = (
    "const uint32_t *plane, const {type} *weights, const int32_t *numbers, int8_t *output, const aidge_armv7m_deep *deep, "
    "int32_t rows"
)
_OWN = ("output", "factor", "low", "high")
_SHARED = ("stride", "second", "advance", "tail", "blocks", "step", "back", "end", "lowest", "highest")
FRAME = (*_OWN, *_SHARED, "left", "rows")
FRAME_BYTES = 4 * len(FRAME) + 4  # with the saved registers a multiple of 8
SAVED_BYTES = 36
FILL_PARAMETERS = "uint32_t *plane, const int8_t *source, const aidge_armv7m_fill *fill, int32_t rows"


def _place(name: str) -> str:
    return f"[sp, #{4 * FRAME.index(name)}]"


def sums_text(layout: Layout, form: Form) -> tuple[str, str]:
    """Name and text of a function that computes rows of pairs of one channel, whose requantization is a proved line."""
    name = f"aidge_armv7m_depthwise{'_wide' * form.has_offsets}_{layout.name}_line{form.shift}{'_clamped' * form.is_clamped}"
    whole, rest = layout.blocks
    code = Code({})
    code("push {{r4-r11, lr}}")
    code(f"sub sp, sp, #{FRAME_BYTES}")
    code("ldm r2, {{r4-r6}}", "factor, start")
    code("mov r12, sp")
    code("stm r12!, {{r3-r6}}")
    code(f"ldr r2, [sp, #{FRAME_BYTES + SAVED_BYTES}]")
    for _ in range(2):
        code("ldm r2!, {{r4-r8}}")
        code("stm r12!, {{r4-r8}}")
    code(f"ldr r2, [sp, #{FRAME_BYTES + SAVED_BYTES + 4}]")
    code.label(1, "a row")
    code(f"str r2, {_place('rows')}")
    if layout.is_looped:
        code(f"ldr r12, {_place('blocks')}")
        code.label(2)
        code(f"str r12, {_place('left')}")
    if whole:
        _block(code, layout, form, PAIRS, "advance", "back")
    if layout.is_looped:
        code(f"ldr r12, {_place('left')}")
        code("subs r12, r12, #1")
        code("bne 2b")
    if rest:
        _block(code, layout, form, rest, "tail", "end")
    else:
        code(f"ldr r4, {_place('output')}")
        _move(code, "r4", "tail")
        code(f"str r4, {_place('output')}")
        _move(code, "r0", "end")
    code(f"ldr r2, {_place('rows')}")
    code("subs r2, r2, #1")
    code("bne 1b")
    code(f"add sp, sp, #{FRAME_BYTES}")
    code("pop {{r4-r11, pc}}")
    return name, code.function(
        name, SUMS_PARAMETERS.format(type=_type(form)), f"Rows of pairs of outputs, {PAIRS} pairs at once.", ""
    )


def _type(form: Form) -> str:
    """Of the weights: where they have offsets, 9 bits are halfwords, of which a depthwise layer has few."""
    return "int16_t" if form.has_offsets else "int8_t"


def _move(code: Code, register: str, distance: str) -> None:
    code(f"ldr lr, {_place(distance)}")
    code(f"add {register}, {register}, lr")


def _block(code: Code, layout: Layout, form: Form, pairs: int, advance: str, back: str) -> None:
    height, width = layout.kernel
    for row in range(height):
        _row(code, layout, form, pairs, is_first=row == 0)
        _move(code, "r0", "step" if row < height - 1 else back)
    code(f"subw r1, r1, #{height * width * (2 if form.has_offsets else 1)}")
    for low, high in SUMS[:pairs]:
        code(f"lsrs r2, {low}, #{FIELD}", "the highest bit that leaves is the sign of the first sum")
        code(f"sbfx {low}, {low}, #0, #{FIELD}")
        code(f"adc {high}, r2, {high}, lsl #{32 - FIELD}")
    code(f"ldr r2, {_place('factor')}")
    code(f"ldr r4, {_place('output')}")
    code(f"ldr r11, {_place('stride')}")
    addresses = ("[r4]", "[r4, r11]", "[r4, r11, lsl #1]")
    for side, then in ((0, "second"), (1, advance)):
        for pair, address in zip(SUMS[:pairs], addresses):
            _store(code, pair[side], form, address)
        _move(code, "r4", then)
    code(f"str r4, {_place('output')}")


def turns(layout: Layout, form: Form, batches: int) -> dict[str, int]:
    """How often the loops of a layer turn: of channels, of bands, of the plane's rows and words that are filled inside of the
    image, at its edge, and moved; of rows of pairs; instructions of their blocks; of pairs of channels without a line."""
    (bands, inside, edge, moved, edge_values), (_, seconds, both, firsts) = layout.plane_turns, layout.fills
    channels, slow = batches * len(form.channels), batches * (len(form.channels) - form.proved)
    rows, (whole, rest) = (channels - slow) * layout.rows, layout.blocks
    blocks = whole * _block_instructions(layout, form, PAIRS) + (_block_instructions(layout, form, rest) if rest else 0)
    pairs = slow * layout.rows * layout.columns
    return {
        "plane_words": layout.plane_rows * layout.pitch,
        "channels": channels,
        "bands": channels * bands,
        "filled_rows": channels * inside,
        "filled_pairs": channels * inside * both,
        "filled_singles": channels * inside * (seconds + firsts),
        "edge_rows": channels * edge,
        "edge_words": channels * edge * layout.pitch,
        "edge_values": channels * edge_values,
        "moved_words": channels * moved * layout.pitch,
        "rows": rows,
        "looped_blocks": rows * whole * layout.is_looped,
        "block_instructions": rows * blocks,
        "pairs_without_line": pairs,
        "taps_without_line": pairs * layout.kernel[0] * layout.kernel[1],
    }


def _block_instructions(layout: Layout, form: Form, pairs: int) -> int:
    code = Code({})
    _block(code, layout, form, pairs, "advance", "back")
    return code.instructions


def _store(code: Code, value: str, form: Form, address: str) -> None:
    code(f"ldrd r12, lr, {_place('low')}")
    code(f"smlal r12, lr, {value}, r2")
    code.level(form.shift, _place if form.is_clamped else None)
    code(f"strb lr, {address}")


def _row(code: Code, layout: Layout, form: Form, pairs: int, is_first: bool) -> None:
    """One row of the window for a block of pairs: words stay in registers as long as a tap needs them."""
    wanted = [[tap * layout.dilation[1] + pair * layout.stride[1] for pair in range(pairs)] for tap in range(layout.kernel[1])]
    held: dict[int, str] = {}
    every = sorted({word for words in wanted for word in words})
    if 2 < len(every) <= len(WORDS) and every == list(range(len(every))):
        code(f"ldm r0, {{{{{', '.join(WORDS[: len(every)])}}}}}")
        held = dict(zip(every, WORDS))
    for tap, words in enumerate(wanted):
        later = {word for further in wanted[tap:] for word in further}
        for word in words:
            if word not in held:
                _load(code, word, held, later)
        code(f"{'ldrsh' if form.has_offsets else 'ldrsb'} {WEIGHT}, [r1], #{2 if form.has_offsets else 1}", "a weight")
        for (low, high), word in zip(SUMS, words):
            code(f"{'smull' if is_first and tap == 0 else 'smlal'} {low}, {high}, {WEIGHT}, {held[word]}")


def _load(code: Code, word: int, held: dict[int, str], later: set[int]) -> None:
    """A word, and with it the next one where that is wanted, too, and a register is free."""
    for old in [old for old in held if old not in later]:
        del held[old]
    free = [register for register in WORDS if register not in held.values()]
    if len(free) > 1 and word + 1 in later and word + 1 not in held and 4 * word <= LARGEST_PAIR_OFFSET:
        code(f"ldrd {free[0]}, {free[1]}, [r0, #{4 * word}]")
        held |= {word: free[0], word + 1: free[1]}
        return
    if not free:
        furthest = max(held)
        free = [held.pop(furthest)]
    code(f"ldr {free[0]}, [r0, #{4 * word}]")
    held[word] = free[0]


FILL = "aidge_armv7m_fill_plane"


def fill_text() -> str:
    """The text of a function that writes rows of the plane, which lie in the image."""
    code = Code({})
    code("push {{r4-r11}}")
    code("ldm r2!, {{r7, r8, r10, r12}}", "step, apart, pads, skip")
    code("add r9, r8, r7")
    code(f"lsl r11, r10, #{FIELD}")
    code.label(1, "a row")
    _one_sided(code, 4, ("ldrsb r4, [r1, r8]", "add r1, r1, r7", f"add r4, r10, r4, lsl #{FIELD}"))
    code("ldrd r5, r6, [r2, #16]", "entry, turns")
    code.table_jump("r5", [*range(20, 20 + PAIRS_TOGETHER), 3], 2)
    for index in range(PAIRS_TOGETHER):
        code.label(20 + index, "two columns")
        for first, second in (("[r1]", "[r1, r8]"), ("[r1, r7]", "[r1, r9]")):
            code(f"ldrsb r4, {first}")
            code(f"ldrsb r5, {second}")
            if second == "[r1, r9]":
                code("add r1, r1, r7, lsl #1")
            code(f"add r4, r4, r5, lsl #{FIELD}")
            code("str r4, [r0], #4")
    code.label(3)
    code("subs r6, r6, #1")
    code("bne 20b")
    both = ("ldrsb r4, [r1]", "ldrsb r5, [r1, r8]", "add r1, r1, r7", f"add r4, r4, r5, lsl #{FIELD}")
    _one_sided(code, 12, both)
    _one_sided(code, 8, ("ldrsb r4, [r1]", "add r1, r1, r7", "add r4, r4, r11"))
    code("ldr r4, [r2]", "plane_skip")
    code("add r1, r1, r12")
    code("add r0, r0, r4")
    code("subs r3, r3, #1")
    code("bne 1b")
    code("pop {{r4-r11}}")
    code("bx lr")
    return code.function(FILL, FILL_PARAMETERS, "Rows of the plane.", "")


def _one_sided(code: Code, count: int, lines: tuple[str, ...]) -> None:
    """As many words as the number at `count` behind `fill` says, maybe none. Labels 5 and 6."""
    code(f"ldr r6, [r2, #{count}]")
    code("cbz r6, 6f")
    code.label(5)
    for line in lines:
        code(line)
    code("str r4, [r0], #4")
    code("subs r6, r6, #1")
    code("bne 5b")
    code.label(6)


def layer_texts(layout: Layout, form: Form) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a whole layer."""
    sums, text = sums_text(layout, form)
    fine, kind = "_fine" * (form.fine_bits > 0), "_wide" if form.has_offsets else "_fine" * (form.fine_bits > 0)
    some = "" if form.is_proved else fine or "_some"
    name = sums.replace("_depthwise_", "_depthwise_int8_") + some
    is_fast = "if (own[0] != 0) " if some else ""
    slow = "#endif" if some else "#else"
    end = "" if some else "\n#endif"
    otherwise = " else" if some else ""
    channel = f"""/* All of one channel: rows of the plane that the next band needs, too, move up. */
AIDGE_KIT_NOINLINE void {name}_channel(const int8_t *image, int8_t *to, const {_type(form)} *weights, const int32_t *own,
    uint32_t *plane, const aidge_armv7m_shared *shared, const aidge_armv7m_depthwise *shape, const aidge_kit_window2d *window)
{{
    int32_t top = -window->pad_top;
    int32_t done = 0, ready = 0;
    while (done < shape->rows) {{
        const int32_t rows = shape->rows - done < shape->band ? shape->rows - done : shape->band;
        const int32_t end = aidge_armv7m_plane_rows(rows, window);
        aidge_armv7m_fill_rows(plane, image, top, ready, end, &shared->fill, shape, window);
#if AIDGE_ARMV7M_ASSEMBLY
        {is_fast}{{
            {sums}(plane, weights, own, to, &shared->deep, rows);
        }}{otherwise}
{slow}
        {{
            aidge_armv7m_pairs_of_rows{kind}(plane, weights, own, to, rows, &shared->deep, {form.shift}, shape, window);
        }}{end}
        to += rows * window->out_width * window->in_channels;
        done += rows;
        top += rows * window->stride_height;
        if (done < shape->rows) {{
            ready = aidge_armv7m_keep_rows(plane, end, rows * window->stride_height, shape->pitch);
        }}
    }}
}}"""
    layer = f"""/* A channel at a time, in bands of rows. */
static void {name}(const int8_t *input, int8_t *output, const {_type(form)} *weights, const int32_t *numbers, void *scratch,
    const aidge_armv7m_depthwise *shape, const aidge_kit_window2d *window)
{{
    aidge_armv7m_shared *const shared = (aidge_armv7m_shared *)scratch;
    uint32_t *const plane = (uint32_t *)(void *)(shared + 1);
    int32_t images, channel;
    aidge_armv7m_share_deep(&shared->deep, shape, numbers, window);
    aidge_armv7m_share_fill(&shared->fill, shape, numbers[3], window);
    aidge_armv7m_clear_plane(plane, numbers[3], shape);
    for (images = window->batches; images > 0; images--) {{
        const {_type(form)} *own_weights = weights;
        const int32_t *own = numbers + AIDGE_ARMV7M_HEAD;
        for (channel = 0; channel < window->in_channels; channel++) {{
            {name}_channel(input + channel, output + channel, own_weights, own, plane, shared, shape, window);
            own_weights += window->kernel_height * window->kernel_width;
            own += {CHANNEL_WORDS};
        }}
        input += window->in_height * window->in_width * window->in_channels;
        output += window->out_height * window->out_width * window->in_channels;
    }}
}}"""
    return name, (fill_text(), FILL_ROWS, text, channel, layer)


FILL_ROWS = f"""/* Rows of the plane, from `row` to `end`; row 0 begins with row `top` of the image. */
static void aidge_armv7m_fill_rows(uint32_t *plane, const int8_t *image, int32_t top, int32_t row, int32_t end,
    const aidge_armv7m_fill *fill, const aidge_armv7m_depthwise *shape, const aidge_kit_window2d *window)
{{
    while (row < end) {{
        uint32_t *const words = plane + row * shape->pitch;
        const int32_t inside = aidge_armv7m_rows_inside(top + row, end - row, shape, window);
        if (inside <= 0) {{
            aidge_armv7m_edge_row(words + shape->before, image, top + row, fill->pads, shape, window);
            row++;
        }} else {{
#if AIDGE_ARMV7M_ASSEMBLY
            const int32_t column = shape->before - window->pad_left;
            {FILL}(words + shape->before, image + ((top + row) * window->in_width + column) * window->in_channels, fill, inside);
            row += inside;
#else
            aidge_armv7m_plane_row(words, image, top + row, fill->pads, shape, window);
            row++;
#endif
        }}
    }}
}}"""
