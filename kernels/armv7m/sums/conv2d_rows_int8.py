# SPDX-License-Identifier: MIT
"""int8 convolution of few pixels, or of many taps: a fully connected layer at each pixel."""

from __future__ import annotations

import math

from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import ENOUGH_PRODUCTS, linear_spec
from .conv2d_int8 import MOST_SCRATCH_BYTES
from .fc_int8 import SCRATCH_BYTES, RowsInt8


def scratch_bytes(view: NodeView) -> int:
    """Sums of a group, and a row if a window has to be copied."""
    window = view.operator.window
    taps = view.inputs[0].dims[1] * math.prod(window.kernel)
    return SCRATCH_BYTES + (0 if is_pointwise(window_of_layer(view)) else -(-taps // 4) * 4)


def _fits(view: NodeView) -> str:
    return "" if scratch_bytes(view) <= MOST_SCRATCH_BYTES else "too many taps for the scratch"


@kernel(("Conv1D", "Conv2D"), linear_spec(ENOUGH_PRODUCTS, ONE_GROUP, Predicate("taps that fit the scratch", _fits)))
class Conv2dRowsInt8(RowsInt8):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=scratch_bytes(view), overlap=convolution_demands(view).overlap)
