# SPDX-License-Identifier: MIT
"""int8 products, 4 values at a time, requantized in float32 or by a fixed point that rounds twice."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.kernel_kit.rows_int8 import PROVED_PRODUCT, SMALL_FACTOR, ProductInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.double.products import product_factor

from ..core.assembly import Routine
from ..core.conditions import FEATURES
from .mul_int8 import four_bytes, pair, row

NAME, FIXED_NAME = "aidge_cortexm_mul_float_int8", "aidge_cortexm_mul_fixed_int8"


class _ByFactor(ProductInt8):
    """Base: a subclass knows the words of its factor."""

    assembly = "needed"

    function: ClassVar[str]
    note: ClassVar[str]

    def factor(self) -> list[int]:
        raise NotImplementedError

    def call(self) -> Call:
        low, high, zero_point = self.bounds()
        first, second = (tensor.quantization.zero_point for tensor in self.inputs)
        is_limited = (low, high) != INT8
        limits = [four_bytes(low), four_bytes(high)] * is_limited
        numbers = Constant("numbers", as_words([pair(-first), pair(-second), zero_point, *self.factor(), *limits]))
        name = f"{self.function}{'_limited' * is_limited}"
        text = _text(name, self.function == FIXED_NAME, is_limited)
        return self.by_rows(name, "core/target.h", numbers, text, note=self.note, facts=computed("4 values"))


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


def _text(name: str, is_fixed: bool, is_limited: bool) -> str:
    how = "by a fixed-point factor" if is_fixed else "in float32"
    said = f"Products of int8 values, requantized {how}."
    words = ("zero", "multiplier", *["shift"] * is_fixed)
    return row(name, words, is_limited, _levels_fixed if is_fixed else _levels_float, said)


def _levels_float(code: Routine, values: str) -> None:
    numbers = {value: f"%s.{value}" for value in values}
    for value, number in numbers.items():
        code(f"vmov {number}, %{value}")
    code("vmov %s.factor, %multiplier")
    for step in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, %s.factor", "vcvtr.s32.f32 {0}, {0}"):
        for number in numbers.values():
            code(step.format(number))
    for value, number in numbers.items():
        code(f"vmov %{value}, {number}")
    _saturate(code, values)


def _levels_fixed(code: Routine, values: str) -> None:
    """The last bit that a shift drops is added, which rounds halves up."""
    for value in values:
        code(f"lsl %{value}, %{value}, #1")
        code(f"smmulr %{value}, %{value}, %multiplier")
        code(f"add %{value}, %{value}, %{value}, asr #31", "below zero they go down")
        code(f"asrs %{value}, %{value}, %shift")
        code(f"adc %{value}, %{value}, #0")
    _saturate(code, values)


def _saturate(code: Routine, values: str) -> None:
    for value in values:
        code(f"add %{value}, %{value}, %zero")
        code(f"ssat %{value}, #8, %{value}")
