# SPDX-License-Identifier: MIT
"""Optimizers: stochastic gradient descent with momentum, and Adam; both with weight decay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy

from aidge_build.errors import AidgeError
from aidge_build.reference.context import Context


class Optimizer(Protocol):
    """The interface of an optimizer for `fit`."""

    def step(self, context: Context) -> None:
        """Change every parameter that has a gradient, and forget the gradients. Arrays are replaced, not written to."""


@dataclass(eq=False)
class SGD:
    """velocity = momentum * velocity + gradient + decay * value; value = value - rate * velocity.

    `rate` may be changed between steps.
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
        for name, value, gradient in _trained(context):
            velocity = self.momentum * self._velocities.get(name, 0.0) + gradient + self.decay * value
            self._velocities[name] = velocity
            context.params[name] = (value - self.rate * velocity).astype(value.dtype)
        context.clear_gradients()


@dataclass(eq=False)
class Adam:
    """value = value - rate * (m / (sqrt(v) + epsilon) + decay * value), with running means m of gradients and v of their squares.

    Both means are divided by 1 - beta^steps. Sources: Kingma and Ba, "Adam: a method for stochastic optimization", 2015;
    Loshchilov and Hutter, "Decoupled weight decay regularization", 2019. `rate` may be changed between steps.
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
        for name, value, gradient in _trained(context):
            mean = first * self._means.get(name, 0.0) + (1 - first) * gradient
            square = second * self._squares.get(name, 0.0) + (1 - second) * gradient**2
            self._means[name], self._squares[name] = mean, square
            direction = mean / (1 - first**self._steps) / (numpy.sqrt(square / (1 - second**self._steps)) + self.epsilon)
            context.params[name] = (value - self.rate * (direction + self.decay * value)).astype(value.dtype)
        context.clear_gradients()


def _trained(context: Context) -> Iterator[tuple[str, numpy.ndarray, numpy.ndarray]]:
    """Name, value and gradient of the parameters that have one, in a fixed order."""
    for name in sorted(context.params.keys() & context.gradients.keys()):
        yield name, context.params[name], context.gradients[name]
