# SPDX-License-Identifier: MIT
"""int8 convolution where long multiplications are slow: a few more instructions than conv2d_int8, and many cycles fewer."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.boards.cores import SLOW_LONG_PRODUCTS
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_int8 import Linear, LinearNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from .conditions import linear_spec
from .conv2d_int8 import Conv2dInt8, shape_of
from .dense import Shape
from .packing import Form, form_of, grouped_numbers, taps_last_channels
from .thirds import SHAPES, can_begin_so, offset_words, segment_taps


def _is_slow(view: NodeView) -> str:
    return "" if SLOW_LONG_PRODUCTS in view.features else "the core's long multiplications are quick"


def _has_shape(view: NodeView) -> str:
    return "" if shape_of(view, SHAPES) else "too few pixels or channels, or too many taps for the scratch"


def _has_room(view: NodeView) -> str:
    linear = LinearNode(view).linear(taps_last_channels(view.inputs[1].data))
    segment = segment_taps(linear.rows, shape_of(view, SHAPES).unroll, view.any_weights)
    fits = can_begin_so(form_of(linear), -(-linear.rows.shape[1] // segment))
    return "" if fits else "biases that leave the sums no room"


@kernel(
    ("Conv1D", "Conv2D"),
    linear_spec(
        ONE_GROUP,
        Predicate("long multiplications that are slow", _is_slow),
        Predicate("6 or 3 pixels, 2 or 4 channels, few taps", _has_shape),
        Predicate("biases that fit", _has_room),
    ),
)
class Conv2dThirdsInt8(Conv2dInt8):
    shapes: ClassVar[tuple[Shape, ...]] = SHAPES

    def segment_taps(self, shape: Shape, linear: Linear) -> int:
        return segment_taps(linear.rows, shape.unroll, linear.is_any)

    def numbers(self, shape: Shape, form: Form, taps: int, segment: int) -> numpy.ndarray:
        return grouped_numbers(offset_words(form, -(-taps // segment)), shape.channels)
