# SPDX-License-Identifier: MIT
"""Layers with states of 16 bits, on stored values: SVDF and LSTM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.fixed_activations import fixed_logistic, fixed_tanh
from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multiplier, scaled, shifted
from aidge_build.operators.arithmetic.halfword_functions import power_of_two
from aidge_build.operators.arithmetic.requantize import centred
from aidge_build.operators.meanings import means
from aidge_build.operators.stored_lstm import GATES, StoredLstm
from aidge_build.operators.svdf import Svdf


@means(Svdf)
def _svdf(operator, values, inputs, outputs):
    """Sums over time wrap around as int32 does: for products of 16 bits it cannot be proved that they stay within int32."""
    data, features, times, bias, state = values
    made, result = outputs
    first, second = svdf_factors(inputs, outputs)
    products = centred(data, inputs[0].quantization) @ centred(features, inputs[1].quantization).T
    latest = numpy.clip(scaled(products, *first), *made.dtype.range)
    after = operator.shifted(state.astype(numpy.int64), latest, times.shape[1])
    sums = operator.summed(after, times.astype(numpy.int64), None if bias is None else bias.astype(numpy.int64))
    levels = scaled(sums.astype(numpy.int32), *second) + result.quantization.zero_point
    stored = numpy.clip(levels, *result.dtype.range)
    return after.reshape(state.shape).astype(made.dtype.numpy), stored.astype(result.dtype.numpy)


def svdf_factors(inputs, outputs) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns (multiplier, shift) of products to the state, and of sums to the result: in float32, as the file's scales are."""
    data, features, times = (tensor.quantization.scale for tensor in inputs[:3])
    state, result = (tensor.quantization.scale for tensor in outputs)
    return fixed_multiplier(float(data * features / state)), fixed_multiplier(float(state * times / result))


GATE_SCALE = 2.0**-12  # of the inputs of sigmoid and tanh
_INT16 = -32768, 32767


@dataclass(frozen=True)
class LstmNumbers:
    """(multiplier, shift) of the products with data and with hidden values, of each gate, and of o tanh(c).

    The cell is in units of 2^`exponent`, and is limited to -`clip`..`clip` if `clip` is not 0.
    """

    data: tuple[tuple[int, int], ...]
    hidden: tuple[tuple[int, int], ...]
    result: tuple[int, int]
    exponent: int
    clip: int

    @property
    def integer_bits(self) -> int:
        """The integer bits of the cell."""
        return 15 + self.exponent


def lstm_numbers(operator: StoredLstm, inputs, outputs) -> LstmNumbers:
    """Returns the constants of a layer; AidgeError if the contract does not define the cell's scale."""
    data, weights, recurrence, _, hidden, cell = inputs
    exponent = power_of_two(float(cell.quantization.scale))
    if exponent is None or not -15 <= exponent <= -9 or cell.quantization.zero_point:
        raise AidgeError("the cell's scale is no power of two from 2^-15 to 2^-9, zero point 0", code="ROUNDING")
    factors = [
        tuple(
            fixed_multiplier(float(numpy.float32(scale) * given.quantization.scale / numpy.float32(GATE_SCALE)))
            for scale in matrix.quantization.scales[:: cell.dims[1]]
        )
        for given, matrix in ((data, weights), (hidden, recurrence))
    ]
    scale = numpy.float32(2.0**-15 / float(numpy.float32(operator.scale)) * 2.0**-15)
    clip = int(min(numpy.float32(operator.clip) / cell.quantization.scale, numpy.float32(_INT16[1])))
    return LstmNumbers(factors[0], factors[1], fixed_multiplier(float(scale)), exponent, clip)


@means(StoredLstm)
def _lstm(operator, values, inputs, outputs):
    data, weights, recurrence, bias, hidden, cell = (value.astype(numpy.int64) for value in values)
    numbers = lstm_numbers(operator, inputs, outputs)
    results = []
    for x in operator.by_time(data):
        products = (x - inputs[0].quantization.zero_point) @ weights.T + bias
        before = (hidden - inputs[4].quantization.zero_point) @ recurrence.T
        gates = []
        for gate in range(GATES):
            rows = slice(gate * cell.shape[1], (gate + 1) * cell.shape[1])
            level = numpy.clip(scaled(products[:, rows], *numbers.data[gate]), *_INT16)
            gates.append(numpy.clip(scaled(before[:, rows], *numbers.hidden[gate]) + level, *_INT16))
        into, forget, through = (fixed_logistic(gates[gate]) for gate in (0, 1, 3))
        kept, new = shifted(forget * cell, 15), shifted(into * fixed_tanh(gates[2], 3), 30 + numbers.exponent)
        cell = numpy.clip(kept + new, *_INT16)
        cell = numpy.clip(cell, -numbers.clip, numbers.clip) if numbers.clip else cell
        levels = scaled(through * fixed_tanh(cell, numbers.integer_bits), *numbers.result) + operator.zero_point
        hidden = numpy.clip(levels, *outputs[1].dtype.range)
        results.append(hidden)
    made = operator.by_time(numpy.array(results))
    return cell.astype(outputs[0].dtype.numpy), made.astype(outputs[1].dtype.numpy)
