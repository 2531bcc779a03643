# SPDX-License-Identifier: MIT
"""Groups of operators (`Operator.group`): an operator that computes some channels, positions on axis 1, from these channels of
input 0."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Group, Operator

CHANNELS = 1  # the axis


def same_channels(operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Group | None:
    """Returns the group of an operator that computes each channel of its output from the same channel of input 0. The other
    inputs have no channels and are read as a whole."""
    data, output = inputs[0], outputs[0]
    if len(outputs) != 1 or data is None or data.is_constant or output.rank <= CHANNELS or data.dims != output.dims:
        return None
    return Group(operator, CHANNELS, (CHANNELS, *(None,) * (len(inputs) - 1)))
