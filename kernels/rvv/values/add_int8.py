# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums, limits
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.word_sums import word_sum

from ..core.assembly import FEATURES
from .elements import pairs_text

SUMS = ProvedSums(word_sum, "one shift", has_limits=True)
NAME = "aidge_rvv_add_int8"
_NUMBERS = ("factor", "other", "offset", "bits", "low", "high")
_LINES = (
    "vmv.v.x v24, {offset}",
    "vmacc.vx v24, {factor}, v8",
    "vmacc.vx v24, {other}, v16",
    "vsra.vx v24, v24, {bits}",
)


@kernel(("Add", "Sub"), rows_specs(FEATURES, *SUMS.conditions))
class AddInt8(RowsInt8):
    def call(self) -> Call:
        found = SUMS.of(self.view)
        words = found.first, found.second, found.offset, found.bits, *limits(self.view)
        return self.by_rows(
            NAME,
            "core/target.h",
            Constant("sum", numpy.array(words, numpy.int32)),
            pairs_text(NAME, "y = (a * factor + b * other + offset) >> bits.", _NUMBERS, _LINES),
            note="integers proved equal on all 65,536 pairs of values",
            facts=computed("a vector of values", 1),
        )
