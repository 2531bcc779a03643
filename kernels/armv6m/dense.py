# SPDX-License-Identifier: MIT
"""The dense core in assembly: 6 pixels x 1 output channel, over columns of activations that all channels share.

Three sums share two words. With pixels a, b, c the words of a tap are X = a + 2^21 b and Y = c + 2^11 b, so that two products
and two additions, both modulo 2^32, are three multiply-accumulates. From the sums T of X w and U of Y w the three are separated
exactly: the sum of a is the low 21 bits of T, the rest of T the low 11 bits of the sum of b; with these taken away U holds the
sum of c in its low 22 bits, and above them the high bits of the sum of b. So a sum may have 21 bits with its sign, which for
layers of many taps is one chunk of them.

Registers: column in r0, stream in r1, weights in r2 and r3, a tap in r4 to r7, the words of sums in r8 to r11, the end of the
column in r12, the constant of the requantization in lr.
"""

from __future__ import annotations

from .assembly import Routine
from .packing import Form, Stream
from .requantize import SEPARATED, Requantization, Use, begin_sums, separate, split_multiplier

PIXELS = 6
PARAMETERS = "const uint32_t *columns, const int32_t *stream, int8_t *const *outputs, const aidge_armv6m_dense *dense"
SHIFT_BYTES = 24  # before the columns: what an offset of 1 adds to the sums
SUMS_PARAMETERS = "const uint32_t *columns, const int32_t *stream, int32_t *sums, const aidge_armv6m_dense *dense"
# On the stack: the outputs, the beginning of the struct dense, that of the stream, and what stands behind them.
OUTPUTS, CHANNELS, CHUNK_BYTES, COLUMN_BYTES, BELOW, ABOVE, BITS = 0, 24, 28, 32, 36, 40, 44
_REST_OF_HEAD_BYTES = 16
COLUMNS, MULTIPLIER, WIDTH, INDEX, COLUMN_END, COUNT, SUMS = (48 + 4 * place for place in range(7))
FRAME_BYTES = {Form.single: SUMS, Form.chunked: SUMS + 4 * PIXELS, Form.sums: SUMS}
REQUANTIZATION = Requantization("r0", "r12", "lr", BELOW, ABOVE)
WORD_INSTRUCTIONS = 43  # of 4 taps
TURN = 2


