# SPDX-License-Identifier: MIT
"""The dense core in assembly: 6 pixels x 1 output channel, over columns of activations that all channels share.

Three sums share two words. With pixels a, b, c the words of a tap are X = a + 2^21 b and Y = c + 2^11 b, so that two products
and two additions, both modulo 2^32, are three multiply-accumulates. From the sums T of X w and U of Y w the three are separated
exactly: the sum of a is the low 21 bits of T, the rest of T the low 11 bits of the sum of b; with these taken away U holds the
sum of c in its low 22 bits, and above them the high bits of the sum of b. So a sum may have 21 bits with its sign, which for
layers of many taps is one chunk of them.
"""

from __future__ import annotations

from ..core.assembly import Routine
from ..core.requantize import SEPARATED, Use, begin_sums, level, saturated, separate, split_multiplier
from .packing import Form, Stream

PIXELS = 6
PARAMETERS = "const uint32_t *columns, const int32_t *stream, int8_t *const *outputs, const aidge_armv6m_dense *dense"
SHIFT_BYTES = 24  # before the columns: what an offset of 1 adds to the sums
SUMS_PARAMETERS = "const uint32_t *columns, const int32_t *stream, int32_t *sums, const aidge_armv6m_dense *dense"
_REST_OF_HEAD_BYTES = 16
_TAP = "%x0, %x1, %x2, %x3"  # words of six values
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
    code.label("channel", "an output channel")
    if stream.has_offsets:
        code("ldm %stream!, {%lack}", "what its weights lack")
    code("ldm %stream!, {%begin, %width, %spare, %high}", "offset, width, constant, multiplier")
    code("mov %constant, %spare")
    if stream.has_corrections:
        code("lsrs %count, %width, #24", "how many corrections")
        code("put %count")
        code("lsls %width, %width, #8")
        code("lsrs %width, %width, #8")
    code("put %width")
    code("put %high")
    _accumulate(code, stream)
    code("get %width")
    code("mov %limit, %width")
    code("ldr %bits, [sp, %frame.bits]")
    code("get %high")
    split_multiplier(code)
    code("get %index")
    _each(code, stream.form, lambda value, pixel: _store(code, value, pixel))
    if stream.has_corrections:
        code("get %count")
        code("cmp %count, #0")
        code("bne %correct")
        code.label("corrected")
    code("adds %index, %index, #1")
    code("put %index")
    code("ldr %spare, [sp, %frame.channels]")
    code("cmp %index, %spare")
    code("beq %done")
    code("b %channel")
    for pixel in range(PIXELS):
        saturated(code, SEPARATED[pixel % 3] if stream.form is Form.single else "sum", pixel)
    code.label("done")
    code("%leave")
    if stream.has_corrections:
        _corrections(code, stream.form)
    return code.function(name + "_block", PARAMETERS, "All channels of 6 pixels.")


def _sums(name: str, stream: Stream) -> str:
    """The sums of 6 pixels for one channel; returns where the next channel begins."""
    code = Routine()
    _begin(code, stream.form)
    if stream.has_offsets:
        code("ldm %stream!, {%lack}", "what its weights lack")
    code("ldm %stream!, {%begin, %x0, %x1, %x2}", "bias, three that C reads")
    _accumulate(code, stream)
    code("get %sums")
    code("add %from, sp, %frame.sums")
    for _ in range(2):
        code("ldm %from!, {%x0, %x1, %x2}")
        code("stm %sums!, {%x0, %x1, %x2}")
    code("mov %next, %stream")
    code("%leave %next")
    return code.function(name + "_block", SUMS_PARAMETERS, "The sums of 6 pixels.", result="const int32_t *")


def _begin(code: Routine, form: Form) -> None:
    code("%enter.low")
    code("put %columns")
    if form is Form.sums:
        code("%frame sums.6, channels, chunk_bytes, column_bytes")
        code("put %sums")
        code("add %to, sp, %frame.channels")
    else:
        code(f"%frame outputs.6, channels, chunk_bytes, column_bytes, below, above, bits{', sums.6' * (form is Form.chunked)}")
        code("mov %to, sp")
        for _ in range(2):
            code("ldm %outputs!, {%x0, %x1, %x2}")
            code("stm %to!, {%x0, %x1, %x2}")
    code("ldm %dense!, {%x0, %x1, %x2}", "channels, chunk_bytes, column_bytes")
    code("stm %to!, {%x0, %x1, %x2}")
    if form is not Form.sums:
        code("ldm %stream!, {%x0, %x1, %x2}", "lowest - highest level, highest level, bits")
        code("stm %to!, {%x0, %x1, %x2}")
        code(f"adds %stream, #{_REST_OF_HEAD_BYTES}")
        code("movs %index, #0")
        code("put %index")


