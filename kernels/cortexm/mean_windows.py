# SPDX-License-Identifier: MIT
"""Means of windows that lie inside the image in assembly: 4 channels at a time, all taps in the text."""

from __future__ import annotations

from collections.abc import Mapping

from .assembly import Routine, Waiting
from .windows_inside import all_channels, loads, name_of, step_of

REGISTERS = {
    "source": "r0",
    "output": "r1",
    "end": "r2",
    "multiplier": "r3",
    "start": "r4",
    "unsure": "r5",
    "even": "r6",
    "odd": "r7",
    **{f"level{index}": f"r{8 + index}" for index in range(4)},
    "word": "r12",
    "row": "lr",
}
PARAMETERS = "const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean, int32_t pixels"
_PIXELS, _FRAME = 4, 8  # on the stack
_UNSURE = 20  # labels


def window_text(shape: Mapping[str, int], bits: int) -> tuple[str, str]:
    """Name and text of a row of such windows, of a shape as in kit/window2d.h; sums are scaled with `bits` fraction bits."""
    name, code = f"aidge_cortexm_means_{name_of(shape)}_b{bits}", Routine(REGISTERS, Waiting(has_fpu=False))

    def four() -> None:
        for index, _ in enumerate(loads(code, shape)):
            for total, turned in (("even", ""), ("odd", ", ror #8")):
                before = f"sxtab16 {{{total}}}, {{{total}}}" if index else f"sxtb16 {{{total}}}"
                code(f"{before}, {{word}}{turned}")
        _levels(code, bits)

    code("push {{r4-r11, lr}}")
    code("push {{r2, r3}}", "mean, pixels")
    code("ldm r2, {{r3-r5}}", "its line")
    code.label(1, "a pixel")
    all_channels(code, shape, four)
    code(f"ldr {{row}}, [sp, #{_PIXELS}]")
    code("subs {row}, {row}, #1")
    code(f"str {{row}}, [sp, #{_PIXELS}]")
    code("bne 1b")
    code(f"add sp, sp, #{_FRAME}")
    code("pop {{r4-r11, pc}}")
    for index in range(4):
        _unsure(code, index, bits)
    portable = f"aidge_cortexm_means_of_row(source, output, mean, pixels, {step_of(shape)}, {shape['in_channels']});"
    return name, code.function(name, PARAMETERS, "Means of a row of windows inside the image.", portable)


def _levels(code: Routine, bits: int) -> None:
    for index, (half, total) in enumerate((("b", "even"), ("b", "odd"), ("t", "even"), ("t", "odd"))):
        code(f"smla{half}b {{level{index}}}, {{{total}}}, {{multiplier}}, {{start}}")
    for index in range(4):
        code(f"cmp {{unsure}}, {{level{index}}}, lsl #{32 - bits}")
        code(f"bhs {_UNSURE + 2 * index}f", "beside the middle of two levels")
        code.label(_UNSURE + 2 * index + 1)
    for index in range(4):
        code(f"ssat {{level{index}}}, #8, {{level{index}}}, asr #{bits}")
    for index in range(4):
        code(f"strb {{level{index}}}, [{{output}}, #{index}]")


def _unsure(code: Routine, index: int, bits: int) -> None:
    """Out of the way: the level of one channel by a function in C, where the line's one is expected."""
    code.label(_UNSURE + 2 * index)
    code("push {{r0-r3}}")
    code(f"add r1, {{source}}, #{index}")
    code("ldr r2, [sp, #16]", "mean")
    total = ("even", "odd")[index % 2]
    code(f"asr r0, {{{total}}}, #16" if index > 1 else f"sxth r0, {{{total}}}")
    code.call("aidge_cortexm_unsure_mean2d")
    code(f"lsl {{level{index}}}, r0, #{bits}")
    code("pop {{r0-r3}}")
    code(f"b {_UNSURE + 2 * index + 1}b")
