# SPDX-License-Identifier: MIT
"""The Thumb-2 function that multiplies an image by a factor for each channel: 5 instructions for a value, 4 pixels in a turn, one
channel after the other."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.channel_pixels import each_pixel, values_of_lines
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.operators.arithmetic.factor_lines import SLOPE_BITS

WHAT = "An image times a factor for each channel, channels last."
PARAMETERS = "const int8_t *data, const int8_t *factors, int8_t *output, const int32_t *numbers, int32_t channels, int32_t pixels"


def factor_lines_text(make: Callable[[], Routine], name: str, shift: int) -> str:
    """Returns the function; `make` returns the library's emitter. A value is read before its place is written."""
    code = make()
    code("%enter")
    code("ldr %channels, [%argument.4]")
    code("add %end, %factors, %channels")
    code("add %thrice, %channels, %channels, lsl #1")
    code.label("channel", "a channel")
    code("ldrsb %slope, [%factors], #1")
    code("ldrd %x, %y, [%numbers]", "multiplier, offset")
    code("mla %slope, %slope, %x, %y")
    code("ldrd %x, %y, [%numbers, #8]", "the data's zero point, first")
    code(f"asr %slope, %slope, #{SLOPE_BITS}")
    code("mla %start, %slope, %x, %y")
    code("mov %read, %data")
    code("mov %written, %output")
    code("ldr %left, [%argument.5]", "pixels")
    each_pixel(code, lambda places: values_of_lines(code, [("slope", "start", shift)], places))
    code("add %data, %data, #1")
    code("add %output, %output, #1")
    code("cmp %factors, %end")
    code("bne %channel")
    code("%leave")
    return code.function(name, PARAMETERS, WHAT, portable_text(shift))


def portable_text(shift: int) -> str:
    """Returns the body of the C version."""
    return f"""int32_t channel, place, value;
    for (channel = 0; channel < channels; channel++) {{
        const int32_t slope = (factors[channel] * numbers[0] + numbers[1]) >> {SLOPE_BITS};
        const int32_t start = slope * numbers[2] + numbers[3];
        for (place = channel; place < channels * pixels; place += channels) {{
            value = (data[place] * slope + start) >> {shift};
            output[place] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
        }}
    }}"""
