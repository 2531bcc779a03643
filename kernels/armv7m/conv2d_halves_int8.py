# SPDX-License-Identifier: MIT
"""int8 convolution for --optimize speed: more instructions than conv2d_int8, fewer cycles where long multiplications are slow."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.kernel_kit.conditions import ONE_GROUP

from .conditions import linear_spec
from .conv2d_int8 import Conv2dInt8, shape_of
from .dense import Shape
from .halves import HALVES, pack
from .packing import Form


def _is_fast(view: NodeView) -> str:
    return "" if view.objective == "speed" else f"the build is for {view.objective}, wants --optimize speed"


def _has_shape(view: NodeView) -> str:
    return "" if shape_of(view, (HALVES,)) else "too few pixels or channels, or too many taps for the scratch"


@kernel(
    ("Conv1D", "Conv2D"),
    linear_spec(ONE_GROUP, Predicate("for speed", _is_fast), Predicate("8 pixels, 2 channels, few taps", _has_shape)),
)
class Conv2dHalvesInt8(Conv2dInt8):
    shapes: ClassVar[tuple[Shape, ...]] = (HALVES,)

    def packed(self, shape: Shape, rows: numpy.ndarray, form: Form) -> tuple[numpy.ndarray, numpy.ndarray, int]:
        return pack(rows, form)
