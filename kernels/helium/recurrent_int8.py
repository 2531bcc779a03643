# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM with weights of int8: 4 sums at a time, in integers; the gates in float32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import recurrent_call
from aidge_build.contract.kernel_kit.recurrent_int8 import Rows, byte_rows, padded, recurrent_spec
from aidge_build.contract.kernel_kit.recurrent_layer import Driver, Section, apart_from, sections
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands
from aidge_build.graph.dtype import DType

from .conditions import MVE
from .float32.curve import NAME, curve_text
from .recurrent_sums import ROWS, Sums, digit_bytes

UNITS = 2  # words before the digits
HEADER = "recurrent_int8.h"
PLACE = "data + time * shape->x_time + batch * shape->x_batch"
HEAD = f"(aidge_helium_recurrent_units *)(void *)(x - {UNITS})"
DIGITS = "(int8_t *)(void *)x"


class Recurrent(KernelNode):
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
            product=lambda number, section: self._product(number, section, state),
            head=UNITS,
        )
        texts = (*dict.fromkeys(self._sums(part).text() for part in sections(self.operator)), curve_text())
        return recurrent_call(self, driver, self._stream, HEADER, texts, facts=computed("4 sums"))

    def _sums(self, section: Section) -> Sums:
        data = self.inputs[0].dims[2] if section.weights is not None else 0
        return Sums(data, self.are_bytes and data > 0, self.operator.hidden if section.recurrence is not None else 0)

    def _product(self, number: int, section: Section, state: str) -> str:
        return (
            f"{self._sums(section).name}(element, {section.sums}, stream + places->starts[{number}], "
            f"stream + places->starts[{number + 1}], {state}, {HEAD});"
        )

    def _stream(self, section: Section, direction: int) -> numpy.ndarray:
        rows = padded(byte_rows(self, section, direction), ROWS)
        return numpy.concatenate([self._group(section, rows, first) for first in range(0, len(rows.bias), ROWS)])

    def _group(self, section: Section, rows: Rows, first: int) -> numpy.ndarray:
        """The words of 4 rows, as recurrent_sums.py reads them."""
        block = slice(first, first + ROWS)
        found = [part[block].reshape(-1).view(numpy.int32) for part in (rows.weights, rows.recurrence)]
        if section.weights is not None and self.are_bytes:
            zero_point = self.inputs[0].quantization.zero_point
            found.append((-zero_point * rows.weights[block].astype(numpy.int64).sum(axis=1)).astype(numpy.int32))
        numbers = [rows.bias[block]]
        numbers += [rows.by_weights[block] * numpy.float32(1 if self.are_bytes else 256)] if section.weights is not None else []
        numbers += [rows.by_recurrence[block] * numpy.float32(256)] if section.recurrence is not None else []
        return numpy.concatenate([*found, *(part.view(numpy.int32) for part in numbers)])


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.int8, features=MVE))
class RecurrentInt8(Recurrent):
    are_bytes = True


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.float32, features=MVE))
class RecurrentBytesFloat32(Recurrent):
    pass
