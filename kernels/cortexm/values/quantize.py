# SPDX-License-Identifier: MIT
"""float32 to bytes, or to int16, in assembly: the division that QuantizeLinear means, rounded by the FPU."""

from __future__ import annotations

from ..core.assembly import Routine
from ..core.float32 import in_turns, listed, values

PARAMETERS = "const float *input, {type} *output, const float *scale, int32_t zero_point, int32_t count"
TOGETHER = 8  # values of a turn


def routine(kind: str) -> tuple[str, str]:
    """Name and text for int8, uint8 or int16. A quotient beyond int32 saturates there, NaN gives 0: as QuantizeLinear has it."""
    name = f"aidge_cortexm_quantize_{kind}"
    code = Routine()
    code("%enter")
    code("ldr %count, [%argument.4]")
    code("vldr %s.scale, [%scale]")
    in_turns(code, TOGETHER, lambda count: _values(code, count, kind))
    code("%leave")
    return name, code.function(name, PARAMETERS.format(type=f"{kind}_t"), f"float32 to {kind}, by one scale.")


def _values(code: Routine, count: int, kind: str) -> None:
    words = quotients(code, count, "s32")
    for word in words:
        code(f"qadd {word}, {word}, %zero_point")
    for word in words:
        code(f"{'usat' if kind == 'uint8' else 'ssat'} {word}, #{16 if kind == 'int16' else 8}, {word}")
    for word in words:
        code(f"strh {word}, [%output], #2" if kind == "int16" else f"strb {word}, [%output], #1")


def quotients(code: Routine, count: int, whole: str) -> list[str]:
    """The next `count` values by %s.scale, rounded to words of the type `whole`: the names of the words."""
    words, floats = [f"%word{index}" for index in range(count)], values("value", count)
    code(f"vldmia %input!, {listed(floats)}")
    for operation in ("vdiv.f32 {0}, {0}, %s.scale", f"vcvtr.{whole}.f32 {{0}}, {{0}}"):
        for value in floats:
            code(operation.format(value))
    for first in range(0, count, 2):
        code(f"vmov {', '.join((*words[first : first + 2], *floats[first : first + 2]))}")
    return words
