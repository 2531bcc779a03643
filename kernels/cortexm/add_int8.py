# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums, limits
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME
from aidge_build.operators.arithmetic.halfword_sums import halfword_sum

from .add import WORDS, either, routine
from .conditions import FEATURES
from .packing import as_words

SUMS = ProvedSums(halfword_sum, "16 or 20 fraction bits", has_limits=True)


@kernel(("Add", "Sub"), rows_spec(FEATURES, SAME, *SUMS.conditions))
class AddInt8(RowsInt8):
    def call(self) -> Call:
        found = SUMS.of(self.view)
        lowest, highest = limits(self.view)
        is_limited = (lowest, highest) != INT8
        row, text = either(is_limited) if self.view.any_weights else routine(found.bits, is_limited)
        bytes_ = [(limit + 128) * 0x01010101 for limit in (lowest, highest)] * is_limited
        constants = as_words([found.first, found.second, found.offset, *bytes_, *([found.bits] * self.view.any_weights)])
        return self.by_rows(
            row,
            "add_int8.h",
            Constant("sum", constants),
            text,
            note=f"{found.bits} fraction bits, proved equal on all 65,536 pairs of values",
            facts=computed(f"{4 * WORDS} values", 1),
        )


@kernel(("Add", "Sub"), rows_spec(FEATURES, CHANNELS_LAST, *SUMS.conditions))
class AddPixelsInt8(AddInt8):
    """One term repeats, pixel by pixel."""


@kernel(("Add", "Sub"), rows_spec(FEATURES, ROW_MAJOR, *SUMS.conditions))
class AddRowsInt8(AddInt8):
    """One term repeats, row by row."""
