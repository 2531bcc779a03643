# SPDX-License-Identifier: MIT
"""int8 addition, subtraction and multiplication of two tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums, limits
from aidge_build.contract.kernel_kit.rows_int8 import PROVED_PRODUCT, ProductInt8, RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.word_sums import word_sum

from ..core.assembly import FEATURES, WITH_FLOATS, Routine, emit_stored
from .rows import row_text

SUMS = ProvedSums(word_sum, "one shift", has_limits=True)
_POINTERS = {"first": "const int8_t *", "second": "const int8_t *", "output": "int8_t *"}
_SUM = ("vmv.v.x v24, {offset}", "vmacc.vx v24, {factor}, v8", "vmacc.vx v24, {other}, v16", "vsra.vx v24, v24, {bits}")
_PRODUCT = (
    *("vsub.vx v8, v8, {factor}", "vsub.vx v16, v16, {other}", "vmul.vv v24, v8, v16", "vfcvt.f.x.v v24, v24"),
    *("vfmul.vf v24, v24, {scale}", "vfcvt.x.f.v v24, v24", "vadd.vx v24, v24, {offset}"),
)


@kernel(("Add", "Sub"), rows_specs(FEATURES, *SUMS.conditions))
class AddInt8(RowsInt8):
    def call(self) -> Call:
        found = SUMS.of(self.view)
        numbers = {"factor": found.first, "other": found.second, "offset": found.offset, "bits": found.bits}
        comment = "y = (a * factor + b * other + offset) >> bits."
        return _call(self, "aidge_rvv_add_int8", comment, numbers, limits(self.view), _SUM)


@kernel("Mul", rows_specs(WITH_FLOATS, PROVED_PRODUCT))
class MulInt8(ProductInt8):
    def call(self) -> Call:
        low, high, zero_point = self.bounds()
        factor, other = (tensor.quantization.zero_point for tensor in self.inputs)
        scale = int(self.multiplier().view(numpy.int32))
        numbers = {"factor": factor, "other": other, "offset": zero_point, "scale": scale}
        comment = "y = (a - zero point) * (b - zero point) * a float."
        return _call(self, "aidge_rvv_mul_int8", comment, numbers, (low, high), _PRODUCT)


def _call(node: RowsInt8, name: str, comment: str, numbers: dict[str, int], ends: tuple[int, int], lines: Sequence[str]) -> Call:
    """Returns the call of a function whose `lines` compute results in v24 from values in v8 and v16."""

    def body(code: Routine) -> None:
        for place, pointer in ((0, "first"), (2, "second")):
            code(f"vle8.v v{place}, ({{{pointer}}})")
            code(f"vsext.vf4 v{8 + 4 * place}, v{place}")
        code.lines(*lines)
        emit_stored(code, ["v24"], 8)
        code("vse8.v v24, ({output})")

    words = numpy.array([*numbers.values(), *ends], numpy.int32)
    text = row_text(name, comment, _POINTERS, (*numbers, "low", "high"), body)
    note = "proved equal on all 65,536 pairs of values"
    facts = computed("a vector of values", int("scale" not in numbers))
    return node.by_rows(name, "core/target.h", Constant("numbers", words), text, note=note, facts=facts)
