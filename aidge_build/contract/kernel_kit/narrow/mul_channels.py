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
    if code.loads_bytes_anywhere:
        _from_addresses(code)
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
    if code.loads_bytes_anywhere:
        code("mov %place, %data")
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
    for pointer in ("data", "turns_end", "end") if code.loads_bytes_anywhere else ("data", "output"):
        code(f"adds %{pointer}, #1")
    code("cmp %factor_at, %factors_end")
    code("bne %channel")
    code("%leave")
    for place in range(TOGETHER + 1):
        _beyond(code, place)
    return code.function(name, PARAMETERS, WHAT)


def _beyond(code: Routine, place: int) -> None:
    code.label(f"beyond{place}")
    code("asrs %value, %value, #31")
    code("movs %spare, #127")
    code("eors %value, %spare")
    code(f"b %store{place}")


def _from_addresses(code: Routine) -> None:
    """Places are addresses of the data, at a distance from the output's."""
    code("adds %turns_end, %turns_end, %data")
    code("adds %end, %end, %data")
    code("subs %output, %output, %data")
    code("movs %most, #255")


def _value(code: Routine, shift: int, place: int) -> None:
    code("ldrsb %value, [%place]" if code.loads_bytes_anywhere else "ldrsb %value, [%data, %place]")
    code("muls %value, %slope")
    code("adds %value, %value, %start")
    code(f"asrs %value, %value, #{shift}")
    if code.loads_bytes_anywhere:
        code("adds %spare, %value, #128")
        code("cmp %spare, %most")
        code(f"bhi %beyond{place}")
    else:
        code("sxtb %spare, %value")
        code("cmp %spare, %value")
        code(f"bne %beyond{place}")
    code.label(f"store{place}")
    code("strb %value, [%output, %place]")
    code("adds %place, %place, %channels")
