# SPDX-License-Identifier: MIT
"""Groups of operators (`Operator.group`): what computes some channels, positions on axis 1, from those channels of input 0."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Group, Operator

CHANNELS = 1  # the axis


def same_channels(operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Group | None:
    """The group of an operator that computes each channel of its output from that channel of input 0. The others are read as a
    whole: they know nothing of channels."""
    data, output = inputs[0], outputs[0]
    if len(outputs) != 1 or data is None or data.is_constant or output.rank <= CHANNELS or data.dims != output.dims:
        return None
    return Group(operator, CHANNELS, (CHANNELS, *(None,) * (len(inputs) - 1)))
