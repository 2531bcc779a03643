# SPDX-License-Identifier: MIT
"""int8 addition and subtraction with broadcasting."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8, BinaryInt8
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.affine import Affine, proved_affine
from aidge_build.operators.arithmetic.fixed_point import exact_ratio

from ..shared.broadcast_loop import SOURCE, broadcast_loop

# sum: {factor a, factor b, offset, shift}, and in 64 bits a divisor, which replaces 2^shift unless it is 0; levels: {lowest,
# highest, zero point} of the output.
NARROW, WIDE = "aidge_ref_add_int8", "aidge_ref_add_wide_int8"
_NARROW_TEXT = broadcast_loop(
    NARROW,
    "int8_t",
    "const int32_t *sum, const int32_t *levels, ",
    "(int8_t)(level > highest ? highest : level)",
    before=(
        "const int32_t factor_a = sum[0], factor_b = sum[1], offset = sum[2], shift = sum[3];",
        "const int32_t lowest = levels[0], highest = levels[1], zero_point = levels[2];",
    ),
    steps=(
        "int32_t level = zero_point + aidge_kit_round_shift_s32(offset + *a * factor_a + *b * factor_b, shift);",
        "level = level < lowest ? lowest : level;",
    ),
)
_WIDE_TEXT = broadcast_loop(
    WIDE,
    "int8_t",
    "const int64_t *sum, const int32_t *levels, ",
    "aidge_kit_saturate(value, levels)",
    steps=(
        "const int64_t total = sum[2] + aidge_kit_multiply_s64(*a, sum[0]) + aidge_kit_multiply_s64(*b, sum[1]);",
        "const int64_t value = sum[4] != 0 ? aidge_kit_round_quotient(total, sum[4])",
        "                                  : aidge_kit_round_shift_s64(total, (int32_t)sum[3]);",
    ),
)


@kernel(("Add", "Sub"), BINARY_INT8)
class AddInt8(BinaryInt8):
    def total(self) -> Affine:
        """The sum in integers, proved on all pairs of stored values."""
        first, second, result = (tensor.quantization for tensor in (*self.inputs, *self.outputs))
        sign = -1 if self.node.type == "Sub" else 1
        ratios = exact_ratio(first.scale, result.scale), sign * exact_ratio(second.scale, result.scale)
        low, high, zero_point = self.bounds()
        return proved_affine(ratios, (first.zero_point, second.zero_point, zero_point), low, high, self.meaning())

    def call(self) -> Call:
        found = self.total()
        numbers = [found.first, found.second, found.offset, found.shift]
        if found.is_narrow:
            name, text, total = NARROW, _NARROW_TEXT, numpy.array(numbers, numpy.int32)
        else:
            name, text, total = WIDE, _WIDE_TEXT, numpy.array([*numbers, found.divisor], numpy.int64)
        return Call(
            name,
            (SOURCE, "kit/rounding.h"),
            (*self.pointers(), Constant("sum", total), self.levels(), self.shape()),
            texts=(text,),
            note="integers proved equal on all 65,536 pairs of values",
        )
