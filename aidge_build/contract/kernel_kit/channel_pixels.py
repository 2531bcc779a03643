# SPDX-License-Identifier: MIT
"""The Thumb-2 loop over the pixels of one channel, channels last, 4 pixels in a turn, for functions with constants of each
channel.

`read` and `written` are the addresses of the channel's next values, `left` the number of pixels, `channels` the number of
channels, `thrice` three times `channels`; `x` and `y` change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from aidge_build.contract.kernel_kit.routine import Routine

TOGETHER = 4  # pixels in a turn
_PLACES = ("", ", %channels", ", %channels, lsl #1", ", %thrice")  # of the pixels of a turn


def each_pixel(code: Routine, values: Callable[[Sequence[str]], None]) -> None:
    """Writes the loop. `values` writes the instructions for these places."""
    code(f"subs %left, %left, #{TOGETHER}")
    code("blt %rest")
    code.label("turn", f"{TOGETHER} pixels")
    values(_PLACES)
    for pointer in ("read", "written"):
        code(f"add %{pointer}, %{pointer}, %channels, lsl #2")
    code(f"subs %left, %left, #{TOGETHER}")
    code("bge %turn")
    code.label("rest")
    code(f"adds %left, %left, #{TOGETHER}")
    code("beq %done")
    code.label("one", "the pixels left over")
    values(_PLACES[:1])
    for pointer in ("read", "written"):
        code(f"add %{pointer}, %{pointer}, %channels")
    code("subs %left, %left, #1")
    code("bne %one")
    code.label("done")


def values_of_lines(code: Routine, lines: Iterable[tuple[str, str, int]], places: Sequence[str]) -> None:
    """Writes the linear integer forms, one after the other, at each of these places, two places at a time. A form is (slope,
    start, shift in bits)."""
    lines = tuple(lines)
    for pair in (places[:2], places[2:]):
        held = dict(zip(("x", "y"), pair))
        for value, place in held.items():
            code(f"ldrsb %{value}, [%read{place}]")
        for slope, start, shift in lines:
            for value in held:
                code(f"mla %{value}, %{value}, %{slope}, %{start}")
            for value in held:
                code(f"ssat %{value}, #8, %{value}, asr #{shift}")
        for value, place in held.items():
            code(f"strb %{value}, [%written{place}]")