def _accumulate(code: Routine, stream: Stream) -> None:
    """All taps of a channel: the sums in the words %sum0 to %sum3, or complete in the frame; %begin holds what they begin with,
    %lack what the weights lack where there are offsets."""
    if stream.form is Form.single:
        begin_sums(code)
        if stream.has_offsets:
            _columns_with_shifts(code)
        for place, source in enumerate(("first_word", "second_word") * 2):
            code(f"mov %sum{place}, %{_shifted(code, source) if stream.has_offsets else source}")
        code("get %columns")
        code("ldr %spare, [sp, %frame.chunk_bytes]")
        code("adds %spare, %spare, %columns")
        code("mov %end, %spare")
        _taps(code, stream.turn_words)
        return
    if stream.has_offsets:
        _columns_with_shifts(code)
    for pixel in range(PIXELS):
        code(f"str %{_shifted(code, 'begin') if stream.has_offsets else 'begin'}, [sp, %frame.sums.{pixel}]")
    code("get %columns")
    code("ldr %column_end, [sp, %frame.column_bytes]")
    code("adds %column_end, %column_end, %columns")
    code("put %column_end")
    code.label("chunk", "a chunk of taps with sums of 21 bits")
    code("ldr %spare, [sp, %frame.chunk_bytes]")
    code("adds %spare, %spare, %columns")
    code("get %column_end")
    code("cmp %spare, %column_end")
    code("bls %whole")
    code("mov %spare, %column_end", "the last chunk may be shorter")
    code.label("whole")
    code("mov %end, %spare")
    code("movs %spare, #0")
    for place in range(4):
        code(f"mov %sum{place}, %spare")
    _taps(code, stream.turn_words)
    _each(code, Form.single, lambda value, pixel: _add(code, value, pixel))
    code("get %column_end")
    code("cmp %columns, %column_end")
    code("beq %complete")
    code("b %chunk")
    code.label("complete")


def _columns_with_shifts(code: Routine) -> None:
    code("get %columns")
    code(f"subs %columns, #{SHIFT_BYTES}")


def _shifted(code: Routine, begin: str) -> str:
    """The name of `begin` and what the next shift adds."""
    code("ldm %columns!, {%shift}")
    code("muls %shift, %lack")
    code(f"adds %shift, %shift, %{begin}")
    return "shift"


def _taps(code: Routine, words: int) -> None:
    """4 * words taps in each turn."""
    code.label("taps", f"{4 * words} taps")
    for _ in range(words):
        code("ldm %stream!, {%weights}", "4 weights")
        for tap in range(4):
            weight = "weight" if tap < 3 else "weights"
            if tap < 3:
                code("sxtb %weight, %weights")
                code("asrs %weights, %weights, #8")
            code(f"ldm %columns!, {{{_TAP}}}")
            for value in range(4):
                code(f"muls %x{value}, %{weight}")
            for value in range(4):
                code(f"add %sum{value}, %x{value}")
    code("cmp %columns, %end")
    code("bne %taps")


def _add(code: Routine, value: str, pixel: int) -> None:
    code(f"ldr %spare, [sp, %frame.sums.{pixel}]")
    code(f"adds %spare, %spare, %{value}")
    code(f"str %spare, [sp, %frame.sums.{pixel}]")


def _store(code: Routine, value: str, pixel: int) -> None:
    level(code, value, pixel)
    code(f"ldr %spare, [sp, %frame.outputs.{pixel}]")
    code(f"strb %{value}, [%spare, %index]")


def _each(code: Routine, form: Form, use: Use) -> None:
    """Something with the sums of all pixels."""
    for first, words in zip((0, 3), (("sum0", "sum1"), ("sum2", "sum3"))):
        if form is Form.single:
            separate(code, words, first, use)
            continue
        for pixel in range(first, first + 3):
            code(f"ldr %sum, [sp, %frame.sums.{pixel}]")
            use("sum", pixel)


def _corrections(code: Routine, form: Form) -> None:
    """Sums of the channel for which the line is wrong (`Correction`), then back to where they are corrected.

    What is added must be added once: of a pixel that stands at several places (the last one of an image) only at the last.
    """
    code.label("correct")
    code("ldm %stream!, {%wrong, %shift_left, %spare}", "value, shift, delta")
    code("mov %delta, %spare")
    _each(code, form, lambda value, pixel: _correct(code, value, pixel))
    code("subs %count, %count, #1")
    code("bne %correct")
    code("b %corrected")


def _correct(code: Routine, value: str, pixel: int) -> None:
    code(f"subs %spare, %{value}, %wrong")
    code("lsls %spare, %shift_left")
    code(f"bne %kept{pixel}")
    code(f"cmp %{value}, %limit")
    code(f"bhi %kept{pixel}")
    code(f"ldr %spare, [sp, %frame.outputs.{pixel}]")
    if pixel + 1 < PIXELS:
        code(f"ldr %{value}, [sp, %frame.outputs.{pixel + 1}]")
        code(f"cmp %{value}, %spare", "is it taken again?")
        code(f"beq %kept{pixel}")
    code(f"ldrb %{value}, [%spare, %index]")
    code(f"add %{value}, %delta")
    code(f"strb %{value}, [%spare, %index]")
    code.label(f"kept{pixel}")


def _channels(name: str, stream: Stream) -> str:
    return f"""/* All channels of 6 pixels. */
AIDGE_KIT_NOINLINE void {name}_channels(const aidge_armv6m_window *window, const int32_t *stream)
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
    shift, room = "", 0
    if stream.has_offsets:
        taps = "shape->kernel_height * dense->runs * dense->run"
        room = SHIFT_BYTES // 4
        shift = f"aidge_armv6m_shift_of(window.columns, {taps}, {stream.form is Form.single:d});\n            "
    return f"""/* Gathers 6 pixels after the other and computes all their channels. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_armv6m_dense *dense,
                   const aidge_kit_window2d *shape)
{{
    aidge_armv6m_window window = {{{{0}}, input, output, (uint32_t *)scratch + {room}, dense, shape, 0, 0, 0}};
    int32_t batch;
    aidge_armv6m_fill(&window, stream);
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
