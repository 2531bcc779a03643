# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.halfword_sums import halfword_sum
from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME
from aidge_build.kernel_kit.proved_sums import ProvedSums
from aidge_build.kernel_kit.rows_int8 import RowsInt8, rows_spec

from .add import WORDS, routine
from .conditions import FEATURES

SUMS = ProvedSums(halfword_sum, "16 or 20 fraction bits")


@kernel(("Add", "Sub"), rows_spec(FEATURES, SAME, *SUMS.conditions))
class AddInt8(RowsInt8):
    def call(self) -> Call:
        found = SUMS.of(self.view)
        row, text = routine(found.bits)
        constants = numpy.array([found.first, found.second, found.offset], numpy.int32)
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
