# SPDX-License-Identifier: MIT
"""A depthwise layer in assembly: a plane of words of two outputs for each channel, blocks of 3 pairs of outputs from it."""

from __future__ import annotations

from ..core.assembly import Code
from ..sums.packing import CHANNEL_WORDS, FIELD, Form
from .depthwise_layout import Layout

PAIRS = 3  # of a block
WORDS = tuple(f"word_{number}" for number in range(5))  # that hold words of the plane
SUMS = tuple((f"low_{number}", f"high_{number}") for number in range(PAIRS))
LARGEST_OFFSET, LARGEST_PAIR_OFFSET = 4095, 1020
PAIRS_TOGETHER = 4  # pairs of columns in a turn of the loop that fills the plane

SUMS_PARAMETERS = (
    "const uint32_t *plane, const {type} *weights, const int32_t *numbers, int8_t *output, const aidge_armv7m_deep *deep, "
    "int32_t rows"
)
_SHARED = ("stride", "second", "advance", "tail", "blocks", "step", "back", "end", "lowest", "highest")
FILL_PARAMETERS = "uint32_t *plane, const int8_t *source, const aidge_armv7m_fill *fill, int32_t rows"


def sums_text(layout: Layout, form: Form) -> tuple[str, str]:
    """Name and text of a function that computes rows of pairs of one channel, whose requantization is a proved line."""
    name = f"aidge_armv7m_depthwise{'_wide' * form.has_offsets}_{layout.name}_line{form.shift}{'_clamped' * form.is_clamped}"
    whole, rest = layout.blocks
    code = Code()
    code("%enter")
    code("ldm %numbers, {%factor, %low, %level}", "factor, start")
    code("put %output, %factor")
    code("put %low, %level")
    code("ldr %deep, [%argument.4]")
    for words in (_SHARED[:6], _SHARED[6:]):
        code(f"ldm %deep!, {{{', '.join(f'%{word}' for word in words)}}}")
        needed = [f"%{word}" for word in words if _is_needed(word, layout, form)]
        for first in range(0, len(needed), 2):
            code(f"put {', '.join(needed[first : first + 2])}")
    code("ldr %rows, [%argument.5]")
    code.label("row", "a row")
    code("put %rows")
    if layout.is_looped:
        code("get %blocks")
        code("mov %left, %blocks")
        code.label("block", f"{PAIRS} pairs")
        code("put %left")
    if whole:
        _block(code, layout, form, PAIRS, "advance", "back")
    if layout.is_looped:
        code("get %left")
        code("subs %left, %left, #1")
        code("bne %block")
    if rest:
        _block(code, layout, form, rest, "tail", "end")
    else:
        code("get %output")
        _move(code, "output", "tail")
        code("put %output")
        _move(code, "plane", "end")
    code("get %rows")
    code("subs %rows, %rows, #1")
    code("bne %row")
    code("%leave")
    return name, code.function(
        name, SUMS_PARAMETERS.format(type=_type(form)), f"Rows of pairs of outputs, {PAIRS} pairs at once."
    )


def _is_needed(word: str, layout: Layout, form: Form) -> bool:
    """Whether the text of a layout reads a word of `deep`."""
    match word:
        case "advance" | "back":
            return layout.blocks[0] > 0
        case "blocks":
            return layout.is_looped
        case "step":
            return layout.kernel[0] > 1
        case "lowest" | "highest":
            return form.is_clamped
    return True


def _type(form: Form) -> str:
    """The type of the weights: with offsets, 9 bits are halfwords, and a depthwise layer has few weights."""
    return "int16_t" if form.has_offsets else "int8_t"


def _move(code: Code, pointer: str, distance: str) -> None:
    code(f"get %{distance}")
    code(f"add %{pointer}, %{pointer}, %{distance}")


def _block(code: Code, layout: Layout, form: Form, pairs: int, advance: str, back: str) -> None:
    height, width = layout.kernel
    for row in range(height):
        _row(code, layout, form, pairs, is_first=row == 0)
        _move(code, "plane", "step" if row < height - 1 else back)
    code(f"subw %weights, %weights, #{height * width * (2 if form.has_offsets else 1)}")
    for low, high in SUMS[:pairs]:
        code.separate(low, high, FIELD)
    code("get %factor")
    code("get %output")
    code("get %stride")
    addresses = ("[%output]", "[%output, %stride]", "[%output, %stride, lsl #1]")
    for side, then in ((0, "second"), (1, advance)):
        for pair, address in zip(SUMS[:pairs], addresses):
            _store(code, pair[side], form, address)
        _move(code, "output", then)
    code("put %output")


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
    code = Code()
    _block(code, layout, form, pairs, "advance", "back")
    return code.instructions


def _store(code: Code, value: str, form: Form, address: str) -> None:
    code("get %low, %level")
    code(f"smlal %low, %level, %{value}, %factor")
    code.level(form.shift, form.is_clamped)
    code(f"strb %level, {address}")


