# SPDX-License-Identifier: MIT
"""int8 products of an image and one factor for each channel: about 10 instructions for a value."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.channel_pixels import TOGETHER
from aidge_build.contract.kernel_kit.factor_lines import PARAMETERS, WHAT, FactorLinesInt8
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.operators.arithmetic.factor_lines import SLOPE_BITS


class MulChannelsInt8(FactorLinesInt8):
    """A library's subclass names its `core`."""

    core: ClassVar[Core]

    def call(self) -> Call:
        return self.called(self.core.library, partial(_text, self.core.on(self.view.features)))


def _text(core: Core, name: str, shift: int) -> str:
    """The function."""
    code = core.emitter()
    code("%enter.low")
    code("mov %factor_at, %factors")
    code("mov %all_numbers, %numbers")
    code("ldr %channels, [%argument.4]")
    code("ldr %turns, [%argument.5]", "pixels")
    code("mov %low, %turns")
    code("muls %low, %channels")
    code("mov %end, %low")
    code("lsrs %turns, %turns, #2")
    code("lsls %turns, %turns, #2")
    code("muls %turns, %channels")
    code("mov %turns_end, %turns")
    code("mov %low, %factor_at")
    code("adds %low, %low, %channels")
    code("mov %factors_end, %low")
    code.label("channel", "a channel")
    code("mov %spare, %factor_at")
    code("movs %place, #0")
    code("ldrsb %slope, [%spare, %place]")
    code("adds %spare, #1")
    code("mov %factor_at, %spare")
    code("mov %spare, %all_numbers")
    code("ldm %spare!, {%start, %value}", "multiplier, offset")
    code("muls %slope, %start")
    code("adds %slope, %slope, %value")
    code(f"asrs %slope, %slope, #{SLOPE_BITS}", "slope")
    code("ldm %spare!, {%start, %value}", "the data's zero point, first")
    code("muls %start, %slope")
    code("adds %start, %start, %value", "start")
    code("cmp %place, %turns_end")
    code("beq %rest")
    code.label("turn", f"{TOGETHER} pixels")
    for place in range(TOGETHER):
        _value(code, shift, place)
    code("cmp %place, %turns_end")
    code("bne %turn")
    code.label("rest")
    code("cmp %place, %end")
    code("beq %next")
    code.label("one", "the pixels left over")
    _value(code, shift, TOGETHER)
    code("cmp %place, %end")
    code("bne %one")
    code.label("next")
    code("adds %data, #1")
    code("adds %output, #1")
    code("cmp %factor_at, %factors_end")
    code("bne %channel")
    code("%leave")
    for place in range(TOGETHER + 1):
        code.label(f"beyond{place}")
        code("asrs %value, %value, #31")
        code("movs %spare, #127")
        code("eors %value, %spare")
        code(f"b %store{place}")
    return code.function(name, PARAMETERS, WHAT)


def _value(code: Routine, shift: int, place: int) -> None:
    code("ldrsb %value, [%data, %place]")
    code("muls %value, %slope")
    code("adds %value, %value, %start")
    code(f"asrs %value, %value, #{shift}")
    code("sxtb %spare, %value")
    code("cmp %spare, %value")
    code(f"bne %beyond{place}")
    code.label(f"store{place}")
    code("strb %value, [%output, %place]")
    code("adds %place, %place, %channels")
