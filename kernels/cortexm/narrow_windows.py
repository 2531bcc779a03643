# SPDX-License-Identifier: MIT
"""Rows of windows over 1 to 3 channels in assembly: 4 neighbouring values of the image at a time, of which as many are stored as
are values of windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .assembly import Routine
from .offsets import plus
from .windows_inside import WORD, are_flat, lanes_of


def narrow_row(code: Routine, shape: Mapping[str, int], four: Callable[[], None]) -> None:
    """Labels 2 and 3: until {end}, `four` values at a time, which move {source} on by 4 and {output} by those of windows."""
    lanes, channels = lanes_of(shape), shape["in_channels"]
    pixels = 1 if are_flat(shape) else len(lanes) // channels
    moved = WORD if are_flat(shape) else pixels * shape["stride_width"] * channels
    code.label(2, f"{len(lanes)} values")
    four()
    plus(code, "{source}", moved - WORD)
    if len(lanes) == channels:
        code("cmp {output}, {end}")
        code("bne 2b")
        return
    code("subs {row}, {end}, {output}", "values that are left")
    code("beq 3f")
    code(f"subs {{row}}, {{row}}, #{len(lanes)}")
    code("bge 2b")
    code("add {output}, {output}, {row}", "the last ones overlap those before")
    if are_flat(shape):
        code("add {source}, {source}, {row}")
    else:
        plus(code, "{source}", -shape["stride_width"])
    code("b 2b")
    code.label(3)


def store_lanes(code: Routine, register: str, lanes: Sequence[int]) -> None:
    """Those bytes of a register, one behind the other; it is overwritten."""
    if len(lanes) == WORD:
        code(f"str {register}, [{{output}}], #4")
        return
    done = 0
    for index, lane in enumerate(lanes):
        if index and lane == lanes[0] + 1:
            continue  # with the first one
        if lane > done:
            code(f"lsr {register}, {register}, #{8 * (lane - done)}")
            done = lane
        both = index == 0 and lanes[1:2] == (1,)
        code(f"str{'h' if both else 'b'} {register}, [{{output}}], #{2 if both else 1}")
