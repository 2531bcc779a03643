# SPDX-License-Identifier: MIT
"""Rows of windows over 1 to 3 channels in assembly: 4 neighbouring values of the image at a time, of which as many are stored as
are values of windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..core.assembly import Routine
from ..core.offsets import plus
from .windows_inside import WORD, are_flat, lanes_of


def narrow_row(code: Routine, shape: Mapping[str, int], four: Callable[[], None]) -> None:
    """Label turn: until %end, `four` values at a time, which move %source on by 4 and %output by those of windows."""
    lanes, channels = lanes_of(shape), shape["in_channels"]
    pixels = 1 if are_flat(shape) else len(lanes) // channels
    moved = WORD if are_flat(shape) else pixels * shape["stride_width"] * channels
    code.label("turn", f"{len(lanes)} values")
    four()
    plus(code, "%source", moved - WORD)
    if len(lanes) == channels:
        code("cmp %output, %end")
        code("bne %turn")
        return
    code("subs %left, %end, %output", "values that are left")
    code("beq %done")
    code(f"subs %left, %left, #{len(lanes)}")
    code("bge %turn")
    code("add %output, %output, %left", "the last ones overlap those before")
    if are_flat(shape):
        code("add %source, %source, %left")
    else:
        plus(code, "%source", -shape["stride_width"])
    code("b %turn")
    code.label("done")


def store_lanes(code: Routine, value: str, lanes: Sequence[int]) -> None:
    """Those bytes of a value, one behind the other; it is overwritten."""
    if len(lanes) == WORD:
        code(f"str {value}, [%output], #4")
        return
    done = 0
    for index, lane in enumerate(lanes):
        if index and lane == lanes[0] + 1:
            continue  # with the first one
        if lane > done:
            code(f"lsr {value}, {value}, #{8 * (lane - done)}")
            done = lane
        both = index == 0 and lanes[1:2] == (1,)
        code(f"str{'h' if both else 'b'} {value}, [%output], #{2 if both else 1}")
