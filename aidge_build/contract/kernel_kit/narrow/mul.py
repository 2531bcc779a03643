# SPDX-License-Identifier: MIT
"""int8 multiplication of two tensors."""

from __future__ import annotations

from typing import ClassVar

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.kernel_kit.proved_products import ProvedProducts
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.spec import ImplSpec
from aidge_build.operators.arithmetic.narrow_products import NarrowForm, narrow_form

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"


def _form(stairs, bounds):
    form = narrow_form(stairs, bounds)
    usable = form.proved[0] and not form.corrections[0] and form.bits > 0
    return (form, lambda products: form.apply(0, products)) if usable else None


PRODUCTS: ProvedProducts[NarrowForm] = ProvedProducts(_form)


def specs(core: Core) -> tuple[ImplSpec, ...]:
    """Returns the specs of products on the cores of a library."""
    return rows_specs(core.features, PRODUCTS.condition)


class MulInt8(RowsInt8):
    """A library's subclass names its `core`."""

    core: ClassVar[Core]

    def call(self) -> Call:
        form = PRODUCTS.of(self.view)
        (start,), (width,), (constant,), (multiplier,) = form.starts, form.widths, form.constants, form.multipliers
        first, second = (tensor.quantization.zero_point for tensor in self.inputs)
        low, high = form.clamp
        factors = int(multiplier) & ((1 << form.bits) - 1), int(multiplier) >> form.bits
        row, text = _routine(self.core.on(self.view.features), form.bits)
        return self.by_rows(
            row,
            "core/target.h",
            Constant("numbers", as_words([-first, -second, -int(start), int(width), int(constant), *factors, low - high, high])),
            text,
            note="two products of 32 bits, proved equal on all 65,536 pairs of values",
            facts=computed("1 value", 1),
        )


def _routine(core: Core, bits: int) -> tuple[str, str]:
    """Name and text for so many bits of the multiplier's low part."""
    name = f"{core.prefix}_mul_int8_{bits}"
    code = core.emitter()
    code("%enter.low")
    code("ldm %numbers!, {%low, %high, %extra, %steps}", "zero points, start, width")
    for kept, loaded in {"zero_a": "low", "zero_b": "high", "start": "extra", "width": "steps"}.items():
        code(f"mov %{kept}, %{loaded}", "to a high register")
    code("ldm %numbers!, {%extra, %low, %high}", "constant, low and high part of the multiplier")
    code("mov %constant, %extra")
    code("ldm %numbers!, {%less, %extra}", "lowest - highest level, highest level")
    code("put %less")
    code("mov %highest, %extra")
    code("ldr %place, [%argument.4]", "count")
    for pointer in ("first", "second", "output"):
        code(f"adds %{pointer}, %{pointer}, %place")
    code("rsbs %place, %place, #0")
    code("beq %done")
    code.label("turn", "a value")
    code("ldrsb %value, [%first, %place]")
    code("ldrsb %spare, [%second, %place]")
    code("add %value, %zero_a")
    code("add %spare, %zero_b")
    code("muls %value, %spare")
    code("add %value, %start")
    code("cmp %value, %width")
    code("bhi %beyond")
    code("mov %spare, %value")
    code("muls %spare, %low")
    code(f"lsrs %spare, %spare, #{bits}")
    code("muls %value, %high")
    code("adds %value, %value, %spare")
    code("add %value, %constant")
    code("lsrs %value, %value, #24")
    code.label("store")
    code("strb %value, [%output, %place]")
    code("adds %place, %place, #1")
    code("bne %turn")
    code.label("done")
    code("%leave")
    code.label("beyond", "below the first step or above the last one")
    code("asrs %value, %value, #31")
    code("get %less")
    code("ands %value, %less")
    code("add %value, %highest")
    code("b %store")
    return name, code.function(name, PARAMETERS, "Products of int8 values.")
