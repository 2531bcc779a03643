# SPDX-License-Identifier: MIT
"""An LSTM of stored values, int8 with a cell of int16 that may have a bound; its states are inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.base import Operator, TensorType, require

GATES = 4  # input, forget, cell, output


@dataclass(frozen=True)
class StoredLstm(Operator):
    """i, f, n, o = W x + R h + b; c = f c + i tanh(n); h = o tanh(c) with sigmoids of i, f, o.

    Inputs: data [N, T, I] (`time_first`: [T, N, I]), W [4 C, I], R [4 C, C], bias [4 C], hidden [N, C], cell [N, C]. Outputs: the
    next cell, y [N, T, C] (or [T, N, C]); the last step of y is the next hidden value. `clip` bounds the cell if it is not 0; for
    stored values, products o tanh(c) have `scale` and `zero_point`. Source: TensorFlow Lite's UNIDIRECTIONAL_SEQUENCE_LSTM.
    """

    time_first: bool = False
    clip: float = 0.0
    scale: float = 1.0
    zero_point: int = 0

    def infer(self, inputs):
        data, weights, recurrence, bias, hidden, cell = inputs
        require(data.rank == 3 and cell.rank == 2, f"the data has rank {data.rank}, the cell {cell.rank}")
        batch, steps = self.batch_and_steps(data.dims)
        units = cell.dims[1]
        wanted = {
            "weights": (weights, (GATES * units, data.dims[2])),
            "recurrence": (recurrence, (GATES * units, units)),
            "bias": (bias, (GATES * units,)),
            "hidden value": (hidden, (batch, units)),
            "cell": (cell, (batch, units)),
        }
        for name, (tensor, dims) in wanted.items():
            require(tensor.dims == dims, f"the {name} has the dims {list(tensor.dims)}, wants {list(dims)}")
        made = (steps, batch, units) if self.time_first else (batch, steps, units)
        return TensorType(cell.dims, cell.dtype), TensorType(made, data.dtype)

    def batch_and_steps(self, dims: tuple[int, ...]) -> tuple[int, int]:
        """Returns the number of sequences and their length."""
        return (dims[1], dims[0]) if self.time_first else (dims[0], dims[1])

    def by_time(self, data: numpy.ndarray) -> numpy.ndarray:
        """Returns [T, N, ...] for data, and the layout of the data for a result [T, N, ...]."""
        return data if self.time_first else numpy.swapaxes(data, 0, 1)

    def forward(self, data, weights, recurrence, bias, hidden, cell):
        results = []
        for x in self.by_time(data):
            gates = numpy.split(x @ weights.T + hidden @ recurrence.T + bias, GATES, axis=1)
            into, forget, through = (1 / (1 + numpy.exp(-gates[gate])) for gate in (0, 1, 3))
            cell = forget * cell + into * numpy.tanh(gates[2])
            cell = numpy.clip(cell, -self.clip, self.clip) if self.clip else cell
            hidden = through * numpy.tanh(cell)
            results.append(hidden)
        return cell, self.by_time(numpy.array(results))

    def multiply_accumulates(self, inputs, outputs):
        data, weights, recurrence, *_ = inputs
        batch, steps = self.batch_and_steps(data.dims)
        return batch * steps * (weights.elements + recurrence.elements)
