# SPDX-License-Identifier: MIT
"""int8 products, 4 values at a time, requantized by the upper half of a product with a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.kernel_kit.proved_products import ProvedProducts, low_product
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.arithmetic.thresholds import LowForm

from ..core.assembly import Routine
from ..core.conditions import FEATURES

TOGETHER = 4  # values of a turn
PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"


def _form(stairs, bounds):
    found = low_product(stairs)
    return None if found is None else (found, lambda products: numpy.clip(found[0].apply(0, products, found[1]), *bounds))


def _other_scales(view: NodeView) -> str:
    return "other weights bring other scales, for which no form need be exact" if view.any_weights else ""


PRODUCTS: ProvedProducts[tuple[LowForm, int]] = ProvedProducts(_form)
CONDITIONS = Predicate("scales that stay", _other_scales), PRODUCTS.condition


@kernel("Mul", rows_specs(FEATURES, *CONDITIONS))
class MulInt8(RowsInt8):
    assembly = "needed"

    def call(self) -> Call:
        form, shift = PRODUCTS.of(self.view)
        bounds = self.bounds()[:2]
        is_limited = bounds != INT8
        name = f"aidge_cortexm_mul_int8_{shift}{'_limited' * is_limited}"

        def levels(code: Routine, values: str) -> None:
            for value in values:
                code(f"smmla %{value}, %{value}, %multiplier, %constant")
                code(f"ssat %{value}, #8, %{value}, asr #{shift}")

        points = [pair(-tensor.quantization.zero_point) for tensor in self.inputs]
        line = [numbers[0] for numbers in (form.extras, form.multipliers, form.constants)]
        return self.by_rows(
            name,
            "core/target.h",
            Constant("numbers", as_words([*points, *line, *map(four_bytes, bounds if is_limited else ())])),
            row(name, ("extra", "multiplier", "constant"), is_limited, levels, "Products of int8 values.", "extra"),
            note="proved equal on all 65,536 pairs of values",
            facts=computed(f"{TOGETHER} values", 1),
        )


def pair(value: int) -> int:
    """A word of two halfwords."""
    return (value & 0xFFFF) * 0x10001


def four_bytes(value: int) -> int:
    """A word of four bytes."""
    return (value & 0xFF) * 0x01010101


def four_products(code: Routine, product: str, added: str) -> None:
    """Multiplies the next values at %first and %second, minus their zero points, in %e, %c, %d and %a; %b changes."""
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


def row(
    name: str,
    words: Sequence[str],
    is_limited: bool,
    levels: Callable[[Routine, str], None],
    said: str,
    extra: str = "",
) -> str:
    """The text of a row; its output may take the place of an input. `words` are the numbers after the zero points; `levels` makes
    levels of the products with these names, saturated; `said`: a comment; `extra` is added to products."""
    product, added = ("smla", f", %{extra}") if extra else ("smul", "")
    code = Routine()
    code("%enter")
    if is_limited:
        code(f"ldrd %low, %high, [%numbers, #{4 * (2 + len(words))}]", "lowest, highest")
        code("put %low, %high")
    code(f"ldm %numbers, {{%zero_a, %zero_b, {', '.join(f'%{word}' for word in words)}}}")
    code("ldr %end, [%argument.4]", "count")
    code("bics %end, %end, #3")
    code("beq %rest")
    code("add %end, %end, %output")
    code.label("turn", "4 values")
    four_products(code, product, added)
    levels(code, "edca")
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
    code(f"{product}bb %a, %a, %b{added}")
    levels(code, "a")
    if is_limited:
        _limit(code)
    code("strb %a, [%output], #1")
    code("subs %end, %end, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return code.function(name, PARAMETERS, said)


def _limit(code: Routine) -> None:
    """Four bytes in %a between the lowest and the highest one; %b changes."""
    code("get %low, %high")
    code("ssub8 %b, %a, %low")
    code("sel %a, %a, %low")
    code("ssub8 %b, %high, %a")
    code("sel %a, %a, %high")
