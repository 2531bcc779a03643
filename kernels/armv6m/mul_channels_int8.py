# SPDX-License-Identifier: MIT
"""int8 products of an image and one factor for each channel: about 10 instructions for a value."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.channel_pixels import TOGETHER
from aidge_build.contract.kernel_kit.factor_lines import FactorLinesInt8, factor_lines_spec
from aidge_build.contract.kernel_kit.factor_lines_text import CHANNELS, PARAMETERS, PIXELS, WHAT, portable_text
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.factor_lines import SLOPE_BITS

from .assembly import Routine
from .conditions import FEATURES

_BEYOND = 10  # labels: of each value in the text, where it saturates and where it goes on


@kernel("Mul", factor_lines_spec(FEATURES))
class Armv6MMulChannelsInt8(FactorLinesInt8):
    def call(self) -> Call:
        return self.called("armv6m", _text)


def _text(name: str, shift: int) -> str:
    """The function. r8 numbers, r9 where turns of several pixels end, r10 where all do, r11 factors, r12 where these end."""
    code = Routine()
    code.push_all()
    code("mov r11, r1")
    code("mov r8, r3")
    code("mov r1, r2", "output")
    code(f"ldr r2, [sp, #{CHANNELS}]")
    code(f"ldr r3, [sp, #{PIXELS}]")
    code("mov r4, r3")
    code("muls r4, r2")
    code("mov r10, r4")
    code("lsrs r3, r3, #2")
    code("lsls r3, r3, #2")
    code("muls r3, r2")
    code("mov r9, r3")
    code("mov r4, r11")
    code("adds r4, r4, r2")
    code("mov r12, r4")
    code.label(1, "a channel")
    code("mov r3, r11")
    code("movs r7, #0")
    code("ldrsb r4, [r3, r7]")
    code("adds r3, #1")
    code("mov r11, r3")
    code("mov r3, r8")
    code("ldm r3!, {r5, r6}", "multiplier, offset")
    code("muls r4, r5")
    code("adds r4, r4, r6")
    code(f"asrs r4, r4, #{SLOPE_BITS}", "slope")
    code("ldm r3!, {r5, r6}", "the data's zero point, first")
    code("muls r5, r4")
    code("adds r5, r5, r6", "start")
    code("cmp r7, r9")
    code("beq 3f")
    code.label(2, f"{TOGETHER} pixels")
    for place in range(TOGETHER):
        _value(code, shift, place)
    code("cmp r7, r9")
    code("bne 2b")
    code.label(3)
    code("cmp r7, r10")
    code("beq 5f")
    code.label(4, "the pixels left over")
    _value(code, shift, TOGETHER)
    code("cmp r7, r10")
    code("bne 4b")
    code.label(5)
    code("adds r0, #1")
    code("adds r1, #1")
    code("cmp r11, r12")
    code("bne 1b")
    code.pop_all()
    for place in range(TOGETHER + 1):
        code.label(_BEYOND + 2 * place)
        code("asrs r6, r6, #31")
        code("movs r3, #127")
        code("eors r6, r3")
        code(f"b {_BEYOND + 2 * place + 1}b")
    return code.function(name, PARAMETERS, WHAT, portable_text(shift))


def _value(code: Routine, shift: int, place: int) -> None:
    code("ldrsb r6, [r0, r7]")
    code("muls r6, r4")
    code("adds r6, r6, r5")
    code(f"asrs r6, r6, #{shift}")
    code("sxtb r3, r6")
    code("cmp r3, r6")
    code(f"bne {_BEYOND + 2 * place}f")
    code.label(_BEYOND + 2 * place + 1)
    code("strb r6, [r1, r7]")
    code("adds r7, r7, r2")
