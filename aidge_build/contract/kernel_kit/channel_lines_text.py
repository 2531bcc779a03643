# SPDX-License-Identifier: MIT
"""Linear integer forms for each channel in Thumb-2, 4 pixels in a turn: 5 instructions for a value, 7 for two forms in a row, 8
for one form below zero and another above."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.contract.kernel_kit.channel_pixels import each_pixel, values_of_lines
from aidge_build.contract.kernel_kit.routine import Routine

COUNTED = {1: "A line", 2: "Two lines"}
PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *lines, int32_t channels, int32_t pixels"
_LINES = (("a", "b"), ("c", "d"))


def channel_lines_text(make: Callable[[], Routine], name: str, shifts: tuple[int, ...]) -> str:
    """Returns the function; `make` returns the library's emitter. A value is read before its place is written."""

    def values(code: Routine, places: Sequence[str]) -> None:
        values_of_lines(code, ((*line, shift) for line, shift in zip(_LINES, shifts)), places)

    return _text(
        make,
        name,
        len(shifts),
        values,
        (PARAMETERS, f"{COUNTED[len(shifts)]} for each channel, channels last.", portable(shifts)),
    )


def prelu_text(make: Callable[[], Routine], name: str, shift: int, plain: str) -> str:
    """Returns the function with one linear integer form below zero and one from zero on; `plain` is its body in C."""

    def values(code: Routine, places: Sequence[str]) -> None:
        for place in places:
            code(f"ldrsb %x, [%read{place}]")
            code("cmp %x, %y")
            code("ite lt")
            code("mlalt %x, %x, %a, %b")
            code("mlage %x, %x, %c, %d")
            code(f"ssat %x, #8, %x, asr #{shift}")
            code(f"strb %x, [%written{place}]")

    stated = f"{PARAMETERS}, int32_t zero", "Two lines for each channel, channels last.", plain
    return _text(make, name, 2, values, stated, ("ldr %y, [%argument.5]",))


def _text(
    make: Callable[[], Routine],
    name: str,
    lines: int,
    values: Callable[[Routine, Sequence[str]], None],
    stated: tuple[str, str, str],
    first: Sequence[str] = (),
) -> str:
    """Returns the text. `values` writes the instructions for these places; `stated`: parameters, comment and C body of the
    function."""
    code = make()
    numbers = ", ".join(f"%{number}" for line in _LINES[:lines] for number in line)
    code("%enter")
    code("add %end, %input, %channels", "where the channels end")
    code("add %thrice, %channels, %channels, lsl #1")
    for line in first:
        code(line)
    code.label("channel", "a channel")
    code(f"ldm %lines!, {{{numbers}}}")
    code("mov %read, %input")
    code("mov %written, %output")
    code("ldr %left, [%argument.4]", "pixels")
    each_pixel(code, lambda places: values(code, places))
    code("add %input, %input, #1")
    code("add %output, %output, #1")
    code("cmp %input, %end")
    code("bne %channel")
    code("%leave")
    return code.function(name, *stated)


def portable(shifts: tuple[int, ...]) -> str:
    """Returns the body of the function in C, without functions of a library."""
    steps = "".join(
        f"""            value = (value * lines[{2 * line}] + lines[{2 * line + 1}]) >> {shift};
            value = value < -128 ? -128 : value > 127 ? 127 : value;
"""
        for line, shift in enumerate(shifts)
    )
    return f"""int32_t channel, place, value;
    for (channel = 0; channel < channels; channel++, lines += {2 * len(shifts)}) {{
        for (place = channel; place < channels * pixels; place += channels) {{
            value = input[place];
{steps}            output[place] = (int8_t)value;
        }}
    }}"""
