# SPDX-License-Identifier: MIT
"""The taps of two pixels for layers of dynamic quantization, in assembly: bytes less their zero point, as int16 in the column."""

from __future__ import annotations

from ..core.assembly import Routine

PARAMETERS = "uint32_t *column, const uint8_t *first, const uint8_t *second, const aidge_cortexm_dynamic_runs *runs"


def gather(length: int, signed: bool) -> tuple[str, str]:
    """Name and text of a function that gathers runs of `length` bytes in the order of `order_of`; `signed`: of int8."""
    eights, rest = divmod(length, 8)
    has_four, tail = divmod(rest, 4)
    extend = f"{'s' if signed else 'u'}xtab16"
    name = f"aidge_cortexm_dynamic_gather_{'eights_' * (eights > 0)}{rest}{'_signed' * signed}"
    code = Routine()
    code("%enter.floats")
    code("ldm %runs, {%zero, %left, %eights, %first_step, %second_step}")
    code(f"mov %zeros, #{0x800080 if signed else 0}", "data are read with their signs")
    code("ssub16 %zeros, %zeros, %zero", "less than nothing, to be added")
    code("put %eights, %first_step")
    code("put %second_step")
    code.label("run")
    if eights:
        code("get %eights")
        code.label("turn", "8 bytes of both")
        for _ in range(2):
            _quad(code, extend)
        code("subs %eights, %eights, #1")
        code("bne %turn")
    if has_four:
        _quad(code, extend)
    _tail(code, tail, extend, length > tail)
    for pixel in ("first", "second"):
        code(f"get %{pixel}_step")
        code(f"add %{pixel}, %{pixel}, %{pixel}_step")
    code("subs %left, %left, #1")
    code("bne %run")
    code("%leave")
    return name, code.function(name, PARAMETERS, "Taps of two pixels.")


def _quad(code: Routine, extend: str, place: str = "], #4") -> None:
    """4 bytes of both pixels: bytes 0 and 2 of both, then 1 and 3 of both."""
    for pixel in ("first", "second"):
        code(f"ldr %{pixel}_even, [%{pixel}{place}")
    _extend(code, extend)


def _extend(code: Routine, extend: str) -> None:
    """Words of 4 bytes, which are in the registers of the even ones, to the column."""
    for pixel in ("first", "second"):
        code(f"{extend} %{pixel}_odd, %zeros, %{pixel}_even, ror #8")
        code(f"{extend} %{pixel}_even, %zeros, %{pixel}_even")
    code("stm %column!, {%first_even, %second_even, %first_odd, %second_odd}")


def _tail(code: Routine, tail: int, extend: str, has_before: bool) -> None:
    """The last 1, 2 or 3 bytes of a run, which `has_before` other ones."""
    if tail == 3 and has_before:
        _quad(code, extend, ", #-1]")
    elif tail == 3:
        for pixel in ("first", "second"):
            code(f"ldrh %{pixel}_even, [%{pixel}]")
            code(f"ldrb %{pixel}_odd, [%{pixel}, #2]")
            code(f"lsl %{pixel}_even, %{pixel}_even, #8")
            code(f"orr %{pixel}_even, %{pixel}_even, %{pixel}_odd, lsl #24")
        _extend(code, extend)
    elif tail:
        for pixel in ("first", "second"):
            code(f"{'ldrh' if tail == 2 else 'ldrb'} %{pixel}_even, [%{pixel}]")
            if tail == 2:
                code(f"orr %{pixel}_even, %{pixel}_even, %{pixel}_even, lsl #8", "the second one to byte 2")
            code(f"{extend} %{pixel}_even, %zeros, %{pixel}_even{', ror #16' if tail == 1 else ''}")
        code("stm %column!, {%first_even, %second_even}")
