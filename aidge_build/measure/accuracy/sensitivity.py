# SPDX-License-Identifier: MIT
"""Measures what each layer costs: each layer alone quantized, and each alone in float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.terminal import with_progress
from aidge_build.measure.accuracy.trials import FLOAT, INT8, Trial, Trials


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A layer alone in int8 (`alone`), and alone in float among int8 layers (`spared`): that costs `extra` more than all int8.

    `is_spared`: the layer then computes in float. Between int8 layers, a sum or a mean is one int8 step for any type.
    """

    layer: str
    alone: Trial
    spared: Trial
    extra: float
    is_spared: bool


def with_type(types: Sequence[str], index: int, kind: str) -> tuple[str, ...]:
    """The same types with another one for one layer."""
    return (*types[:index], kind, *types[index + 1 :])


def sensitivities(trials: Trials) -> tuple[Sensitivity, ...]:
    """Measures every layer, in the model's order."""
    integers, floats = trials.all(INT8), trials.all(FLOAT)
    found = []
    for index, layer in with_progress("TRY", list(enumerate(trials.layers)), lambda item: f"layer {trials.shown(item[1])} alone"):
        spared = with_type(integers, index, FLOAT)
        found.append(
            Sensitivity(
                layer,
                trials.measured(with_type(floats, index, INT8)),
                trials.measured(spared),
                trials.cost(spared).number - trials.cost(integers).number,
                trials.measured(spared).steps != trials.measured(integers).steps,
            )
        )
    return tuple(found)
