# SPDX-License-Identifier: MIT
"""Depthwise layers of dynamic quantization whose windows lie inside the image, in assembly: all taps in the text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .assembly import Routine, Waiting
from .depthwise_layout import LARGEST_OFFSET
from .dynamic import clamp_name, limits, scale
from .offsets import plus
from .windows_inside import name_of, step_of

PARAMETERS = "const uint8_t *from, const int32_t *words, const float *table, float *output, int32_t pixels, uint32_t zeros"
REGISTERS = {"x": "r8", "w": "r9", "zeros": "r12", "value": "r0", "even": "r3"}
_OUTPUT, _TABLE, _END, _PIXELS = "s12", "s13", "s14", "s15"
_WEIGHTS = (("r1", "r2"), ("r10", "r11"))  # of two taps: of channels 0 and 2, of 1 and 3


def places_of(shape: Mapping[str, int]) -> list[int]:
    """The bytes from the first tap of a window to each, of a shape as in kit/window2d.h."""
    down, right = shape["dilation_height"] * shape["in_width"], shape["dilation_width"]
    taps = ((row, tap) for row in range(shape["kernel_height"]) for tap in range(shape["kernel_width"]))
    return [(row * down + tap * right) * shape["in_channels"] for row, tap in taps]


def are_near(shape: Mapping[str, int]) -> bool:
    """Whether a load reaches every tap from the first."""
    return places_of(shape)[-1] <= LARGEST_OFFSET


def inside(shape: Mapping[str, int], bounds: tuple[float, float], signed: bool) -> tuple[str, str]:
    """Name and text of a row of such windows, for groups of 4 channels one after another; `signed`: of int8."""
    name = f"aidge_cortexm_dynamic_inside_{name_of(shape)}{clamp_name(bounds)}{'_signed' * signed}"
    code = Routine(REGISTERS, Waiting())
    channels, places = shape["in_channels"], places_of(shape)
    groups = math.ceil(channels / 4)
    code("push {{r4-r11, lr}}")
    code("mov {x}, r0")
    code("mov {w}, r1")
    code(f"vmov {_OUTPUT}, r3")
    code(f"vmov {_TABLE}, r2")
    code("ldrd r1, {zeros}, [sp, #36]", "pixels, zero points")
    code(f"vmov {_PIXELS}, r1")
    code(f"mov r0, #{0x800080 if signed else 0}", "data are read with their signs")
    code("ssub16 {zeros}, r0, {zeros}", "less than nothing, to be added")
    code.label(1, "a pixel")
    code("mov r0, {x}")
    plus(code, "r0", channels)
    code(f"vmov {_END}, r0")
    code.label(2, "4 channels")
    _sums(code, places, "s" if signed else "u")
    code(f"vmov r0, {_TABLE}")
    code("vldmia r0!, {{s0-s7}}", "factors, biases")
    code(f"vmov {_TABLE}, r0")
    code(f"vmov r1, {_OUTPUT}")
    scale(code, [f"r{4 + total}" for total in range(4)], 8, bounds, "r1")
    code(f"vmov r0, {_END}")
    code("add {x}, {x}, #4")
    if channels % 4:
        code("subs r0, r0, {x}", "channels that are left")
        code("beq 3f")
        code("subs r0, r0, #4")
        code("itt lt", "the last 4 overlap those before")
        code("addlt {x}, {x}, r0")
        code("addlt r1, r1, r0, lsl #2")
        code(f"vmov {_OUTPUT}, r1")
        code("b 2b")
        code.label(3)
        code(f"vmov {_OUTPUT}, r1")
    else:
        code(f"vmov {_OUTPUT}, r1")
        code("cmp {x}, r0")
        code("bne 2b")
    plus(code, "{x}", step_of(shape) - channels)
    plus(code, "{w}", -8 * len(places) * groups)
    code(f"vmov r0, r1, {_TABLE}, {_END}")
    plus(code, "r0", -32 * groups)
    code(f"vmov {_TABLE}, r0")
    code(f"vmov r0, {_PIXELS}")
    code("subs r0, r0, #1")
    code(f"vmov {_PIXELS}, r0")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    window = [shape[word] for word in ("kernel_height", "kernel_width")]
    numbers = (*window, shape["dilation_height"] * shape["in_width"] * channels, shape["dilation_width"] * channels)
    portable = (
        f"static const aidge_cortexm_dynamic_taps taps = {{{', '.join(map(str, (*numbers, step_of(shape), channels)))}}};\n"
        f"    aidge_cortexm_dynamic_row(from, words, table, output, pixels, zeros, &taps, {128 * signed}, {limits(bounds)});"
    )
    return name, code.function(name, PARAMETERS, "Depthwise: a row of windows inside the image.", portable)


def _sums(code: Routine, places: list[int], letter: str) -> None:
    """Of 4 channels in r4 to r7."""
    for tap, place in enumerate(places):
        first, second = _WEIGHTS[tap % 2]
        if tap % 2 == 0 and tap + 1 < len(places):
            code("ldm {w}!, {{r1, r2, r10, r11}}")
        elif tap % 2 == 0:
            code(f"ldrd {first}, {second}, [{{w}}], #8")
        code(f"ldr {{value}}, [{{x}}, #{place}]")
        code(f"{letter}xtab16 {{even}}, {{zeros}}, {{value}}")
        code(f"{letter}xtab16 {{value}}, {{zeros}}, {{value}}, ror #8")
        for half, (low, high) in (("bb", (4, 5)), ("tt", (6, 7))):
            for total, values, weights in ((low, "even", first), (high, "value", second)):
                code(
                    f"smla{half} r{total}, {{{values}}}, {weights}, r{total}"
                    if tap
                    else f"smul{half} r{total}, {{{values}}}, {weights}"
                )
