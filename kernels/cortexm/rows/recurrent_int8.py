# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM with weights of int8: 4 sums at a time, in integers; the gates in float32."""

from __future__ import annotations

from functools import cached_property

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import recurrent_call
from aidge_build.contract.kernel_kit.recurrent_int8 import ROWS, RecurrentBytes, Rows, byte_rows, recurrent_spec, sums_call
from aidge_build.contract.kernel_kit.recurrent_layer import NUMBERS, Driver, apart_from, sections
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands
from aidge_build.graph.dtype import DType

from ..core.curve import NAME, curve_text
from .recurrent_sums import Sums, most_bits, words_of_columns

UNITS = 4  # words before the data
BYTE_BITS = 8  # of a byte less its zero point, without a sign
PLACE = "data + time * shape->x_time + batch * shape->x_batch"
INTEGERS = "(int32_t *)(void *)x"
UNITS_OF = f"(aidge_cortexm_recurrent_units *)(void *)(x - {UNITS})"


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.float32, features=frozenset({"dsp", "fpu"})))
class RecurrentBytesFloat32(RecurrentBytes):
    assembly = "needed"

    @classmethod
    def demands(cls, view) -> Demands:
        operator, slack = view.operator, ROWS - 1
        words = UNITS + view.inputs[0].dims[2] + 2 * operator.hidden + apart_from(operator) + slack
        return Demands(scratch_bytes=4 * words)

    def call(self) -> Call:
        inputs, hidden = self.inputs[0].dims[2], self.operator.hidden
        bits, state = self._bits("recurrence"), f"{INTEGERS} + {inputs}"
        driver = Driver(
            prefix="aidge_cortexm",
            form=f"int8_{inputs}_{self.inputs[0].dtype.name}_{self._bits('weights')}_{hidden}_{bits}",
            element=self.inputs[0].dtype.c_type,
            stream="int32_t",
            take=self._take(),
            x_floats=f"({inputs} + shape->hidden)",
            keep=_integers("state", "{state}", state, hidden, bits),
            curve=NAME,
            product=lambda number, part: sums_call(Sums(*self.counts(part)).name, INTEGERS, number, part, state, UNITS_OF),
            head=UNITS,
            copy="aidge_cortexm_copy_floats",
        )
        texts = [*dict.fromkeys(Sums(*self.counts(part)).text() for part in sections(self.operator)), curve_text()]
        points = () if self.inputs[0].quantization is None else (self.inputs[0].quantization.zero_point,)
        return recurrent_call(self, driver, self.stream, ("rows/recurrent_int8.h",), texts, points, facts=computed("4 sums"))

    @cached_property
    def _rows(self) -> list[Rows]:
        return [byte_rows(self, part, way) for way in range(self.operator.directions) for part in sections(self.operator)]

    def _bits(self, side: str) -> int:
        """Bits of the integers for data (`weights`) or the state (`recurrence`)."""
        return min(most_bits(getattr(rows, side)) for rows in self._rows)

    def _take(self) -> str:
        return _integers("data", PLACE, INTEGERS, self.inputs[0].dims[2], self._bits("weights"))

    def words(self, weights: numpy.ndarray, is_data: bool) -> numpy.ndarray:
        return words_of_columns(weights)


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.int8, features=frozenset({"dsp", "fpu"})))
class RecurrentInt8(RecurrentBytesFloat32):
    def _take(self) -> str:
        shift = self._bits("weights") - BYTE_BITS
        point, count = f"(int32_t)numbers[{NUMBERS + 1}]", self.inputs[0].dims[2]
        return (
            f"({UNITS_OF})->unit_of_data = {2.0**-shift!r}f;\n                "
            f"({UNITS_OF})->of_data = aidge_cortexm_recurrent_bytes({INTEGERS}, {PLACE}, {count}, {point}, {shift});"
        )


def _integers(side: str, floats: str, integers: str, count: int, bits: int) -> str:
    """C that makes floats integers of so many bits with one exponent, and what sums of products by them begin with."""
    return (
        f"({UNITS_OF})->unit_of_{side} = aidge_kit_common_exponent({floats}, {integers}, {count}, {bits});\n                "
        f"({UNITS_OF})->of_{side} = aidge_cortexm_recurrent_start({integers}, {count});"
    )