def _row(code: Code, layout: Layout, form: Form, pairs: int, is_first: bool) -> None:
    """One row of the window for a block of pairs: words stay in registers as long as a tap needs them."""
    wanted = [[tap * layout.dilation[1] + pair * layout.stride[1] for pair in range(pairs)] for tap in range(layout.kernel[1])]
    held = _loaded(code, sorted({word for words in wanted for word in words}))
    for tap, words in enumerate(wanted):
        later = {word for further in wanted[tap:] for word in further}
        for word in words:
            if word not in held:
                _load(code, word, held, later)
        code(f"{'ldrsh' if form.has_offsets else 'ldrsb'} %weight, [%weights], #{2 if form.has_offsets else 1}")
        for (low, high), word in zip(SUMS, words):
            code(f"{'smull' if is_first and tap == 0 else 'smlal'} %{low}, %{high}, %weight, %{held[word]}")


def _loaded(code: Code, words: list[int]) -> dict[int, str]:
    """All words by the values that hold them if one instruction can load them, else none."""
    if not 2 < len(words) <= len(WORDS) or words != list(range(len(words))):
        return {}
    code(f"ldm %plane, {{{', '.join(f'%{name}' for name in WORDS[: len(words)])}}}")
    return dict(zip(words, WORDS))


def _load(code: Code, word: int, held: dict[int, str], later: set[int]) -> None:
    """A word, and with it the next one where that is wanted, too, and a register is free."""
    for old in [old for old in held if old not in later]:
        del held[old]
    free = [name for name in WORDS if name not in held.values()]
    if len(free) > 1 and word + 1 in later and word + 1 not in held and 4 * word <= LARGEST_PAIR_OFFSET:
        code(f"ldrd %{free[0]}, %{free[1]}, [%plane, #{4 * word}]")
        held |= {word: free[0], word + 1: free[1]}
        return
    if not free:
        furthest = max(held)
        free = [held.pop(furthest)]
    code(f"ldr %{free[0]}, [%plane, #{4 * word}]")
    held[word] = free[0]


FILL = "aidge_armv7m_fill_plane"


def fill_text() -> str:
    """The text of a function that writes rows of the plane, which lie in the image."""
    code = Code()
    code("%enter")
    code("ldm %fill!, {%step, %apart, %pads, %skip}")
    code("add %both, %apart, %step")
    code(f"lsl %high_pads, %pads, #{FIELD}")
    code.label("row", "a row")
    second = ("ldrsb %a, [%source, %apart]", "add %source, %source, %step", f"add %a, %pads, %a, lsl #{FIELD}")
    _one_sided(code, "seconds", 4, second)
    code("ldrd %entry, %turns, [%fill, #16]")
    columns = [f"columns_{index}" for index in range(PAIRS_TOGETHER)]
    code.table_jump("%entry", [*columns, "done"], "table")
    for label in columns:
        code.label(label, "two columns")
        for first, second in (("", ", %apart"), (", %step", ", %both")):
            code(f"ldrsb %a, [%source{first}]")
            code(f"ldrsb %b, [%source{second}]")
            if first:
                code("add %source, %source, %step, lsl #1")
            code(f"add %a, %a, %b, lsl #{FIELD}")
            code("str %a, [%plane], #4")
    code.label("done")
    code("subs %turns, %turns, #1")
    code(f"bne %{columns[0]}")
    both = ("ldrsb %a, [%source]", "ldrsb %b, [%source, %apart]", "add %source, %source, %step", f"add %a, %a, %b, lsl #{FIELD}")
    _one_sided(code, "single", 12, both)
    _one_sided(code, "firsts", 8, ("ldrsb %a, [%source]", "add %source, %source, %step", "add %a, %a, %high_pads"))
    code("ldr %plane_skip, [%fill]")
    code("add %source, %source, %skip")
    code("add %plane, %plane, %plane_skip")
    code("subs %rows, %rows, #1")
    code("bne %row")
    code("%leave")
    return code.function(FILL, FILL_PARAMETERS, "Rows of the plane.")


def _one_sided(code: Code, name: str, count: int, lines: tuple[str, ...]) -> None:
    """As many words as the number at `count` behind `fill` says, maybe none; `name` begins the labels."""
    code(f"ldr %count, [%fill, #{count}]")
    code(f"cbz %count, %{name}_done")
    code.label(name)
    for line in lines:
        code(line)
    code("str %a, [%plane], #4")
    code("subs %count, %count, #1")
    code(f"bne %{name}")
    code.label(f"{name}_done")


def layer_texts(layout: Layout, form: Form) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a whole layer."""
    sums, text = sums_text(layout, form)
    fine, kind = "_fine" * (form.fine_bits > 0), "_wide" if form.has_offsets else "_fine" * (form.fine_bits > 0)
    some = "" if form.is_proved else fine or "_some"
    name = sums.replace("_depthwise_", "_depthwise_int8_") + some
    rows = f"{sums}(plane, weights, own, to, &shared->deep, rows);"
    if some:
        rows = f"""if (own[0] != 0) {{
            {rows}
        }} else {{
            aidge_armv7m_pairs_of_rows{kind}(plane, weights, own, to, rows, &shared->deep, {form.shift}, shape, window);
        }}"""
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
        {rows}
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
            const int32_t column = shape->before - window->pad_left;
            {FILL}(words + shape->before, image + ((top + row) * window->in_width + column) * window->in_channels, fill, inside);
            row += inside;
        }}
    }}
}}"""
