# SPDX-License-Identifier: MIT
"""float32 to bytes, or to int16, in assembly: the division that QuantizeLinear means, rounded by the FPU."""

from __future__ import annotations

from aidge_build.graph.dtype import DType

from .assembly import Routine

PARAMETERS = "const float *input, {type} *output, const float *scale, int32_t zero_point, int32_t count"
REGISTERS = {"input": "r0", "output": "r1", "zero": "r3", "count": "r12"}
VALUES = ("r2", "r4", "r5", "r6", "r7", "r8", "r9", "r10")
TOGETHER = len(VALUES)


def routine(kind: str, few: int = 0) -> tuple[str, str]:
    """Name and text for int8, uint8 or int16; `few`: for that many values alone, TOGETHER at most. A quotient beyond int32
    saturates there, NaN gives 0: as QuantizeLinear has it."""
    name = f"aidge_cortexm_quantize_{kind}{f'_{few}' if few else ''}"
    code = Routine(REGISTERS)
    if few:
        _few_values(code, few, kind)
    else:
        _any_number(code, kind)
    limits = ", ".join(map(str, DType[kind].range))
    output = "0, output" if kind == "int16" else "(uint8_t *)output, 0"
    portable = f"aidge_cortexm_quantize_portable(input, {output}, *scale, zero_point, count, {limits});"
    return name, code.function(name, PARAMETERS.format(type=f"{kind}_t"), f"float32 to {kind}, by one scale.", portable)


def _few_values(code: Routine, count: int, kind: str) -> None:
    saved = ", ".join(VALUES[1:count])  # registers that the caller wants back
    if saved:
        code(f"push {{{{{saved}}}}}")
    code("vldr s15, [r2]", "the scale")
    _values(code, count, kind)
    if saved:
        code(f"pop {{{{{saved}}}}}")
    code("bx lr")


def _any_number(code: Routine, kind: str) -> None:
    code("ldr {count}, [sp]")
    code("push {{r4-r10}}")
    code("vldr s15, [r2]", "the scale")
    code(f"subs {{count}}, {{count}}, #{TOGETHER}")
    code("blt 2f")
    code.label(1, f"{TOGETHER} values")
    _values(code, TOGETHER, kind)
    code(f"subs {{count}}, {{count}}, #{TOGETHER}")
    code("bge 1b")
    code.label(2)
    code(f"adds {{count}}, {{count}}, #{TOGETHER}")
    code("beq 4f")
    code.label(3, "the values that are left")
    _values(code, 1, kind)
    code("subs {count}, {count}, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4-r10}}")
    code("bx lr")


def _values(code: Routine, count: int, kind: str) -> None:
    code(f"vldmia {{input}}!, {{{{s0-s{count - 1}}}}}" if count > 1 else "vldmia {input}!, {{s0}}")
    for operation in ("vdiv.f32 s{0}, s{0}, s15", "vcvtr.s32.f32 s{0}, s{0}"):
        for index in range(count):
            code(operation.format(index))
    for index in range(0, count - 1, 2):
        code(f"vmov {VALUES[index]}, {VALUES[index + 1]}, s{index}, s{index + 1}")
    if count % 2:
        code(f"vmov {VALUES[count - 1]}, s{count - 1}")
    for value in VALUES[:count]:
        code(f"qadd {value}, {value}, {{zero}}")
    for value in VALUES[:count]:
        code(f"{'usat' if kind == 'uint8' else 'ssat'} {value}, #{16 if kind == 'int16' else 8}, {value}")
    for value in VALUES[:count]:
        code(f"strh {value}, [{{output}}], #2" if kind == "int16" else f"strb {value}, [{{output}}], #1")
