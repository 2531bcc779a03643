# SPDX-License-Identifier: MIT
"""int8 multiplication of two tensors."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.kernel_kit.proved_products import ProvedProducts, low_product
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.thresholds import LowForm

from ..core.assembly import Code
from ..core.conditions import FEATURES

TOGETHER = 4  # values of a turn
NAME = "aidge_armv7m_mul_int8"
PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"


def _form(stairs, bounds):
    found = low_product(stairs) if bounds == INT8 else None
    return None if found is None else (found, lambda products: found[0].apply(0, products, found[1]))


PRODUCTS: ProvedProducts[tuple[LowForm, int]] = ProvedProducts(_form)


@kernel("Mul", rows_specs(FEATURES, PRODUCTS.condition))
class MulInt8(RowsInt8):
    def call(self) -> Call:
        form, shift = PRODUCTS.of(self.view)
        points = [-tensor.quantization.zero_point for tensor in self.inputs]
        numbers = numpy.array([*points, form.extras[0], form.multipliers[0], form.constants[0]], numpy.int32)
        return self.by_rows(
            f"{NAME}_{shift}",
            "core/target.h",
            Constant("numbers", numbers),
            _text(shift),
            note="proved equal on all 65,536 pairs of values",
            facts=computed(f"{TOGETHER} values", 1),
        )


def _text(shift: int) -> str:
    """The function of a row; its output may take the place of an input."""
    code = Code()
    code("%enter")
    code("ldm %numbers, {%zero_a, %zero_b, %extra, %multiplier, %constant}")
    code("ldr %count, [%argument.4]")
    code.values(lambda: _value(code, shift), TOGETHER)
    code("%leave")
    return code.function(f"{NAME}_{shift}", PARAMETERS, "Products of two rows.")


def _value(code: Code, shift: int) -> None:
    code("ldrsb %a, [%first], #1")
    code("ldrsb %b, [%second], #1")
    code("add %a, %a, %zero_a")
    code("add %b, %b, %zero_b")
    code("mla %a, %a, %b, %extra")
    code("smull %b, %a, %a, %multiplier")
    code("add %a, %a, %constant")
    code(f"ssat %a, #8, %a{f', asr #{shift}' if shift else ''}")
    code("strb %a, [%output], #1")
