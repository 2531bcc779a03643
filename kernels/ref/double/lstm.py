# SPDX-License-Identifier: MIT
"""LSTM of int8 tensors, whose cell has int16, under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call, Constant, Input, Output, Struct
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators
from aidge_build.operators.double.recurrent import lstm_numbers
from aidge_build.operators.stored_lstm import GATES

HIDDEN, CELL = 4, 5  # places among the inputs; the next cell is output 0
MARGIN = 1 << 16  # for what is added to a level


def _biases(view: NodeView) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The biases of the products with data and with hidden values, less the zero points' part; int64."""
    data, weights, recurrence, bias, hidden, _ = view.inputs
    sums = [matrix.data.astype(numpy.int64).sum(axis=1) for matrix in (weights, recurrence)]
    return bias.data - data.quantization.zero_point * sums[0], -hidden.quantization.zero_point * sums[1]


def _unmeant(view: NodeView) -> str:
    data, weights, recurrence, bias, hidden, cell = view.inputs
    if any(tensor is None or not tensor.is_constant for tensor in (weights, recurrence, bias)):
        return "weights or bias are computed at run time"
    if any(tensor.quantization is None for tensor in (data, weights, recurrence, hidden, cell)):
        return "a tensor has no quantization"
    try:
        numbers = lstm_numbers(view.operator, view.inputs, view.outputs)
    except AidgeError as error:
        return error.what
    units = cell.dims[1]
    parts = zip((data, hidden), (weights, recurrence), _biases(view), (numbers.data, numbers.hidden))
    for given, matrix, own, factors in parts:
        largest = largest_accumulators(matrix.data, own, 0, *given.dtype.range).reshape(GATES, units).max(axis=1)
        if any(int(size) << max(shift, 0) >= INT32_LIMIT - MARGIN for size, (_, shift) in zip(largest, factors)):
            return "a sum, shifted to the left, could leave int32"
    return "" if numbers.result[1] <= 0 else "the scale of results is too small"


_STORED, _WEIGHTS, _CELL = IOSpec(DType.int8, ROW_MAJOR), IOSpec(DType.int8, ANY), IOSpec(DType.int16, ROW_MAJOR)


@kernel(
    "StoredLstm",
    ImplSpec(
        inputs=(_STORED, _WEIGHTS, _WEIGHTS, IOSpec(DType.int32, ANY), _STORED, _CELL),
        outputs=(_CELL, _STORED),
        predicates=(Predicate("sums that int32 holds, also shifted to the left", _unmeant),),
        rounding="double",
    ),
)
class LstmDouble(KernelNode):
    """Each value of the cell is read before its next one is written, so that this may take its bytes."""

    instructions_per_mac = 8

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(CELL,))

    def call(self) -> Call:
        data, weights, recurrence, *_ = self.inputs
        return Call(
            "aidge_ref_lstm_double",
            ("double/lstm.h",),
            (
                Input(0),
                Input(HIDDEN),
                Input(CELL),
                Output(0),
                Output(1),
                Constant("weights", weights.data),
                Constant("recurrence", recurrence.data),
                Constant("biases", numpy.concatenate(_biases(self.view)).astype(numpy.int32)),
                Constant("numbers", self._numbers()),
                self._shape(),
            ),
        )

    def _numbers(self) -> numpy.ndarray:
        numbers = lstm_numbers(self.operator, self.inputs, self.outputs)
        pairs = (*numbers.data, *numbers.hidden, numbers.result)
        more = self.operator.zero_point, 30 + numbers.exponent, numbers.integer_bits, numbers.clip
        return numpy.array([*(number for pair in pairs for number in pair), *more], numpy.int32)

    def _shape(self) -> Struct:
        data, cell, operator = self.inputs[0], self.inputs[CELL], self.operator
        (batches, steps), inputs, units = operator.batch_and_steps(data.dims), data.dims[2], cell.dims[1]
        fields = {"batches": batches, "steps": steps, "inputs": inputs, "units": units}
        for name, size in (("in", inputs), ("out", units)):
            time, batch = (batches * size, size) if operator.time_first else (size, steps * size)
            fields |= {f"{name}_time": time, f"{name}_batch": batch}
        return Struct("aidge_ref_lstm_shape", fields)
