# SPDX-License-Identifier: MIT
"""Gradients of recurrent layers through time, for a whole batch at once.

A cell runs forward, keeps the values that each moment needs, and runs backward (Werbos, "Backpropagation through time: what it
does and how to do it", 1990). Rows of W and R are outputs: a sum of gates is x W' + h R' + b.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

Arrays = list[numpy.ndarray]
Moment = tuple  # the values of one step that a cell keeps

Function = Callable[[numpy.ndarray], numpy.ndarray]

SLOPES: dict[str, Function] = {  # by the result
    "tanh": lambda y: 1 - y * y,
    "sigmoid": lambda y: y * (1 - y),
    "relu": lambda y: (y > 0).astype(y.dtype),
}
VALUES: dict[str, Function] = {
    "tanh": numpy.tanh,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "relu": lambda x: numpy.maximum(x, 0),
}


@dataclass
class Cell:
    """One direction of a layer: weights [G H, I], recurrence [G H, H], bias [2 G H], peepholes [3, H], and their gradients."""

    weights: numpy.ndarray
    recurrence: numpy.ndarray
    bias: numpy.ndarray
    peepholes: numpy.ndarray
    functions: Sequence[str]
    limit: float

    def __post_init__(self) -> None:
        self.by_weights, self.by_recurrence = numpy.zeros_like(self.weights), numpy.zeros_like(self.recurrence)
        self.by_bias, self.by_peepholes = numpy.zeros_like(self.bias), numpy.zeros_like(self.peepholes)

    @property
    def hidden(self) -> int:
        """The number of its units."""
        return self.recurrence.shape[1]

    def forward(self, x: numpy.ndarray, states: Arrays) -> tuple[Arrays, Moment]:
        """Returns the states [B, H] after one step, and the values that `backward` needs."""
        raise NotImplementedError

    def backward(self, gradients: Arrays, moment: Moment) -> tuple[numpy.ndarray, Arrays]:
        """Returns the gradients of x and of the states before, given the gradients of the states after. It adds up the gradients
        of the parameters."""
        raise NotImplementedError

    def _function(self, index: int, sums: numpy.ndarray) -> numpy.ndarray:
        return VALUES[self.functions[index]](numpy.clip(sums, -self.limit, self.limit))

    def _slope(self, index: int, sums: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray:
        """Returns the derivative of `_function`: 0 where the limit was reached."""
        return SLOPES[self.functions[index]](result) * (numpy.abs(sums) < self.limit)

    def _from_input(self, by_sums: numpy.ndarray, x: numpy.ndarray) -> numpy.ndarray:
        self.by_weights += by_sums.T @ x
        self.by_bias[: len(self.weights)] += by_sums.sum(0)
        return by_sums @ self.weights

    def _from_state(self, by_sums: numpy.ndarray, h: numpy.ndarray, rows: slice = slice(None)) -> numpy.ndarray:
        self.by_recurrence[rows] += by_sums.T @ h
        self.by_bias[len(self.weights) :][rows] += by_sums.sum(0)
        return by_sums @ self.recurrence[rows]

    def _gates(self, sums: numpy.ndarray) -> Arrays:
        return numpy.split(sums, len(self.weights) // self.hidden, axis=1)


class RNNCell(Cell):
    """h' = f(W x + R h + b)."""

    def forward(self, x, states):
        (h,), n = states, self.hidden
        sums = x @ self.weights.T + h @ self.recurrence.T + self.bias[:n] + self.bias[n:]
        new = self._function(0, sums)
        return [new], (x, h, sums, new)

    def backward(self, gradients, moment):
        x, h, sums, new = moment
        by_sums = gradients[0] * self._slope(0, sums, new)
        return self._from_input(by_sums, x), [self._from_state(by_sums, h)]


