# SPDX-License-Identifier: MIT
"""Sums and differences of two int8 tensors by two products of words and one shift, proved on all pairs of stored values."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8
from aidge_build.operators.arithmetic.word_sums import word_sum

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count"
SUMS = ProvedSums(word_sum, "one shift")


class WordSumsInt8(RowsInt8):
    """A library's subclass names its `function` and the values of a `turn`, and prints the function's text."""

    function: ClassVar[str]
    turn: ClassVar[str] = "1 value"

    def text(self, name: str, bits: int) -> str:
        """Returns the function `name` with these PARAMETERS, for sums with so many fraction bits."""
        raise NotImplementedError

    def call(self) -> Call:
        found = SUMS.of(self.view)
        name = f"{self.function}_{found.bits}"
        return self.by_rows(
            name,
            "core/target.h",
            Constant("sum", numpy.array([found.first, found.second, found.offset], numpy.int32)),
            self.text(name, found.bits),
            note=f"{found.bits} fraction bits, proved equal on all 65,536 pairs of values",
            facts=computed(self.turn, 1),
        )
