# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM with weights of int8: 4 sums at a time, in integers; the gates in float32."""

from __future__ import annotations

from functools import cached_property

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import recurrent_call
from aidge_build.contract.kernel_kit.recurrent_int8 import STATE, Rows, byte_rows, padded, recurrent_spec
from aidge_build.contract.kernel_kit.recurrent_layer import NUMBERS, Driver, Section, apart_from, sections
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands
from aidge_build.graph.dtype import DType

from .curve import NAME, curve_text
from .recurrent_sums import MOST_BYTES, ROWS, Sums, bounded_text, most_bits, words_of_columns, words_of_pairs

UNITS = 6  # words before the data
HEADER = "recurrent_int8.h"
FPU = frozenset({"dsp", "fpu"})
PLACE = "data + time * shape->x_time + batch * shape->x_batch"
INTEGERS = "(int32_t *)(void *)x"
HEAD = f"(aidge_cortexm_recurrent_units *)(void *)(x - {UNITS})"


class Recurrent(KernelNode):
    """Base: a subclass says how many words the data take."""

    are_bytes = False

    @classmethod
    def words(cls, inputs: int) -> int:
        """Of an element of X."""
        return (inputs + 1) // 2 if cls.are_bytes else inputs

    @classmethod
    def demands(cls, view) -> Demands:
        operator, slack = view.operator, ROWS - 1
        words = UNITS + cls.words(view.inputs[0].dims[2]) + 2 * operator.hidden + apart_from(operator) + slack
        return Demands(scratch_bytes=4 * words)

    def call(self) -> Call:
        bits = self._bits
        words = self.words(self.inputs[0].dims[2])
        state = f"{INTEGERS} + {words}"
        data = "bytes" if self.are_bytes else f"reals_{self._data_bits}"
        bounded, bounded_definition = bounded_text(bits)
        keep = f"{bounded}({HEAD}, {state}, {{state}}, hidden);"
        if not self.is_bounded:
            keep = f"aidge_cortexm_recurrent_state({HEAD}, {state}, {{state}}, hidden, {bits});"
        kind = f"{'bounded_' * self.is_bounded}{'short_' * self._is_short}{bits}"
        driver = Driver(
            prefix="aidge_cortexm",
            form=f"int8_{self.inputs[0].dims[2]}_{data}_{self.operator.hidden}_{kind}",
            element="int8_t" if self.are_bytes else "float",
            stream="int32_t",
            take=self._take(),
            x_floats=f"({words} + shape->hidden)",
            keep=keep,
            curve=NAME,
            product=lambda number, section: self._product(number, section, state),
            head=UNITS,
            copy="aidge_cortexm_copy_floats",
        )
        texts = [*dict.fromkeys(self._sums(part).text() for part in sections(self.operator)), curve_text()]
        texts += [bounded_definition] if self.is_bounded else []
        points = (self.inputs[0].quantization.zero_point,) if self.are_bytes else ()
        return recurrent_call(self, driver, self._stream, HEADER, texts, points, facts=computed("4 sums"))

    @cached_property
    def _rows(self) -> list[Rows]:
        return [byte_rows(self, part, way) for way in range(self.operator.directions) for part in sections(self.operator)]

    @cached_property
    def _bits(self) -> int:
        """Of the integers that stand for the state."""
        return min(most_bits(rows.recurrence) for rows in self._rows)

    @cached_property
    def _data_bits(self) -> int:
        """Of those that stand for float data."""
        return min(most_bits(rows.weights) for rows in self._rows)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether the state stays within +-1: o f(c), a mean of what is within it, or f of sums that are never NaN (which the
        next state of an RNN would forget)."""
        operator, given = self.operator, self.inputs[STATE] if len(self.inputs) > STATE else None
        per = len(operator.default_functions)
        mean = operator.type == "GRU" and all(name == "sigmoid" for name in operator.functions[::per])
        value = operator.type == "RNN" and self.are_bytes
        return given is None and (mean or value or operator.type == "LSTM") and "relu" not in operator.functions

    def _sums(self, section: Section) -> Sums:
        data = self.inputs[0].dims[2] if section.weights is not None else 0
        state = self.operator.hidden if section.recurrence is not None else 0
        return Sums(data, self.are_bytes and data > 0, state, self.is_bounded and state > 0, self._is_short)

    @property
    def _is_short(self) -> bool:
        return self.view.objective == "size"

    def _take(self) -> str:
        return f"aidge_cortexm_recurrent_data({HEAD}, {INTEGERS}, {PLACE}, shape->inputs, {self._data_bits});"

    def _product(self, number: int, section: Section, state: str) -> str:
        return (
            f"{self._sums(section).name}({INTEGERS}, {section.sums}, stream + places->starts[{number}], "
            f"stream + places->starts[{number + 1}], {state}, {HEAD});"
        )

    def _stream(self, section: Section, direction: int) -> numpy.ndarray:
        rows = padded(byte_rows(self, section, direction), ROWS)
        return numpy.concatenate([self._group(section, rows, first) for first in range(0, len(rows.bias), ROWS)])

    def _group(self, section: Section, rows: Rows, first: int) -> numpy.ndarray:
        """The words of 4 rows, as recurrent_sums.py reads them."""
        block, found = slice(first, first + ROWS), []
        by_weights, bias = rows.by_weights[block], rows.bias[block].view(numpy.int32)
        if section.weights is not None and self.are_bytes:
            ends = [slice(start, start + MOST_BYTES) for start in range(0, rows.weights.shape[1], MOST_BYTES)]
            pieces = [words_of_pairs(rows.weights[block, part]) for part in ends]
            factors = by_weights * numpy.array([1, 1 / 256] * 2, numpy.float32)
            found += [pieces[0], bias, factors.view(numpy.int32), *pieces[1:]]
        elif section.weights is not None:
            found += [words_of_columns(rows.weights[block]), bias, (by_weights * numpy.float32(256)).view(numpy.int32)]
        if section.recurrence is not None:
            found += [words_of_columns(rows.recurrence[block])]
            found += [bias] if section.weights is None else []
            unit = 2.0 ** (1 - self._bits) if self.is_bounded else 1.0
            found += [(rows.by_recurrence[block] * numpy.float32(256 * unit)).view(numpy.int32)]
        return numpy.concatenate(found)


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.int8, features=FPU))
class RecurrentInt8(Recurrent):
    are_bytes = True

    def _take(self) -> str:
        point = f"(int32_t)numbers[{NUMBERS + 1}]"
        return f"aidge_cortexm_recurrent_pairs({HEAD}, {INTEGERS}, {PLACE}, shape->inputs, {point});"


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.float32, features=FPU))
class RecurrentBytesFloat32(Recurrent):
    pass
