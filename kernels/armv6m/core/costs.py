# SPDX-License-Identifier: MIT
"""About how many instructions of a Cortex-M0+ a multiply-accumulate takes: lines through what layers of 7 networks were counted
to take. Requantization, columns and the ends of loops outweigh few taps and few outputs; the build names such layers."""

from __future__ import annotations

import math

from aidge_build.contract.spec import NodeView

# For an output, for each of its taps; once for all outputs of a group, and for each tap there.
ROWS, WINDOWS, ONE_ROW = (23, 2.05, 40, 10), (23, 2.05, 40, 20), (45, 2.2, 300, 18.5)
# For a multiply-accumulate, for an output, and for a channel: by its stride.
DEPTHWISE = {1: (2.5, 22, 70), 2: (2.0, 52, 35)}


def dense_per_mac(view: NodeView) -> float:
    """Returns the instructions of a convolution or fully connected layer."""
    weights, (output,) = view.inputs[1], view.outputs
    taps, outputs = math.prod(weights.dims[1:]), weights.dims[0] // getattr(view.operator, "groups", 1)
    is_one_row = output.elements == output.dims[1]
    form = ONE_ROW if is_one_row else WINDOWS if math.prod(weights.dims[2:]) > 1 else ROWS
    of_output, of_tap, of_all, of_each_tap = form
    return of_tap + (of_output + (of_all + of_each_tap * taps) / outputs) / taps


def depthwise_per_mac(view: NodeView) -> float:
    """Returns the instructions of a depthwise convolution."""
    taps, pixels = math.prod(view.inputs[1].dims[1:]), view.outputs[0].elements // view.outputs[0].dims[1]
    of_mac, of_output, of_channel = DEPTHWISE[min(max(view.operator.window.strides), 2)]
    return of_mac + of_output / taps + of_channel / pixels
