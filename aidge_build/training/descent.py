# SPDX-License-Identifier: MIT
"""Stochastic gradient descent with momentum and weight decay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy

from aidge_build.errors import AidgeError
from aidge_build.reference.context import Context


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
        """Change every parameter that has a gradient, and forget the gradients. Arrays are replaced, not written to."""
        for name in sorted(context.params.keys() & context.gradients.keys()):
            value, gradient = context.params[name], context.gradients[name]
            velocity = self.momentum * self._velocities.get(name, 0.0) + gradient + self.decay * value
            self._velocities[name] = velocity
            context.params[name] = (value - self.rate * velocity).astype(value.dtype)
        context.clear_gradients()
