# SPDX-License-Identifier: MIT
"""int8 multiplication of two tensors."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_products import ProvedProducts
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME
from aidge_build.operators.arithmetic.narrow_products import NarrowForm, narrow_form

from .assembly import Routine
from .conditions import FEATURES
from .packing import as_words

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"
_FRAME_BYTES, _SAVED_BYTES = 8, 36


def _form(stairs, bounds):
    form = narrow_form(stairs, bounds)
    usable = form.proved[0] and not form.corrections[0] and form.bits > 0
    return (form, lambda products: form.apply(0, products)) if usable else None


PRODUCTS: ProvedProducts[NarrowForm] = ProvedProducts(_form)


@kernel("Mul", rows_spec(FEATURES, SAME, PRODUCTS.condition))
class MulInt8(RowsInt8):
    def call(self) -> Call:
        form = PRODUCTS.of(self.view)
        (start,), (width,), (constant,), (multiplier,) = form.starts, form.widths, form.constants, form.multipliers
        first, second = (tensor.quantization.zero_point for tensor in self.inputs)
        low, high = form.clamp
        factors = int(multiplier) & ((1 << form.bits) - 1), int(multiplier) >> form.bits
        row, text = _routine(form.bits)
        return self.by_rows(
            row,
            "mul_int8.h",
            Constant("numbers", as_words([-first, -second, -int(start), int(width), int(constant), *factors, low - high, high])),
            text,
            note="two products of 32 bits, proved equal on all 65,536 pairs of values",
            facts=computed("1 value", 1),
        )


@kernel("Mul", rows_spec(FEATURES, CHANNELS_LAST, PRODUCTS.condition))
class MulPixelsInt8(MulInt8):
    """One factor repeats, pixel by pixel."""


@kernel("Mul", rows_spec(FEATURES, ROW_MAJOR, PRODUCTS.condition))
class MulRowsInt8(MulInt8):
    """One factor repeats, row by row."""


def _routine(bits: int) -> tuple[str, str]:
    """Name and text for so many bits of the multiplier's low part."""
    name = f"aidge_armv6m_mul_int8_{bits}"
    code = Routine()
    code.push_all()
    code(f"sub sp, #{_FRAME_BYTES}")
    code("ldm r3!, {r4-r7}", "zero points, start, width")
    for low, high in zip(range(4, 8), range(8, 12)):
        code(f"mov r{high}, r{low}")
    code("ldm r3!, {r4, r6, r7}", "constant, low and high part of the multiplier")
    code("mov r12, r4")
    code("ldm r3!, {r4, r5}", "lowest - highest level, highest level")
    code("str r4, [sp]")
    code("str r5, [sp, #4]")
    code(f"ldr r3, [sp, #{_FRAME_BYTES + _SAVED_BYTES}]", "count")
    for pointer in range(3):
        code(f"adds r{pointer}, r{pointer}, r3")
    code("rsbs r3, r3, #0")
    code("beq 4f")
    code.label(1, "a value")
    code("ldrsb r4, [r0, r3]")
    code("ldrsb r5, [r1, r3]")
    code("add r4, r8")
    code("add r5, r9")
    code("muls r4, r5")
    code("add r4, r10")
    code("cmp r4, r11")
    code("bhi 3f")
    code("mov r5, r4")
    code("muls r5, r6")
    code(f"lsrs r5, r5, #{bits}")
    code("muls r4, r7")
    code("adds r4, r4, r5")
    code("add r4, r12")
    code("lsrs r4, r4, #24")
    code.label(2)
    code("strb r4, [r2, r3]")
    code("adds r3, r3, #1")
    code("bne 1b")
    code.label(4)
    code(f"add sp, #{_FRAME_BYTES}")
    code.pop_all()
    code.label(3, "below the first step or above the last one")
    code("asrs r4, r4, #31")
    code("ldr r5, [sp]")
    code("ands r4, r5")
    code("ldr r5, [sp, #4]")
    code("adds r4, r4, r5")
    code("b 2b")
    portable = f"aidge_armv6m_mul_int8(first, second, output, numbers, count, {bits});"
    return name, code.function(name, PARAMETERS, "Products of int8 values.", portable)