def words_in_turn(words: int) -> int:
    """How many words of 4 taps stand in the loop: two, unless filling up the last turn costs more."""
    return min((1, 2), key=lambda size: (-(-words // size) * (size * WORD_INSTRUCTIONS + TURN), -size))


def block_texts(stream: Stream) -> tuple[str, tuple[str, ...]]:
    """The call and the texts of a function that computes all channels of 6 pixels, which are in a `window`, from a `stream`."""
    name = _name(stream)
    if stream.form is Form.sums:
        return f"{name}_channels(&window, stream);", (_sums(name, stream), _channels(name, stream))
    return f"{name}_block(window.columns, stream, window.outputs, dense);", (_block(name, stream),)


def texts(stream: Stream, has_groups: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer: the channels of 6 pixels in assembly, and the C function around them; one around all groups."""
    name, (call, found) = _name(stream), block_texts(stream)
    found = (*found, _layer(name, stream, call))
    return (f"{name}_groups", (*found, _groups(name))) if has_groups else (name, found)


def _name(stream: Stream) -> str:
    return f"aidge_armv6m_dense_int8_{stream.variant}"


def _block(name: str, stream: Stream) -> str:
    """All channels of 6 pixels, requantized and stored."""
    code = Routine()
    _begin(code, stream.form)
    code.label(1, "an output channel")
    if stream.has_offsets:
        code("ldm r1!, {r3}", "what its weights lack")
    code("ldm r1!, {r4-r7}", "offset, width, constant, multiplier")
    if stream.has_corrections:
        code("lsrs r2, r5, #24", "how many corrections")
        code(f"str r2, [sp, #{COUNT}]")
        code("lsls r5, r5, #8")
        code("lsrs r5, r5, #8")
    code(f"str r5, [sp, #{WIDTH}]")
    code("mov lr, r6")
    code(f"str r7, [sp, #{MULTIPLIER}]")
    _accumulate(code, stream)
    code(f"ldr r7, [sp, #{WIDTH}]")
    code("mov r12, r7")
    code(f"ldr r0, [sp, #{BITS}]")
    code(f"ldr r2, [sp, #{MULTIPLIER}]")
    split_multiplier(code)
    code(f"ldr r7, [sp, #{INDEX}]")
    _each(code, stream.form, lambda value, spare, pixel: _store(code, value, spare, pixel))
    if stream.has_corrections:
        code(f"ldr r2, [sp, #{COUNT}]")
        code("cmp r2, #0")
        code("bne 6f")
        code.label(7)
    code("adds r7, r7, #1")
    code(f"str r7, [sp, #{INDEX}]")
    code(f"ldr r4, [sp, #{CHANNELS}]")
    code("cmp r7, r4")
    code("beq 9f")
    code("b 1b")
    for pixel in range(PIXELS):
        value, spare = SEPARATED[pixel % 3] if stream.form is Form.single else ("r5", "r6")
        REQUANTIZATION.saturated(code, value, spare, pixel)
    code.label(9)
    _end(code, stream.form)
    if stream.has_corrections:
        _corrections(code, stream.form)
    return code.function(
        name + "_block",
        PARAMETERS,
        "All channels of 6 pixels.",
        f"aidge_armv6m_block_of(columns, stream, outputs, dense, {stream.has_corrections:d}, {stream.has_offsets:d});",
    )


def _sums(name: str, stream: Stream) -> str:
    """The sums of 6 pixels for one channel; returns where the next channel begins."""
    code = Routine()
    _begin(code, stream.form)
    if stream.has_offsets:
        code("ldm r1!, {r3}", "what its weights lack")
    code("ldm r1!, {r4-r7}", "bias, three that C reads")
    _accumulate(code, stream)
    code("mov r0, r1")
    code(f"ldr r1, [sp, #{INDEX}]")
    code(f"add r2, sp, #{OUTPUTS}")
    for _ in range(2):
        code("ldm r2!, {r4-r6}")
        code("stm r1!, {r4-r6}")
    _end(code, stream.form)
    portable = f"return aidge_armv6m_sums_of(columns, stream, sums, dense, {stream.has_offsets:d});"
    return code.function(name + "_block", SUMS_PARAMETERS, "The sums of 6 pixels.", portable, "const int32_t *")


def _sum_of(form: Form, pixel: int) -> str:
    """Where the complete sum is; where C stores them, outputs have no place."""
    return f"[sp, #{(OUTPUTS if form is Form.sums else SUMS) + 4 * pixel}]"


def _begin(code: Routine, form: Form) -> None:
    code.push_all()
    code(f"sub sp, #{FRAME_BYTES[form]}")
    code(f"str r0, [sp, #{COLUMNS}]")
    if form is Form.sums:
        code(f"str r2, [sp, #{INDEX}]", "sums")
        code(f"add r0, sp, #{CHANNELS}")
    else:
        code("mov r0, sp")
        for _ in range(2):
            code("ldm r2!, {r4-r6}")
            code("stm r0!, {r4-r6}")
    code("ldm r3!, {r4-r6}", "channels, chunk_bytes, column_bytes")
    code("stm r0!, {r4-r6}")
    if form is not Form.sums:
        code("ldm r1!, {r4-r6}", "lowest - highest level, highest level, bits")
        code("stm r0!, {r4-r6}")
        code(f"adds r1, #{_REST_OF_HEAD_BYTES}")
        code("movs r4, #0")
        code(f"str r4, [sp, #{INDEX}]")


def _end(code: Routine, form: Form) -> None:
    code(f"add sp, #{FRAME_BYTES[form]}")
    code.pop_all()


def _accumulate(code: Routine, stream: Stream) -> None:
    """All taps of a channel: the sums in the words r8 to r11, or complete in the frame; r4 holds what they begin with, r3 what
    the weights lack where there are offsets."""
    if stream.form is Form.single:
        begin_sums(code)
        if stream.has_offsets:
            _columns_with_shifts(code)
        for register, source in zip(range(8, 12), ("r5", "r6") * 2):
            code(f"mov r{register}, {_shifted(code, source) if stream.has_offsets else source}")
        code(f"ldr r0, [sp, #{COLUMNS}]")
        code(f"ldr r4, [sp, #{CHUNK_BYTES}]")
        code("adds r4, r4, r0")
        code("mov r12, r4")
        _taps(code, stream.turn_words)
        return
    if stream.has_offsets:
        _columns_with_shifts(code)
    for pixel in range(PIXELS):
        code(f"str {_shifted(code, 'r4') if stream.has_offsets else 'r4'}, {_sum_of(stream.form, pixel)}")
    code(f"ldr r0, [sp, #{COLUMNS}]")
    code(f"ldr r4, [sp, #{COLUMN_BYTES}]")
    code("adds r4, r4, r0")
    code(f"str r4, [sp, #{COLUMN_END}]")
    code.label(3, "a chunk of taps with sums of 21 bits")
    code(f"ldr r4, [sp, #{CHUNK_BYTES}]")
    code("adds r4, r4, r0")
    code(f"ldr r5, [sp, #{COLUMN_END}]")
    code("cmp r4, r5")
    code("bls 5f")
    code("mov r4, r5", "the last chunk may be shorter")
    code.label(5)
    code("mov r12, r4")
    code("movs r4, #0")
    for register in range(8, 12):
        code(f"mov r{register}, r4")
    _taps(code, stream.turn_words)
    _each(code, Form.single, lambda value, spare, pixel: _add(code, value, _sum_of(stream.form, pixel)))
    code(f"ldr r4, [sp, #{COLUMN_END}]")
    code("cmp r0, r4")
    code("beq 4f")
    code("b 3b")
    code.label(4)


def _columns_with_shifts(code: Routine) -> None:
    code(f"ldr r0, [sp, #{COLUMNS}]")
    code(f"subs r0, #{SHIFT_BYTES}")


def _shifted(code: Routine, begin: str) -> str:
    """The register that holds `begin` and what the next shift adds."""
    code("ldm r0!, {r2}")
    code("muls r2, r3")
    code(f"adds r2, r2, {begin}")
    return "r2"


def _taps(code: Routine, words: int) -> None:
    """4 * words taps in each turn."""
    code.label(2, f"{4 * words} taps")
    for _ in range(words):
        code("ldm r1!, {r3}", "4 weights")
        for tap in range(4):
            weight = "r2" if tap < 3 else "r3"
            if tap < 3:
                code("sxtb r2, r3")
                code("asrs r3, r3, #8")
            code("ldm r0!, {r4-r7}")
            for value in range(4, 8):
                code(f"muls r{value}, {weight}")
            for value in range(4, 8):
                code(f"add r{value + 4}, r{value}")
    code("cmp r0, r12")
    code("bne 2b")


def _add(code: Routine, value: str, place: str) -> None:
    # r7 is free: a tap's last word.
    code(f"ldr r7, {place}")
    code(f"adds r7, r7, {value}")
    code(f"str r7, {place}")


def _store(code: Routine, value: str, spare: str, pixel: int) -> None:
    REQUANTIZATION.value(code, value, spare, pixel)
    code(f"ldr {spare}, [sp, #{OUTPUTS + 4 * pixel}]")
    code(f"strb {value}, [{spare}, r7]")


def _each(code: Routine, form: Form, use: Use) -> None:
    """Something with the sums of all pixels."""
    for first, words in zip((0, 3), (("r8", "r9"), ("r10", "r11"))):
        if form is Form.single:
            separate(code, words, first, use)
            continue
        for pixel in range(first, first + 3):
            code(f"ldr r5, {_sum_of(form, pixel)}")
            use("r5", "r6", pixel)


def _corrections(code: Routine, form: Form) -> None:
    """Sums of the channel for which the line is wrong (`Correction`). Labels 6 and 30 + pixel, then back to 7.

    What is added must be added once: of a pixel that stands at several places (the last one of an image) only at the last.
    """
    code.label(6)
    code("ldm r1!, {r0, r3, r4}", "value, shift, delta")
    code("mov lr, r4")
    _each(code, form, lambda value, spare, pixel: _correct(code, value, spare, pixel))
    code("subs r2, r2, #1")
    code("bne 6b")
    code("b 7b")


def _correct(code: Routine, value: str, spare: str, pixel: int) -> None:
    code(f"subs {spare}, {value}, r0")
    code(f"lsls {spare}, r3")
    code(f"bne 3{pixel}f")
    code(f"cmp {value}, r12")
    code(f"bhi 3{pixel}f")
    code(f"ldr {spare}, [sp, #{OUTPUTS + 4 * pixel}]")
    if pixel + 1 < PIXELS:
        code(f"ldr {value}, [sp, #{OUTPUTS + 4 * (pixel + 1)}]")
        code(f"cmp {value}, {spare}", "is it taken again?")
        code(f"beq 3{pixel}f")
    code(f"ldrb {value}, [{spare}, r7]")
    code(f"add {value}, lr")
    code(f"strb {value}, [{spare}, r7]")
    code.label(30 + pixel)


def _channels(name: str, stream: Stream) -> str:
    return f"""/* All channels of 6 pixels. */
AIDGE_ARMV6M_NOINLINE void {name}_channels(const aidge_armv6m_window *window, const int32_t *stream)
{{
    const int32_t *weights = stream + AIDGE_ARMV6M_HEAD_WORDS;
    int32_t channel;
    for (channel = 0; channel < window->dense->channels; channel++) {{
        const int32_t *const numbers = weights + {1 + stream.has_offsets};
        int32_t sums[AIDGE_ARMV6M_PIXELS];
        weights = {name}_block(window->columns, weights, sums, window->dense);
        aidge_armv6m_store(sums, numbers, stream, channel, window->outputs);
    }}
}}"""


def _layer(name: str, stream: Stream, call: str) -> str:
    """The C function around the assembly."""
    shift, begin = "", "aidge_armv6m_fill"
    if stream.has_offsets:
        begin = "aidge_armv6m_make_room"
        shift = f"aidge_armv6m_shift(&window, {int(stream.form is Form.single)});\n            "
    return f"""/* Gathers 6 pixels after the other and computes all their channels. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_armv6m_dense *dense,
                   const aidge_kit_window2d *shape)
{{
    aidge_armv6m_window window = {{{{0}}, input, output, (uint32_t *)scratch, dense, shape, 0, 0, 0}};
    int32_t batch;
    {begin}(&window, stream);
    for (batch = shape->batches; batch > 0; batch--) {{
        window.left = shape->out_height * shape->out_width;
        while (window.left > 0) {{
            aidge_armv6m_gather(&window);
            {shift}{call}
        }}
        aidge_armv6m_next_image(&window);
    }}
}}"""


def _groups(name: str) -> str:
    """Each group of channels as a layer of its own, whose pixels lie as far apart as those of all."""
    return f"""/* Group by group; their streams begin at `starts`. */
static void {name}_groups(const int8_t *input, int8_t *output, const int32_t *stream, const int32_t *starts, void *scratch,
                          const aidge_armv6m_dense *dense, const aidge_kit_window2d *shape)
{{
    int32_t group;
    for (group = 0; group < shape->groups; group++) {{
        {name}(input, output, stream + starts[group], scratch, dense, shape);
        input += dense->run;
        output += dense->channels;
    }}
}}"""
