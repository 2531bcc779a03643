# SPDX-License-Identifier: MIT
"""Recurrent networks over a sequence: RNN, GRU and LSTM, forward, reverse or both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.recurrent_gradient import VALUES as FUNCTIONS
from aidge_build.operators.recurrent_gradient import Cell, GRUCell, LSTMCell, ResetAfterCell, RNNCell, through_time
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers

DIRECTIONS = ("forward", "reverse", "bidirectional")


@dataclass(frozen=True)
class Recurrent(Operator):
    """Base. Inputs: X [T, B, I], W [D, G H, I], R [D, G H, H], optional B [D, 2 G H], lengths [B], initial states [D, B, H].

    Outputs: Y [T, D, B, H], last states [D, B, H]. With `batch_first` the axis B comes first everywhere but in the weights.
    `functions` are the activations of each direction, one direction after another; `limit` clips what goes into them, unless 0.
    """

    widens: ClassVar[bool] = True
    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1
    default_functions: ClassVar[tuple[str, ...]] = ("tanh",)
    more_attributes: ClassVar[tuple[str, ...]] = ()

    hidden: int = 1
    direction: str = "forward"
    batch_first: bool = False
    functions: tuple[str, ...] = ()
    limit: float = math.inf

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes(
            "activation_alpha",
            "activation_beta",
            "activations",
            "clip",
            "direction",
            "hidden_size",
            "layout",
            *cls.more_attributes,
        )
        weights, direction = source.input(1), source.text("direction", "forward")
        require(direction in DIRECTIONS, f"direction {direction!r} is unknown")
        count = 2 if direction == "bidirectional" else 1
        names = source.node.attributes.get("activations") or cls.default_functions * count
        functions = tuple(name.lower() for name in names)
        unknown = [name for name in functions if name not in FUNCTIONS]
        require(not unknown, f"activation {unknown and unknown[0]!r} is not supported", f"supported are {', '.join(FUNCTIONS)}")
        require(
            len(functions) == len(cls.default_functions) * count,
            f"{len(functions)} activations, wants {len(cls.default_functions) * count}",
        )
        require(weights.rank == 3 and weights.dims[1] % cls.gates == 0, f"the weights have the dims {list(weights.dims)}")
        hidden = weights.dims[1] // cls.gates
        require(source.integer("hidden_size", hidden) == hidden, f"hidden_size differs from the weights' {hidden}")
        return cls(
            hidden, direction, bool(source.integer("layout", 0)), functions, source.real("clip", math.inf), **cls.more(source)
        )

    @classmethod
    def more(cls, source) -> dict:
        """Returns attributes of the subclass."""
        return {}

    @property
    def directions(self) -> int:
        """The number of directions: 1, or 2 for a bidirectional layer."""
        return 2 if self.direction == "bidirectional" else 1

    def infer(self, inputs):
        data, weights, recurrence, *rest = inputs
        require(data.rank == 3, f"the input has rank {data.rank}, wants 3")
        wanted = len(self.default_functions) * self.directions
        require(len(self.functions) == wanted, f"{len(self.functions)} activations, wants {wanted}")
        steps, batch = data.dims[:2][::-1] if self.batch_first else data.dims[:2]
        rows, many, hidden = self.gates * self.hidden, self.directions, self.hidden
        states = (batch, many, hidden) if self.batch_first else (many, batch, hidden)
        sizes = [(weights, (many, rows, data.dims[2])), (recurrence, (many, rows, hidden))]
        sizes += zip(rest, ((many, 2 * rows), (batch,), states, states, (many, 3 * hidden)))
        for tensor, dims in sizes:
            require(
                tensor is None or tensor.dims == dims,
                f"an input has the dims {list(tensor.dims) if tensor else ''}, wants {list(dims)}",
            )
        whole = (batch, steps, many, hidden) if self.batch_first else (steps, many, batch, hidden)
        dtype = data.dtype if data.dtype.is_float else DType.float32
        return TensorType(whole, dtype), *(TensorType(states, dtype),) * self.states

    def forward(self, data, weights, recurrence, bias=None, lengths=None, *initial):
        *initial, peepholes = (*initial, None, None, None)[:3]
        if self.batch_first:
            data = numpy.swapaxes(data, 0, 1)
        steps, batch, _ = data.shape
        starts = self._starts(initial, batch)
        whole = numpy.zeros((steps, self.directions, batch, self.hidden))
        last = numpy.zeros((self.states, self.directions, batch, self.hidden))
        for d in range(self.directions):
            per = len(self.default_functions)
            functions = [FUNCTIONS[name] for name in self.functions[d * per : (d + 1) * per]]
            own = (
                weights[d],
                recurrence[d],
                numpy.zeros(2 * len(weights[d])) if bias is None else bias[d],
                peepholes if peepholes is None else peepholes[d],
            )
            for b in range(batch):
                state = [start[d, b] for start in starts]
                for t in self._times(d, steps if lengths is None else int(lengths[b])):
                    state = self.step(data[t, b], state, own, functions)
                    whole[t, d, b] = state[0]
                last[:, d, b] = state
        if self.batch_first:
            return numpy.moveaxis(whole, 2, 0), *(numpy.swapaxes(state, 0, 1) for state in last)
        return whole, *last

    def step(self, x, state, own, functions):
        """The states after one element of the sequence."""
        raise NotImplementedError

    @property
    def cell(self) -> type[Cell]:
        """Returns one step of the layer, forward and backward."""
        raise NotImplementedError

    def _starts(self, initial, batch):
        """The states before the first step [direction, batch, hidden]: zeros where none are given."""
        zeros = numpy.zeros((self.directions, batch, self.hidden))
        axes = (1, 0, 2) if self.batch_first else (0, 1, 2)
        return [zeros if state is None else numpy.transpose(state, axes) for state in initial[: self.states]]

    def _times(self, d, count):
        """The steps of a direction in order."""
        return range(count)[::-1] if d == 1 or self.direction == "reverse" else range(count)

    def backward(self, gradients, inputs, outputs):
        given = list(inputs) + [None] * (8 - len(inputs))
        (data, weights, recurrence, bias, lengths), initial = given[:5], given[5:]
        by_whole, by_last = gradients[0], list(gradients[1:])
        if self.batch_first:
            data, by_whole = numpy.swapaxes(data, 0, 1), numpy.moveaxis(by_whole, 0, 2)
            by_last = [numpy.swapaxes(gradient, 0, 1) for gradient in by_last]
        steps, batch, _ = data.shape
        counts = numpy.full(batch, steps) if lengths is None else lengths
        states = self._starts(initial, batch)
        by_data, cells, by_states = 0.0, [], []
        for d in range(self.directions):
            cells.append(self._cell(d, weights, recurrence, bias, initial[2]))
            found, before = through_time(
                cells[d],
                data,
                counts,
                [state[d] for state in states],
                by_whole[:, d],
                [gradient[d] for gradient in by_last],
                self._times(d, steps),
            )
            by_data = by_data + found
            by_states.append(before)
        states = [numpy.stack(parts) for parts in zip(*by_states, strict=True)]
        if self.batch_first:
            by_data, states = numpy.swapaxes(by_data, 0, 1), [numpy.swapaxes(state, 0, 1) for state in states]
        found = [by_data, *(_stacked(cells, name) for name in ("by_weights", "by_recurrence", "by_bias")), None, *states]
        found += [*(None,) * (2 - self.states), _stacked(cells, "by_peepholes").reshape(len(cells), -1)]
        return tuple(None if value is None else gradient for value, gradient in zip(inputs, found))

    def _cell(self, d, weights, recurrence, bias, peepholes) -> Cell:
        """The direction `d` with its part of the parameters."""
        per = len(self.default_functions)
        return self.cell(
            weights[d],
            recurrence[d],
            numpy.zeros(2 * weights.shape[1]) if bias is None else bias[d],
            numpy.zeros((3, self.hidden)) if peepholes is None else peepholes[d].reshape(3, self.hidden),
            self.functions[d * per : (d + 1) * per],
            self.limit,
        )

    @classmethod
    def examples(cls):
        functions = cls.default_functions
        others = ("tanh", "sigmoid", "relu")[: len(functions)]
        return (
            cls(2, "forward", False, functions),
            cls(2, "reverse", True, functions, 0.4),
            cls(2, "bidirectional", False, functions + others),
        )

    @classmethod
    def samples(cls):
        made = []
        for one in cls.examples():
            d, rows, states = one.directions, cls.gates * 2, (one.directions, 2, 2)
            dims = [(3, 2, 2), (d, rows, 2), (d, rows, 2), (d, 2 * rows), *(states,) * cls.states, (d, 6)]
            given = [numbers(*size, low=-1, high=1, seed=seed) for seed, size in enumerate(dims)]
            given.insert(4, numpy.array([2, 3], numpy.int32))  # lengths
            given = given[: 8 if cls.states > 1 else 6]
            if one.batch_first:
                given = [numpy.swapaxes(values, 0, 1) if place in (0, 5, 6) else values for place, values in enumerate(given)]
            made.append(Sample(one, tuple(given)))
            made.append(Sample(one, tuple(given[:3])))
        return tuple(made)

    def _clipped(self, values):
        return numpy.clip(values, -self.limit, self.limit)

    def multiply_accumulates(self, inputs, outputs):
        data, weights, recurrence = inputs[:3]
        return data.dims[0] * data.dims[1] * (weights.elements + recurrence.elements)


@operator("RNN")
class RNN(Recurrent):
    """h = f(W x + R h + b). Source: ONNX operator RNN."""

    cell: ClassVar = RNNCell

    def step(self, x, state, own, functions):
        weights, recurrence, bias, _ = own
        sums = weights @ x + recurrence @ state[0] + bias[: self.hidden] + bias[self.hidden :]
        return [functions[0](self._clipped(sums))]


@operator("GRU")
class GRU(Recurrent):
    """z, r = f(W x + R h + b); n = g(W x + R (r h) + b); h = (1 - z) n + z h. Source: ONNX operator GRU.

    With `reset_after` the reset gate multiplies R h + b instead of h.
    """

    gates: ClassVar = 3
    default_functions: ClassVar = ("sigmoid", "tanh")
    more_attributes: ClassVar = ("linear_before_reset",)

    reset_after: bool = False

    @classmethod
    def more(cls, source):
        return {"reset_after": bool(source.integer("linear_before_reset", 0))}

    @property
    def cell(self):
        return ResetAfterCell if self.reset_after else GRUCell

    @classmethod
    def examples(cls):
        return *super().examples(), cls(2, functions=cls.default_functions, reset_after=True)

    def step(self, x, state, own, functions):
        (h,), (weights, recurrence, bias, _), n = state, own, self.hidden
        from_x, from_h = weights @ x + bias[: 3 * n], recurrence @ h + bias[3 * n :]
        update, reset = (functions[0](self._clipped(from_x[k * n : (k + 1) * n] + from_h[k * n : (k + 1) * n])) for k in (0, 1))
        inner = reset * from_h[2 * n :] if self.reset_after else recurrence[2 * n :] @ (reset * h) + bias[5 * n :]
        new = functions[1](self._clipped(from_x[2 * n :] + inner))
        return [(1 - update) * new + update * h]


@operator("LSTM")
class LSTM(Recurrent):
    """i, o, f, n = W x + R h + b (with peepholes); c = f c + i n; h = o tanh(c). Source: ONNX operator LSTM.

    `cell_limit` bounds c, as operators of TensorFlow Lite do.
    """

    gates: ClassVar = 4
    states: ClassVar = 2
    default_functions: ClassVar = ("sigmoid", "tanh", "tanh")
    more_attributes: ClassVar = ("input_forget",)

    cell_limit: float = math.inf

    @classmethod
    def more(cls, source):
        require(not source.integer("input_forget", 0), "input_forget is not supported")
        return {}

    cell: ClassVar = LSTMCell

    @classmethod
    def examples(cls):
        return *super().examples(), cls(2, functions=cls.default_functions, cell_limit=0.2)

    def _cell(self, d, weights, recurrence, bias, peepholes):
        made = super()._cell(d, weights, recurrence, bias, peepholes)
        made.cell_limit = self.cell_limit
        return made

    def step(self, x, state, own, functions):
        (h, c), (weights, recurrence, bias, peepholes), n = state, own, self.hidden
        sums = weights @ x + recurrence @ h + bias[: 4 * n] + bias[4 * n :]
        gate = [sums[k * n : (k + 1) * n] for k in range(4)]
        peep = numpy.zeros((3, n)) if peepholes is None else peepholes.reshape(3, n)
        into, forget = functions[0](self._clipped(gate[0] + peep[0] * c)), functions[0](self._clipped(gate[2] + peep[2] * c))
        cell = forget * c + into * functions[1](self._clipped(gate[3]))
        cell = numpy.clip(cell, -self.cell_limit, self.cell_limit)
        return [functions[0](self._clipped(gate[1] + peep[1] * cell)) * functions[2](cell), cell]


def _stacked(cells, name):
    """Returns a gradient of all directions."""
    return numpy.stack([getattr(cell, name) for cell in cells])
