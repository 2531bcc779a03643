# SPDX-License-Identifier: MIT
"""The dense core in assembly: 6 pixels x 1 or more output channels, over columns of activations that all channels share.

Three sums share two words. With pixels a, b, c the words of a tap are X = a + 2^21 b and Y = c + 2^11 b, so that two products
and two additions, both modulo 2^32, are three multiply-accumulates. From the sums T of X w and U of Y w the three are separated
exactly: the sum of a is the low 21 bits of T, the rest of T the low 11 bits of the sum of b; with these taken away U holds the
sum of c in its low 22 bits, and above them the high bits of the sum of b. So a sum may have 21 bits with its sign, which for
layers of many taps is one chunk of them.

If several channels are computed at a time, the outputs of each have a text of their own. If sums may be corrected, or are of
several chunks, the words of the sums go through memory instead, so that the outputs of all channels have one text.
"""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.dense_layer import NUMBERS_BYTES, SHIFT_BYTES, channels_text, groups_text, layer_text
from aidge_build.contract.kernel_kit.narrow.dense_taps import taps, word_of
from aidge_build.contract.kernel_kit.narrow.packing import Form, Stream
from aidge_build.contract.kernel_kit.narrow.requantize import (
    SEPARATED,
    SHIFT,
    Use,
    begin_sums,
    level,
    load_bits,
    saturated,
    separate,
    separate_shifted,
    split_multiplier,
)
from aidge_build.contract.kernel_kit.routine import Routine

PIXELS = 6
PARAMETERS = "const uint32_t *columns, const int32_t *stream, int8_t *const *outputs, const aidge_kit_narrow_dense *dense"
SUMS_PARAMETERS = "const uint32_t *columns, const int32_t *stream, int32_t *sums, const aidge_kit_narrow_dense *dense"
_REST_OF_HEAD_BYTES = 16
_HEADS = ("outputs", 6), ("dense", 3)  # parameters, and their first words, which go to the frame


def block_texts(core: Core, stream: Stream) -> tuple[str, tuple[str, ...]]:
    """The call and the texts of a function that computes all channels of 6 pixels, which are in a `window`, from a `stream`."""
    name = _name(core, stream)
    if stream.form is Form.sums:
        return f"{name}_channels(&window, stream);", (_sums(core, name, stream), channels_text(name))
    return f"{name}_block(window.columns, stream, window.outputs, dense);", (_block(core, name, stream),)


