# SPDX-License-Identifier: MIT
"""int8 products, 4 values at a time, requantized in float32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME
from aidge_build.kernel_kit.rows_int8 import PROVED_PRODUCT, ProductInt8, rows_spec

from .assembly import Routine
from .conditions import FEATURES

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"
NAME = "aidge_cortexm_mul_int8"


def _pair(value: int) -> int:
    return (value & 0xFFFF) * 0x10001


def _bytes(value: int) -> int:
    return (value & 0xFF) * 0x01010101


@kernel("Mul", rows_spec(FEATURES | {"fpu"}, SAME, PROVED_PRODUCT))
class MulInt8(ProductInt8):
    def call(self) -> Call:
        low, high, zero_point = self.bounds()
        first, second = (tensor.quantization.zero_point for tensor in self.inputs)
        words = numpy.array([_pair(-first), _pair(-second), _pair(zero_point), _bytes(low), _bytes(high)], numpy.uint32)
        numbers = numpy.concatenate([words.view(numpy.int32), numpy.array([self.multiplier()], numpy.float32).view(numpy.int32)])
        return self.by_rows(
            NAME,
            "mul_int8.h",
            Constant("numbers", numbers),
            _text(),
            note="float32 proved equal on all 65,536 pairs of values",
            facts=computed("4 values"),
        )


@kernel("Mul", rows_spec(FEATURES | {"fpu"}, CHANNELS_LAST, PROVED_PRODUCT))
class MulPixelsInt8(MulInt8):
    """One factor repeats, pixel by pixel."""


@kernel("Mul", rows_spec(FEATURES | {"fpu"}, ROW_MAJOR, PROVED_PRODUCT))
class MulRowsInt8(MulInt8):
    """One factor repeats, row by row."""


def _text() -> str:
    code = Routine(
        {
            "first": "r0",
            "second": "r1",
            "output": "r2",
            "end": "r3",
            "zero_a": "r4",
            "zero_b": "r5",
            "zero": "r6",
            "a": "r7",
            "b": "r8",
            "c": "r9",
            "d": "r10",
            "e": "r11",
            "high": "r12",
            "low": "lr",
        }
    )
    code("push {{r4-r11, lr}}")
    code("ldm r3, {{r4-r9}}", "zero points, lowest, highest, multiplier")
    code("mov {low}, r7")
    code("mov {high}, r8")
    code("vmov s0, r9")
    code("ldr {end}, [sp, #36]", "count")
    code("and {a}, {end}, #3")
    code("vmov s5, {a}")
    code("bic {end}, {end}, #3")
    code("add {end}, {end}, {output}")
    code("cmp {output}, {end}")
    code("beq 2f")
    code.label(1, "4 values")
    code("ldr {a}, [{first}], #4")
    code("ldr {b}, [{second}], #4")
    code("sxtab16 {c}, {zero_a}, {a}", "minus the zero points")
    code("sxtab16 {a}, {zero_a}, {a}, ror #8")
    code("sxtab16 {d}, {zero_b}, {b}")
    code("sxtab16 {b}, {zero_b}, {b}, ror #8")
    code("smulbb {e}, {c}, {d}")
    code("smultt {c}, {c}, {d}")
    code("smulbb {d}, {a}, {b}")
    code("smultt {a}, {a}, {b}")
    code("vmov s1, s2, {e}, {c}")
    code("vmov s3, s4, {d}, {a}")
    for register in range(1, 5):
        _scale(code, register)
    code("vmov {e}, {c}, s1, s2")
    code("vmov {d}, {a}, s3, s4")
    code("pkhbt {c}, {e}, {c}, lsl #16")
    code("pkhbt {a}, {d}, {a}, lsl #16")
    for pair in ("c", "a"):
        code(f"sadd16 {{{pair}}}, {{{pair}}}, {{zero}}")
        code(f"ssat16 {{{pair}}}, #8, {{{pair}}}")
        code(f"uxtb16 {{{pair}}}, {{{pair}}}")
    code("orr {a}, {c}, {a}, lsl #8")
    _limit(code)
    code("str {a}, [{output}], #4")
    code("cmp {output}, {end}")
    code("bne 1b")
    code.label(2, "the values left over")
    code("vmov {end}, s5")
    code("cbz {end}, 4f")
    code.label(3)
    code("ldrb {a}, [{first}], #1")
    code("ldrb {b}, [{second}], #1")
    code("sxtab16 {a}, {zero_a}, {a}")
    code("sxtab16 {b}, {zero_b}, {b}")
    code("smulbb {a}, {a}, {b}")
    code("vmov s1, {a}")
    _scale(code, 1)
    code("vmov {a}, s1")
    code("sadd16 {a}, {a}, {zero}")
    code("ssat16 {a}, #8, {a}")
    _limit(code)
    code("strb {a}, [{output}], #1")
    code("subs {end}, {end}, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4-r11, pc}}")
    return code.function(
        NAME,
        PARAMETERS,
        "Products of int8 values, requantized in float32.",
        "aidge_cortexm_mul_int8_c(first, second, output, numbers, count);",
    )


def _scale(code: Routine, register: int) -> None:
    code(f"vcvt.f32.s32 s{register}, s{register}")
    code(f"vmul.f32 s{register}, s{register}, s0")
    code(f"vcvtr.s32.f32 s{register}, s{register}")


def _limit(code: Routine) -> None:
    """Four bytes between lowest and highest."""
    code("ssub8 {b}, {a}, {low}")
    code("sel {a}, {a}, {low}")
    code("ssub8 {b}, {high}, {a}")
    code("sel {a}, {a}, {high}")
