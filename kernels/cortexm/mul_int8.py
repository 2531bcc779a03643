# SPDX-License-Identifier: MIT
"""int8 products, 4 values at a time, requantized by the upper half of a product with a word."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8, SHIFTS
from aidge_build.contract.kernel_kit.proved_products import ProvedProducts
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.arithmetic.thresholds import LowForm, low_form

from .assembly import Routine
from .conditions import FEATURES
from .packing import as_words

TOGETHER = 4  # values of a turn
PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"
_LIMITS = 20  # bytes of the numbers before the limits


def _form(stairs, bounds):
    found = ((low_form(stairs, shift), shift) for shift in SHIFTS)
    form, shift = next(((form, shift) for form, shift in found if form.multipliers[0]), (None, 0))
    return None if form is None else ((form, shift), lambda products: numpy.clip(form.apply(0, products, shift), *bounds))


def _other_scales(view: NodeView) -> str:
    return "other weights bring other scales, for which no form need be exact" if view.any_weights else ""


PRODUCTS: ProvedProducts[tuple[LowForm, int]] = ProvedProducts(_form)
CONDITIONS = Predicate("scales that stay", _other_scales), PRODUCTS.condition


@kernel("Mul", rows_specs(FEATURES, *CONDITIONS))
class MulInt8(RowsInt8):
    def call(self) -> Call:
        form, shift = PRODUCTS.of(self.view)
        bounds = self.bounds()[:2]
        is_limited = bounds != INT8
        row, text = _row(shift, is_limited)
        points = [pair(-tensor.quantization.zero_point) for tensor in self.inputs]
        line = [numbers[0] for numbers in (form.extras, form.multipliers, form.constants)]
        return self.by_rows(
            row,
            "mul_int8.h",
            Constant("numbers", as_words([*points, *line, *map(four_bytes, bounds if is_limited else ())])),
            text,
            note="proved equal on all 65,536 pairs of values",
            facts=computed(f"{TOGETHER} values", 1),
        )


def pair(value: int) -> int:
    """A word of two halfwords."""
    return (value & 0xFFFF) * 0x10001


def four_bytes(value: int) -> int:
    """A word of four bytes."""
    return (value & 0xFF) * 0x01010101


def limit(code: Routine) -> None:
    """Four bytes in %a between %low and %high; %b changes."""
    code("ssub8 %b, %a, %low")
    code("sel %a, %a, %low")
    code("ssub8 %b, %high, %a")
    code("sel %a, %a, %high")


def four_products(code: Routine, product: str = "smul", added: str = "") -> None:
    """Of the next values at %first and %second, minus their zero points, in %e, %c, %d and %a; %b changes."""
    code("ldr %a, [%first], #4")
    code("ldr %b, [%second], #4")
    code("sxtab16 %c, %zero_a, %a", "minus the zero points")
    code("sxtab16 %a, %zero_a, %a, ror #8")
    code("sxtab16 %d, %zero_b, %b")
    code("sxtab16 %b, %zero_b, %b, ror #8")
    for total, left, right, halves in (
        ("e", "c", "d", "bb"),
        ("c", "c", "d", "tt"),
        ("d", "a", "b", "bb"),
        ("a", "a", "b", "tt"),
    ):
        code(f"{product}{halves} %{total}, %{left}, %{right}{added}")


def _row(shift: int, is_limited: bool) -> tuple[str, str]:
    """Name and text of a row; its output may take the place of an input."""
    name = f"aidge_cortexm_mul_int8_{shift}{'_limited' * is_limited}"
    code = Routine()
    code("%enter")
    if is_limited:
        code(f"ldrd %low, %high, [%numbers, #{_LIMITS}]", "lowest, highest")
        code("put %low, %high")
    code("ldm %numbers, {%zero_a, %zero_b, %extra, %multiplier, %constant}")
    code("ldr %end, [%argument.4]", "count")
    code("bics %end, %end, #3")
    code("beq %rest")
    code("add %end, %end, %output")
    code.label("turn", "4 values")
    four_products(code, "smla", ", %extra")
    for value in "edca":
        _level(code, value, shift)
    code("strb %e, [%output], #4")
    for place, value in enumerate("dca"):
        code(f"strb %{value}, [%output, #{place - 3}]")
    if is_limited:
        code("ldr %a, [%output, #-4]")
        _limit(code)
        code("str %a, [%output, #-4]")
    code("cmp %output, %end")
    code("bne %turn")
    code.label("rest", "the values left over")
    code("ldr %end, [%argument.4]", "count")
    code("ands %end, %end, #3")
    code("beq %done")
    code.label("one")
    code("ldrb %a, [%first], #1")
    code("ldrb %b, [%second], #1")
    code("sxtab16 %a, %zero_a, %a")
    code("sxtab16 %b, %zero_b, %b")
    code("smlabb %a, %a, %b, %extra")
    _level(code, "a", shift)
    if is_limited:
        _limit(code)
    code("strb %a, [%output], #1")
    code("subs %end, %end, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    portable = f"aidge_cortexm_mul_int8_c(first, second, output, numbers, count, {shift}, {is_limited:d});"
    return name, code.function(name, PARAMETERS, "Products of two rows of int8 values.", portable)


def _level(code: Routine, value: str, shift: int) -> None:
    code(f"smmla %{value}, %{value}, %multiplier, %constant")
    code(f"ssat %{value}, #8, %{value}, asr #{shift}")


def _limit(code: Routine) -> None:
    code("get %low, %high")
    limit(code)