def texts(core: Core, stream: Stream, has_groups: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer: the channels of 6 pixels in assembly, and the C function around them; one around all groups."""
    name, (call, found) = _name(core, stream), block_texts(core, stream)
    found = (*found, layer_text(name, stream, call))
    return (f"{name}_groups", (*found, groups_text(name))) if has_groups else (name, found)


def _name(core: Core, stream: Stream) -> str:
    return f"{core.prefix}_dense_int8_{stream.variant}"


def _block(core: Core, name: str, stream: Stream) -> str:
    """All channels of 6 pixels, requantized and stored."""
    code, is_chunked, many = core.emitter(), stream.form is Form.chunked, stream.has_one_text
    code("%enter.low")
    code("put %columns")
    own = [f"words.{4 * stream.together}"] * many + [f"totals.{PIXELS * stream.together}"] * is_chunked
    levels = "bits" if code.multiplies_high else "below, above, bits"
    code(f"%frame {', '.join(('outputs.6, channels, chunk_bytes, column_bytes', levels, *own))}")
    code("mov %to, sp")
    for parameter, words in _HEADS:
        _to_frame(code, parameter, words)
    if code.multiplies_high:
        code("ldm %stream!, {%lowest, %highest, %spare}")
        code("adds %lowest, %lowest, %highest")
        code("str %spare, [sp, %frame.bits]")
    else:
        _to_frame(code, "stream", 3)
    code(f"adds %stream, #{_REST_OF_HEAD_BYTES}")
    code("movs %index, #0")
    code("put %index")
    code.label("channels", f"the next {stream.together} channels" if stream.together > 1 else "an output channel")
    _accumulate(code, stream)
    if many:
        code(f"add %from, sp, %frame.{'totals' if is_chunked else 'words'}")
        code(f"movs %todo, #{stream.together}")
    if code.multiplies_high:
        _load_common(code, stream)
    if many:
        code.label("channel")
    texts_of_outputs = 1 if many else stream.together
    for channel in range(texts_of_outputs):
        _outputs(code, stream, channel)
    if many:
        code("subs %todo, %todo, #1")
        code("bne %channel")
    code("put %index")
    code("ldr %spare, [sp, %frame.channels]")
    code("cmp %index, %spare")
    code("beq %done")
    code("b %channels")
    for place in range(PIXELS * texts_of_outputs):
        saturated(code, SEPARATED[place % 3] if stream.form is Form.single else "sum", place)
    code.label("done")
    code("%leave")
    if stream.has_corrections:
        _corrections(code, stream)
    return code.function(name + "_block", PARAMETERS, "All channels of 6 pixels.")


def _to_frame(code: Routine, parameter: str, words: int) -> None:
    """The next words that a parameter points to, to the frame."""
    for _ in range(words // 3):
        code(f"ldm %{parameter}!, {{%x0, %x1, %x2}}")
        code("stm %to!, {%x0, %x1, %x2}")


def _sums(core: Core, name: str, stream: Stream) -> str:
    """The sums of 6 pixels for one channel; returns where the next channel begins."""
    code = core.emitter()
    code("%enter.low")
    code("put %columns")
    code("%frame channels, chunk_bytes, column_bytes, totals.6")
    code("put %sums")
    code("mov %to, sp")
    _to_frame(code, "dense", 3)
    _accumulate(code, stream)
    code(f"adds %stream, #{NUMBERS_BYTES}", "numbers that C reads")
    code("get %sums")
    code("add %from, sp, %frame.totals")
    for _ in range(2):
        code("ldm %from!, {%x0, %x1, %x2}")
        code("stm %sums!, {%x0, %x1, %x2}")
    code("mov %next, %stream")
    code("%leave %next")
    return code.function(name + "_block", SUMS_PARAMETERS, "The sums of 6 pixels.", result="const int32_t *")


def _accumulate(code: Routine, stream: Stream) -> None:
    """All taps of the next channels: words of their sums, or complete sums, in the frame; of a single channel the words are in
    %sum0 to %sum3."""
    channels = range(stream.together)
    if stream.has_offsets:
        code("ldm %stream!, {%lack}", "what its weights lack")
    code(f"ldm %stream!, {{{', '.join(f'%begin{channel}' for channel in channels)}}}", "what sums begin with")
    if stream.form is Form.single:
        for channel in channels:
            _begin_words(code, stream, channel)
        code("get %columns")
        code("ldr %spare, [sp, %frame.chunk_bytes]")
        code("adds %spare, %spare, %columns")
        code("mov %end, %spare")
        taps(code, stream)
        return
    for channel in channels:
        _begin_totals(code, stream, channel)
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
    for channel in channels:
        for place in range(4):
            code(f"mov %{word_of(stream, channel, place)}, %spare")
    taps(code, stream)
    _add_words(code, stream)
    code("get %column_end")
    code("cmp %columns, %column_end")
    code("beq %complete")
    code("b %chunk")
    code.label("complete")


def _begin_words(code: Routine, stream: Stream, channel: int) -> None:
    """The words of a channel's sums before the first tap."""
    begin_sums(code, f"begin{channel}")
    _columns_with_shifts(code, stream)
    for place, source in enumerate(("first_word", "second_word") * 2):
        code(f"mov %{word_of(stream, channel, place)}, %{_shifted(code, source) if stream.has_offsets else source}")


def _begin_totals(code: Routine, stream: Stream, channel: int) -> None:
    """The sums of a channel before the first tap."""
    _columns_with_shifts(code, stream)
    for pixel in range(PIXELS):
        begin = _shifted(code, f"begin{channel}") if stream.has_offsets else f"begin{channel}"
        code(f"str %{begin}, [sp, %frame.totals.{PIXELS * channel + pixel}]")


def _columns_with_shifts(code: Routine, stream: Stream) -> None:
    if stream.has_offsets:
        code("get %columns")
        code(f"subs %columns, #{SHIFT_BYTES}")


def _shifted(code: Routine, begin: str) -> str:
    """The name of `begin` and what the next shift adds."""
    code("ldm %columns!, {%shift}")
    code("muls %shift, %lack")
    code(f"adds %shift, %shift, %{begin}")
    return "shift"


def _add_words(code: Routine, stream: Stream) -> None:
    """Adds the sums of a chunk to the totals."""
    if stream.together == 1:
        _each(code, lambda value, pixel: _add(code, f"[sp, %frame.totals.{pixel}]", value))
        return
    code("add %from, sp, %frame.words")
    code("add %totals, sp, %frame.totals")
    code(f"movs %todo, #{stream.together}")
    code.label("add")
    code("ldm %from!, {%sum0, %sum1, %sum2, %sum3}")
    _each(code, lambda value, pixel: _add(code, f"[%totals, #{4 * pixel}]", value))
    code(f"add %totals, %totals, #{4 * PIXELS}")
    code("subs %todo, %todo, #1")
    code("bne %add")


def _add(code: Routine, place: str, value: str) -> None:
    code(f"ldr %spare, {place}")
    code(f"adds %spare, %spare, %{value}")
    code(f"str %spare, {place}")


def _load_common(code: Routine, stream: Stream) -> None:
    """Loads numbers that the outputs of all channels read, on a core with registers for them."""
    load_bits(code)
    code("get %index")
    for pixel in range(PIXELS):
        code(f"ldr %output{pixel}, [sp, %frame.outputs.{pixel}]")
        if stream.has_texts:
            code(f"adds %output{pixel}, %output{pixel}, %index")
    if stream.has_texts:
        code(f"adds %index, %index, #{stream.together}")


def _outputs(code: Routine, stream: Stream, channel: int) -> None:
    """The outputs of a channel, or of all channels; then %from is where the sums of the next one are."""
    code("ldm %stream!, {%width, %spare, %high}", "width, constant, multiplier")
    code("mov %constant, %spare")
    if stream.has_corrections:
        code("lsrs %count, %width, #24", "how many corrections")
        code("put %count")
        if not _is_shifted(code, stream):
            code("lsls %width, %width, #8")
            code("lsrs %width, %width, #8")
    if _is_shifted(code, stream):
        code(f"lsls %width, %width, #{SHIFT}")
    code("mov %limit, %width")
    if not code.multiplies_high:
        load_bits(code)
        split_multiplier(code)
        code("get %index")
    if stream.has_one_text and stream.form is Form.single:
        code("ldm %from!, {%sum0, %sum1, %sum2, %sum3}")
    if stream.has_texts:
        for place in range(4):
            word = word_of(stream, channel, place)
            code(f"get %{word}")
            code(f"mov %sum{place}, %{word}")
    _sums_of(code, stream, lambda value, pixel: _store(code, stream, value, pixel, channel))
    if stream.has_corrections:
        code("get %count")
        code("cmp %count, #0")
        code("bne %correct")
        code.label("corrected")
    if stream.has_one_text and stream.form is not Form.single:
        code(f"add %from, %from, #{4 * PIXELS}")
    if not stream.has_texts:
        code("adds %index, %index, #1")


def _is_shifted(code: Routine, stream: Stream) -> bool:
    """Whether sums are shifted up before they become levels."""
    return code.multiplies_high and stream.form is Form.single


def _store(code: Routine, stream: Stream, value: str, pixel: int, channel: int) -> None:
    level(code, value, PIXELS * channel + pixel, _is_shifted(code, stream))
    output = _output_at(code, pixel, "spare")
    code(f"strb %{value}, [%{output}, {f'#{channel}' if stream.has_texts else '%index'}]")


def _output_at(code: Routine, pixel: int, name: str) -> str:
    """The name of the address of a pixel's outputs: `name`, unless it has a register for all channels."""
    if code.multiplies_high:
        return f"output{pixel}"
    code(f"ldr %{name}, [sp, %frame.outputs.{pixel}]")
    return name


def _sums_of(code: Routine, stream: Stream, use: Use) -> None:
    """Something with the complete sums of a channel."""
    if stream.form is Form.single:
        _each(code, use, separate_shifted if _is_shifted(code, stream) else separate)
        return
    for pixel in range(PIXELS):
        code(f"ldr %sum, {f'[%from, #{4 * pixel}]' if stream.together > 1 else f'[sp, %frame.totals.{pixel}]'}")
        use("sum", pixel)


def _each(code: Routine, use: Use, separated: Callable[[Routine, tuple[str, str], int, Use], None] = separate) -> None:
    """Something with the sums of all pixels, from the words %sum0 to %sum3."""
    for first, words in zip((0, 3), (("sum0", "sum1"), ("sum2", "sum3"))):
        separated(code, words, first, use)


def _corrections(code: Routine, stream: Stream) -> None:
    """Sums of the channel for which the line is wrong (`Correction`), then back to where they are corrected.

    A pixel at several places (the last one of an image) is corrected at the last one only.
    """
    code.label("correct")
    code("ldm %stream!, {%wrong, %shift_left, %spare}", "value, shift, delta")
    code("mov %delta, %spare")
    _sums_of(code, stream, lambda value, pixel: _correct(code, value, pixel))
    code("subs %count, %count, #1")
    code("bne %correct")
    code("b %corrected")


def _correct(code: Routine, value: str, pixel: int) -> None:
    code(f"subs %spare, %{value}, %wrong")
    code("lsls %spare, %shift_left")
    code(f"bne %kept{pixel}")
    code(f"cmp %{value}, %limit")
    code(f"bhi %kept{pixel}")
    output = _output_at(code, pixel, "spare")
    if pixel + 1 < PIXELS:
        following = _output_at(code, pixel + 1, value)
        code(f"cmp %{following}, %{output}", "is it taken again?")
        code(f"beq %kept{pixel}")
    code(f"ldrb %{value}, [%{output}, %index]")
    code(f"add %{value}, %delta")
    code(f"strb %{value}, [%{output}, %index]")
    code.label(f"kept{pixel}")
