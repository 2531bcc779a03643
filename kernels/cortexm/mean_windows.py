# SPDX-License-Identifier: MIT
"""Means of windows that lie inside the image in assembly: 4 channels at a time, all taps in the text."""

from __future__ import annotations

from collections.abc import Mapping

from .assembly import Routine, Waiting
from .depthwise_layout import LARGEST_OFFSET
from .offsets import plus

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
    channels, down, right = shape["in_channels"], shape["dilation_height"] * shape["in_width"], shape["dilation_width"]
    step = shape["stride_width"] * channels
    rows = [[row * down * channels + tap * right * channels for tap in range(shape["kernel_width"])] for row in _rows(shape)]
    name = (
        f"aidge_cortexm_means_{shape['kernel_height']}x{shape['kernel_width']}_d{down}x{right}"
        f"_s{shape['stride_width']}_c{channels}_b{bits}"
    )
    code = Routine(REGISTERS, Waiting(has_fpu=False))
    code("push {{r4-r11, lr}}")
    code("push {{r2, r3}}", "mean, pixels")
    code("ldm r2, {{r3-r5}}", "its line")
    code.label(1, "a pixel")
    code("mov {end}, {source}")
    plus(code, "{end}", channels)
    code.label(2, "4 channels")
    _sums(code, rows)
    _levels(code, bits)
    code("add {source}, {source}, #4")
    code("add {output}, {output}, #4")
    if channels % 4:
        code("subs {row}, {end}, {source}", "channels that are left")
        code("beq 3f")
        code("subs {row}, {row}, #4")
        code("bge 2b")
        code("add {source}, {source}, {row}", "the last 4 overlap those before")
        code("add {output}, {output}, {row}")
        code("b 2b")
        code.label(3)
    else:
        code("cmp {source}, {end}")
        code("bne 2b")
    plus(code, "{source}", step - channels)
    code(f"ldr {{row}}, [sp, #{_PIXELS}]")
    code("subs {row}, {row}, #1")
    code(f"str {{row}}, [sp, #{_PIXELS}]")
    code("bne 1b")
    code(f"add sp, sp, #{_FRAME}")
    code("pop {{r4-r11, pc}}")
    for index in range(4):
        _unsure(code, index, bits)
    portable = f"aidge_cortexm_means_of_row(source, output, mean, pixels, {step}, {channels});"
    return name, code.function(name, PARAMETERS, "Means of a row of windows inside the image.", portable)


def _rows(shape: Mapping[str, int]) -> range:
    return range(shape["kernel_height"])


def _sums(code: Routine, rows: list[list[int]]) -> None:
    """Of bytes 0 and 2 of all taps, of bytes 1 and 3."""
    base, moved, is_first = "source", 0, True
    for places in rows:
        if places[-1] - moved > LARGEST_OFFSET:
            code(f"mov {{row}}, {{{base}}}")
            plus(code, "{row}", places[0] - moved)
            base, moved = "row", places[0]
        for place in places:
            code(f"ldr {{word}}, [{{{base}}}, #{place - moved}]")
            for total, turned in (("even", ""), ("odd", ", ror #8")):
                before = f"sxtb16 {{{total}}}" if is_first else f"sxtab16 {{{total}}}, {{{total}}}"
                code(f"{before}, {{word}}{turned}")
            is_first = False


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
