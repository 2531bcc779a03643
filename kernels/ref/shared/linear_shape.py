# SPDX-License-Identifier: MIT
"""The struct of linear_shape.h: a convolution of up to 3 axes, or a fully connected layer, in any storage order."""

from __future__ import annotations

from aidge_build.contract.call import Struct
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator
from aidge_build.operators.window import Window

_POINT = Window((1,), (1,), (1,), (0,), (0,))


def linear_shape(operator: Operator, data: Tensor, output: Tensor) -> Struct:
    """Sizes, steps and window; a fully connected layer is a convolution of one place."""
    window, groups = getattr(operator, "window", _POINT), getattr(operator, "groups", 1)
    missing = 3 - max(1, data.rank - 2)

    def three(numbers: tuple[int, ...], fill: int) -> tuple[int, ...]:
        return (*(fill,) * missing, *numbers)

    def steps(tensor: Tensor) -> tuple[int, ...]:
        batch, channel, *spatial = tensor.layout.strides
        return (batch, channel, *three(tuple(spatial) or (0,), 0))

    return Struct(
        "aidge_ref_linear_shape",
        {
            "batches": data.dims[0],
            "groups": groups,
            "in_channels": data.dims[1] // groups,
            "out_channels": output.dims[1] // groups,
            "in": three(data.dims[2:] or (1,), 1),
            "out": three(output.dims[2:] or (1,), 1),
            "kernel": three(window.kernel, 1),
            "strides": three(window.strides, 1),
            "dilations": three(window.dilations, 1),
            "pads": three(window.pads_begin, 0),
            "in_steps": steps(data),
            "out_steps": steps(output),
        },
    )
