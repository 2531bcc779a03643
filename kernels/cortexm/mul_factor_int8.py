# SPDX-License-Identifier: MIT
"""int8 products, 4 values at a time, requantized in float32 or by a fixed point that rounds twice."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.rows_int8 import PROVED_PRODUCT, SMALL_FACTOR, ProductInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.double.products import product_factor

from .assembly import Routine
from .conditions import FEATURES
from .mul_int8 import four_bytes, four_products, limit, pair
from .packing import as_words

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"
NAME, FIXED_NAME = "aidge_cortexm_mul_float_int8", "aidge_cortexm_mul_fixed_int8"


class _ByFactor(ProductInt8):
    """Base: a subclass knows the words of its factor."""

    function: ClassVar[str]
    note: ClassVar[str]

    def factor(self) -> list[int]:
        raise NotImplementedError

    def call(self) -> Call:
        low, high, zero_point = self.bounds()
        first, second = (tensor.quantization.zero_point for tensor in self.inputs)
        words = [pair(-first), pair(-second), pair(zero_point), four_bytes(low), four_bytes(high), *self.factor()]
        numbers = Constant("numbers", as_words(words))
        text = _text(self.function, is_fixed=self.function == FIXED_NAME)
        return self.by_rows(self.function, "mul_factor_int8.h", numbers, text, note=self.note, facts=computed("4 values"))


@kernel("Mul", rows_specs(FEATURES | {"fpu"}, PROVED_PRODUCT))
class MulFloatInt8(_ByFactor):
    function, note = NAME, "float32 proved equal on all 65,536 pairs of values"

    def factor(self) -> list[int]:
        return [int(numpy.array([self.multiplier()], numpy.float32).view(numpy.int32)[0])]


@kernel("Mul", rows_specs(FEATURES | {"fpu"}, SMALL_FACTOR, rounding="double"))
class MulFixedInt8(_ByFactor):
    """By a fixed-point factor that rounds twice."""

    function, note = FIXED_NAME, "fixed point that rounds twice"

    def factor(self) -> list[int]:
        multiplier, shift = product_factor(self.inputs, self.outputs[0])
        return [multiplier, -shift]


def _text(name: str, is_fixed: bool) -> str:
    factors = "%multiplier, %shift" if is_fixed else "%multiplier"
    code = Routine()
    code("%enter")
    code(f"ldm %numbers, {{%zero_a, %zero_b, %zero, %low, %high, {factors}}}")
    code(f"vmov {'s0, s1' if is_fixed else 's0'}, {factors}")
    code("ldr %end, [%argument.4]", "count")
    code("and %a, %end, #3")
    code("vmov s5, %a")
    code("bic %end, %end, #3")
    code("add %end, %end, %output")
    code("cmp %output, %end")
    code("beq %rest")
    code.label("turn", "4 values")
    four_products(code)
    if is_fixed:
        _scale_fixed(code, "ecda")
    else:
        code("vmov s1, s2, %e, %c")
        code("vmov s3, s4, %d, %a")
        for register in range(1, 5):
            _scale(code, register)
        code("vmov %e, %c, s1, s2")
        code("vmov %d, %a, s3, s4")
    code("pkhbt %c, %e, %c, lsl #16")
    code("pkhbt %a, %d, %a, lsl #16")
    for word in ("c", "a"):
        code(f"sadd16 %{word}, %{word}, %zero")
        code(f"ssat16 %{word}, #8, %{word}")
        code(f"uxtb16 %{word}, %{word}")
    code("orr %a, %c, %a, lsl #8")
    limit(code)
    code("str %a, [%output], #4")
    code("cmp %output, %end")
    code("bne %turn")
    code.label("rest", "the values left over")
    code("vmov %end, s5")
    code("cbz %end, %done")
    code.label("one")
    code("ldrb %a, [%first], #1")
    code("ldrb %b, [%second], #1")
    code("sxtab16 %a, %zero_a, %a")
    code("sxtab16 %b, %zero_b, %b")
    code("smulbb %a, %a, %b")
    if is_fixed:
        _scale_fixed(code, "a")
    else:
        code("vmov s1, %a")
        _scale(code, 1)
        code("vmov %a, s1")
    code("sadd16 %a, %a, %zero")
    code("ssat16 %a, #8, %a")
    limit(code)
    code("strb %a, [%output], #1")
    code("subs %end, %end, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return code.function(
        name,
        PARAMETERS,
        f"Products of int8 values, requantized {'by a fixed-point factor' if is_fixed else 'in float32'}.",
        f"aidge_cortexm_mul_factor_int8_c(first, second, output, numbers, count, {is_fixed:d});",
    )


def _scale(code: Routine, register: int) -> None:
    code(f"vcvt.f32.s32 s{register}, s{register}")
    code(f"vmul.f32 s{register}, s{register}, s0")
    code(f"vcvtr.s32.f32 s{register}, s{register}")


def _scale_fixed(code: Routine, values: str) -> None:
    """Products become levels; what a shift shifts out last is added, which rounds halves up."""
    code("vmov %b, s0", "multiplier")
    for value in values:
        code(f"lsl %{value}, %{value}, #1")
        code(f"smmulr %{value}, %{value}, %b")
        code(f"add %{value}, %{value}, %{value}, asr #31", "below zero they go down")
    code("vmov %b, s1", "shift")
    for value in values:
        code(f"asrs %{value}, %{value}, %b")
        code(f"adc %{value}, %{value}, #0")
