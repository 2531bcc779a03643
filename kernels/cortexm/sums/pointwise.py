# SPDX-License-Identifier: MIT
"""A whole pointwise layer in assembly: unpack two pixels, then all channels of them."""

from __future__ import annotations

import math

from ..core.assembly import Routine
from . import dense
from .stream import Stream
from .window import begin_row, end_row

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *stream, const aidge_cortexm_run *run, void *scratch"
LARGEST_STEP = 4095  # that an instruction adds
UNPACKED_AHEAD = 16  # words of 4 taps that are unpacked without a loop


def routine(stream: Stream, channels: int, unroll: int, is_shared: bool = False) -> tuple[str, str]:
    """Name and text for pixels of `channels` int8 values, a multiple of 4. At most `unroll` pairs of taps stand in the text. If
    it `is_shared`, they divide all pairs, and other layers whose pairs they divide have the same text."""
    pairs = math.gcd(channels // 2, unroll)
    number = f"by_{2 * pairs}" if is_shared else str(channels)
    name = f"aidge_cortexm_pointwise{stream.weights.family}_int8_{number}_{stream.variant}{'' if is_shared else f'_u{unroll}'}"
    code = dense.routine_of(stream)
    begin_row(code, stream, "x0")
    code(f"ldr r4, [sp, #{code.waiting.argument_offset}]", "the column")
    code.put("base", "r4")
    if is_shared:
        code.get("r5", "input_step")
        code("lsls r5, r5, #1", "two bytes for each of two pixels")
    else:
        code.constant("r5", 4 * channels)
    code("add r4, r4, r5")
    code.put("column_end", "r4")
    code.label(1, "two pixels")
    code.get("{column}", "base")
    if channels <= LARGEST_STEP and not is_shared:
        code(f"addw {{x1}}, {{x0}}, #{channels}")
    else:
        code.get("{x1}", "second_input")
        code("add {x1}, {x1}, {x0}")
    dense.begin_sums(code, stream)
    _unpack(code, *((min(pairs // 2, 2), True) if is_shared else _turns(channels // 4)), stream.sums > 0)
    dense.store_sums(code, stream, [dense.STORE_SUMS] * stream.sums)
    steps = (0, pairs) if is_shared else dense.split_steps(channels // 2, unroll)
    dense.groups(code, stream, lambda: dense.column_steps(code, stream, *steps), at_base=True)
    end_row(code, "x0")
    of = f"a multiple of {2 * pairs}" if is_shared else f"{channels}"
    return name, code.function(name, PARAMETERS, f"Pointwise convolution of int8 pixels of {of} channels.")


def _turns(words: int) -> tuple[int, bool]:
    """How many words of each pixel stand in the text, and whether that is a loop."""
    looped = words > UNPACKED_AHEAD
    return (next(size for size in (8, 4, 2, 1) if words % size == 0) if looped else words), looped


def _unpack(code: Routine, count: int, looped: bool, has_sums: bool) -> None:
    """Pixels at x0 and x1 as int16 into the column; x0 and x1 end behind them. Label 2."""
    if looped:
        code.label(2, f"{count} words of each pixel")
    dense.unpack(code, [("{x0}], #4", "{x1}], #4")] * count, has_sums)
    if looped:
        code.get("{w0}", "column_end")
        code("cmp {column}, {w0}")
        code("bne 2b")
