# SPDX-License-Identifier: MIT
"""Optimizers: stochastic gradient descent with momentum, and Adam; both with weight decay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Protocol

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.context import Context
from aidge_build.operators.row_gradient import RowGradient


class Optimizer(Protocol):
    """The interface of an optimizer for `fit`."""

    def step(self, context: Context) -> None:
        """Changes every parameter that has a gradient, and forgets the gradients. Arrays are replaced, not written to."""


@dataclass(eq=False)
class SGD:
    """velocity = momentum * velocity + gradient + decay * value; value = value - rate * velocity.

    `rate` may be changed between steps. A table with a `RowGradient`, and its velocities, change only in
    the rows that were read.
    """

    rate: float
    momentum: float = 0.0
    decay: float = 0.0
    _velocities: dict[str, numpy.ndarray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not (self.rate >= 0 and 0 <= self.momentum < 1 and self.decay >= 0):
            raise AidgeError(f"{self}: the rate and decay must not be negative, the momentum in 0..1 without 1", code="TRAINING")

    def step(self, context: Context) -> None:
        """One step of every parameter that has a gradient."""
        for name, table, rows, gradient in _trained(context):
            velocities = _state(self._velocities, name, table)
            value = table[rows]
            velocity = self.momentum * velocities[rows] + gradient + self.decay * value
            velocities[rows] = velocity
            table[rows] = value - self.rate * velocity
        context.clear_gradients()


@dataclass(eq=False)
class Adam:
    """value = value - rate * (m / (sqrt(v) + epsilon) + decay * value), with running means m of gradients and v of their squares.

    Both means are divided by 1 - beta^steps. Sources: Kingma and Ba, "Adam: a method for stochastic optimization", 2015;
    Loshchilov and Hutter, "Decoupled weight decay regularization", 2019. `rate` may be changed between steps. A table with a
    `RowGradient`, and its means, change only in the rows that were read.
    """

    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decay: float = 0.0
    _steps: int = field(default=0, repr=False)
    _means: dict[str, numpy.ndarray] = field(default_factory=dict, repr=False)
    _squares: dict[str, numpy.ndarray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not (self.rate >= 0 and self.decay >= 0 and self.epsilon > 0 and all(0 <= beta < 1 for beta in self.betas)):
            raise AidgeError(
                f"{self}: the rate and decay must not be negative, epsilon positive, the betas in 0..1 without 1", code="TRAINING"
            )

    def step(self, context: Context) -> None:
        """One step of every parameter that has a gradient."""
        self._steps += 1
        first, second = self.betas
        for name, table, rows, gradient in _trained(context):
            means, squares = _state(self._means, name, table), _state(self._squares, name, table)
            mean = first * means[rows] + (1 - first) * gradient
            square = second * squares[rows] + (1 - second) * gradient**2
            means[rows], squares[rows] = mean, square
            direction = mean / (1 - first**self._steps) / (numpy.sqrt(square / (1 - second**self._steps)) + self.epsilon)
            value = table[rows]
            table[rows] = value - self.rate * (direction + self.decay * value)
        context.clear_gradients()


Rows = numpy.ndarray | EllipsisType  # numbers of rows, or all


def _trained(context: Context) -> Iterator[tuple[str, numpy.ndarray, Rows, numpy.ndarray]]:
    """Yields each parameter with a gradient, in a fixed order: name, new array of its values, rows to change, their gradient."""
    for name in sorted(context.params.keys() & context.gradients.keys()):
        context.params[name] = table = numpy.array(context.params[name])
        gradient = context.gradients[name]
        yield name, table, *((gradient.rows, gradient.values) if isinstance(gradient, RowGradient) else (..., gradient))


def _state(states: dict[str, numpy.ndarray], name: str, table: numpy.ndarray) -> numpy.ndarray:
    """Returns the optimizer's state of a parameter: float64, zeros at first."""
    if name not in states:
        states[name] = numpy.zeros(table.shape)
    return states[name]
