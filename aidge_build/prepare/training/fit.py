# SPDX-License-Identifier: MIT
"""Steps of training: forward, backward from the loss, one step of the optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.context import Context
from aidge_build.contract.reference.execution import Execution
from aidge_build.prepare.training.descent import Optimizer


def train_step(
    execution: Execution, context: Context, optimizer: Optimizer, inputs: Mapping[str, numpy.ndarray], loss: str = "loss"
) -> float:
    """Does one step on one batch. Returns the loss before the step."""
    execution.forward(context, inputs)
    value = float(context[loss].sum())
    if not numpy.isfinite(value):
        raise AidgeError(f"the loss is {value}", code="TRAINING", hint="a smaller rate, or inputs of the order of 1")
    execution.backward(context, {loss: numpy.array(1.0)})
    optimizer.step(context)
    context.keep_overwritten()
    return value


def fit(
    execution: Execution,
    context: Context,
    optimizer: Optimizer,
    batches: Iterable[Mapping[str, numpy.ndarray]],
    loss: str = "loss",
) -> float:
    """Does one step on each batch. Returns the mean of the losses."""
    losses = [train_step(execution, context, optimizer, batch, loss) for batch in batches]
    return sum(losses) / len(losses) if losses else 0.0
