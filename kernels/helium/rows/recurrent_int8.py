# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM with weights of int8: 4 sums at a time, in integers; the gates in float32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import recurrent_call
from aidge_build.contract.kernel_kit.recurrent_int8 import ROWS, RecurrentBytes, recurrent_spec, sums_call
from aidge_build.contract.kernel_kit.recurrent_layer import Driver, Section, apart_from, sections
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from ..float32.curve import NAME, curve_text
from .recurrent_sums import Sums, digit_bytes

UNITS = 2  # words before the digits
PLACE = "data + time * shape->x_time + batch * shape->x_batch"
HEAD = f"(aidge_helium_recurrent_units *)(void *)(x - {UNITS})"
DIGITS = "(int8_t *)(void *)x"


class Recurrent(RecurrentBytes):
    """Base: a subclass says what the data are."""

    are_bytes = False

    @classmethod
    def digit_words(cls, inputs: int, hidden: int) -> tuple[int, int, int]:
        """Words of the digits of the data and of the state, and of the integers before they are digits."""
        counts = (0 if cls.are_bytes else inputs, hidden)
        return *(digit_bytes(count) // 4 for count in counts), max(counts)

    @classmethod
    def demands(cls, view) -> Demands:
        operator, slack = view.operator, ROWS - 1
        words = sum(cls.digit_words(view.inputs[0].dims[2], operator.hidden)) + operator.hidden + apart_from(operator) + slack
        return Demands(scratch_bytes=4 * (UNITS + words))

    def call(self) -> Call:
        inputs, hidden = self.inputs[0].dims[2], self.operator.hidden
        of_data, of_state, integers = self.digit_words(inputs, hidden)
        state = f"{DIGITS} + {4 * of_data}"
        aside = f"(int32_t *)(void *)x + {of_data + of_state}"
        take = f"const int8_t *const element = {PLACE};"
        if not self.are_bytes:
            take = f"const int8_t *const element = {DIGITS};\n                "
            take += f"({HEAD})->of_data = aidge_helium_recurrent_digits({DIGITS}, {PLACE}, {aside}, {inputs});"
        driver = Driver(
            prefix="aidge_helium",
            form=f"int8_{inputs}_{'bytes' if self.are_bytes else 'reals'}_{hidden}",
            element="int8_t" if self.are_bytes else "float",
            stream="int32_t",
            take=take,
            x_floats=str(of_data + of_state + integers),
            keep=f"({HEAD})->of_state = aidge_helium_recurrent_digits({state}, {{state}}, {aside}, hidden);",
            curve=NAME,
            product=lambda number, part: sums_call(self._sums(part).name, "element", number, part, state, HEAD),
            head=UNITS,
        )
        texts = (*dict.fromkeys(self._sums(part).text() for part in sections(self.operator)), curve_text())
        return recurrent_call(self, driver, self.stream, ("rows/recurrent_int8.h",), texts, facts=computed("4 sums"))

    def _sums(self, section: Section) -> Sums:
        data, state = self.counts(section)
        return Sums(data, self.are_bytes and data > 0, state)

    def words(self, weights: numpy.ndarray, is_data: bool) -> numpy.ndarray:
        found = [weights.reshape(-1).view(numpy.int32)]
        if is_data and self.are_bytes:  # what the zero point adds to the sums
            zero_point = self.inputs[0].quantization.zero_point
            found.append((-zero_point * weights.astype(numpy.int64).sum(axis=1)).astype(numpy.int32))
        return numpy.concatenate(found)

    def divisor(self, is_data: bool) -> int:
        return 1 if is_data and self.are_bytes else 256


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.int8, features=MVE))
class RecurrentInt8(Recurrent):
    are_bytes = True


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.float32, features=MVE))
class RecurrentBytesFloat32(Recurrent):
    pass
