# SPDX-License-Identifier: MIT
"""A whole pointwise layer in assembly: unpack two pixels, then all channels of them."""

from __future__ import annotations

from . import dense
from .assembly import Routine
from .packing import Stream

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_cortexm_pointwise *shape"
LARGEST_STEP = 4095  # that an instruction adds
UNPACKED_AHEAD = 16  # words of 4 taps that are unpacked without a loop


def routine(stream: Stream, channels: int, unroll: int, is_shared: bool = False) -> tuple[str, str]:
    """Name and text for pixels of `channels` int8 values, a multiple of 4. Layers of other channels share the text if `unroll` is
    0, and if `is_shared`: then the channels are at least 8, and `unroll` pairs of taps, a power of two, stand in it."""
    own = bool(unroll) and not is_shared
    shared = 8 if channels % 8 == 0 and not is_shared else 4  # channels that are a multiple of it
    name = f"aidge_cortexm_pointwise_int8_{channels if own else f'by_{shared}'}_{stream.variant}_u{unroll}"
    code = dense.routine_of(stream)
    code.begin()
    code("mov r12, r1")
    code("mov {stream}, r2")
    code.put("base", "r3")
    code(f"ldr r4, [sp, #{code.waiting.argument_offset}]", "shape")
    code("ldm r4!, {{r5-r11}}", "pairs, second_input, second_output, back_input, back_output, output_step, stream_bytes")
    code("sub r5, r5, #1")
    code.put("pairs", "r5, r12", "those behind the next one; output")
    code.put("second_input", "r6")
    code.put("second_output", "r7")
    code.put("back_input", "r8, r9")
    code.put("output_step", "r10")
    code("add r11, r11, {stream}")
    code.put("end", "r11")
    if own:
        code.constant("r4", 4 * channels)
    else:
        code("ldr r4, [r4]", "column_bytes")
    if is_shared:
        code("lsr r5, r4, #3")
        code("rsb r5, r5, #1")
        code(f"and r5, r5, #{unroll - 1}")
        code.put(dense.ENTRY, "r5", "1 - pairs of taps, in a turn")
    code("add r3, r3, r4")
    code.put("column_end", "r3")
    dense.load_head(code, stream)
    code("mov {x0}, r0")
    code.label(1, "two pixels")
    code.get("{column}", "base")
    if own and channels <= LARGEST_STEP:
        code(f"addw {{x1}}, {{x0}}, #{channels}")
    else:
        code.get("{x1}", "second_input")
        code("add {x1}, {x1}, {x0}")
    dense.begin_sums(code, stream.sums)
    if is_shared:
        _unpack_pairs_of_words(code, stream.sums > 0)
    else:
        _unpack(code, *(_turns(channels // 4) if own else (shared // 4, True)), stream.sums > 0)
    dense.store_sums(code, [dense.STORE_SUMS] * stream.sums)
    code.put("input", "{x1}", "the next pixel")
    if is_shared:
        dense.groups(code, stream, lambda: dense.any_steps(code, stream, unroll), at_base=True)
    else:
        steps = dense.split_steps(channels // 2, unroll) if own else (0, shared // 2)
        dense.groups(code, stream, lambda: dense.column_steps(code, stream, *steps), at_base=True)
    code.get("{x0}", "input")
    code.get("r4, r5", "pairs")
    code.get("r6", "output_step")
    dense.next_pair(code, "x0", "r6")
    portable = stream.in_c("pointwise_int8", "input, output, stream, scratch, shape")
    number = str(channels) if own else f"a multiple of {shared}"
    return name, code.function(name, PARAMETERS, f"Pointwise convolution of int8 pixels of {number} channels.", portable)


def _turns(words: int) -> tuple[int, bool]:
    """How many words of each pixel stand in the text, and whether that is a loop."""
    looped = words > UNPACKED_AHEAD
    return (next(size for size in (8, 4, 2, 1) if words % size == 0) if looped else words), looped


def _unpack_pairs_of_words(code: Routine, has_sums: bool) -> None:
    """As `_unpack`, for any number of words but 1; of an odd number the first one alone. Labels 2 and 10."""
    code.get("{w0}", "column_end")
    code("sub {w0}, {w0}, {column}", "16 bytes for each word")
    code("lsls {w0}, {w0}, #27")
    code("bpl 10f")
    dense.unpack(code, [("{x0}], #4", "{x1}], #4")], has_sums)
    code.label(10)
    _unpack(code, 2, True, has_sums)


def _unpack(code: Routine, count: int, looped: bool, has_sums: bool) -> None:
    """Pixels at x0 and x1 as int16 into the column; x0 and x1 end behind them. Label 2."""
    if looped:
        code.label(2, f"{count} words of each pixel")
    dense.unpack(code, [("{x0}], #4", "{x1}], #4")] * count, has_sums)
    if looped:
        code.get("{w0}", "column_end")
        code("cmp {column}, {w0}")
        code("bne 2b")