class GRUCell(Cell):
    """z, r = f(W x + R h + b); n = g(W x + R (r h) + b); h' = (1 - z) n + z h."""

    reset_after = False

    def forward(self, x, states):
        (h,), n = states, self.hidden
        from_x = self._gates(x @ self.weights.T + self.bias[: 3 * n])
        from_h = self._gates(h @ self.recurrence.T + self.bias[3 * n :])
        sums = [from_x[0] + from_h[0], from_x[1] + from_h[1]]
        z, r = self._function(0, sums[0]), self._function(0, sums[1])
        inner = r * from_h[2] if self.reset_after else (r * h) @ self.recurrence[2 * n :].T + self.bias[5 * n :]
        sums.append(from_x[2] + inner)
        new = self._function(1, sums[2])
        return [(1 - z) * new + z * h], (x, h, sums, z, r, new, from_h[2])

    def backward(self, gradients, moment):
        x, h, sums, z, r, new, from_h = moment
        (gradient,), n = gradients, self.hidden
        by_new = gradient * (1 - z) * self._slope(1, sums[2], new)
        by_z = gradient * (h - new) * self._slope(0, sums[0], z)
        before = gradient * z
        if self.reset_after:
            before += self._from_state(by_new * r, h, slice(2 * n, 3 * n))
            by_r = by_new * from_h
        else:
            by_reset = self._from_state(by_new, r * h, slice(2 * n, 3 * n))
            before += by_reset * r
            by_r = by_reset * h
        by_r = by_r * self._slope(0, sums[1], r)
        before += self._from_state(numpy.concatenate([by_z, by_r], 1), h, slice(2 * n))
        return self._from_input(numpy.concatenate([by_z, by_r, by_new], 1), x), [before]


class ResetAfterCell(GRUCell):
    """A GRU with a reset gate that multiplies R h + b instead of h."""

    reset_after = True


class LSTMCell(Cell):
    """i, o, f, n = W x + R h + b (with peepholes); c' = f c + i n within +-`cell_limit`; h' = o tanh(c')."""

    cell_limit = math.inf

    def forward(self, x, states):
        (h, c), n = states, self.hidden
        i, o, f, new = self._gates(x @ self.weights.T + h @ self.recurrence.T + self.bias[: 4 * n] + self.bias[4 * n :])
        i, f = i + self.peepholes[0] * c, f + self.peepholes[2] * c
        into, forget, fresh = self._function(0, i), self._function(0, f), self._function(1, new)
        free = forget * c + into * fresh
        cell = numpy.clip(free, -self.cell_limit, self.cell_limit)
        o = o + self.peepholes[1] * cell
        out, shown = self._function(0, o), VALUES[self.functions[2]](cell)
        return [out * shown, cell], (x, h, c, (i, o, f, new), into, out, forget, fresh, free, cell, shown)

    def backward(self, gradients, moment):
        x, h, c, (i, o, f, new), into, out, forget, fresh, free, cell, shown = moment
        by_out = gradients[0] * shown * self._slope(0, o, out)
        by_cell = gradients[1] + gradients[0] * out * SLOPES[self.functions[2]](shown) + by_out * self.peepholes[1]
        by_cell = by_cell * (numpy.abs(free) < self.cell_limit)
        by_into, by_forget = by_cell * fresh * self._slope(0, i, into), by_cell * c * self._slope(0, f, forget)
        by_fresh = by_cell * into * self._slope(1, new, fresh)
        self.by_peepholes += [(by_into * c).sum(0), (by_out * cell).sum(0), (by_forget * c).sum(0)]
        by_sums = numpy.concatenate([by_into, by_out, by_forget, by_fresh], 1)
        before = by_cell * forget + by_into * self.peepholes[0] + by_forget * self.peepholes[2]
        return self._from_input(by_sums, x), [self._from_state(by_sums, h), before]


def through_time(
    cell: Cell,
    data: numpy.ndarray,
    counts: numpy.ndarray,
    initial: Arrays,
    by_whole: numpy.ndarray,
    by_last: Arrays,
    order: range,
) -> tuple[numpy.ndarray, Arrays]:
    """Returns the gradients of the data [T, B, I] and of the initial states [B, H], given the gradients of the whole result [T,
    B, H] and of the last states. A sequence of the batch ends after `counts` steps; `order` is the order of time."""
    states, moments = list(initial), {}
    for time in order:
        new, moments[time] = cell.forward(data[time], states)
        active = (time < counts)[:, None]
        states = [numpy.where(active, after, before) for after, before in zip(new, states)]
    by_data, gradients = numpy.zeros_like(data), list(by_last)
    for time in reversed(order):
        active = (time < counts)[:, None]
        given = [gradient * active for gradient in gradients]
        given[0] = given[0] + by_whole[time] * active
        by_data[time], before = cell.backward(given, moments[time])
        gradients = [one + gradient * ~active for one, gradient in zip(before, gradients)]
    return by_data, gradients
