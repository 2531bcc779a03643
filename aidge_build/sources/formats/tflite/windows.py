# SPDX-License-Identifier: MIT
"""Strides, dilations and pads of the schema as the sliding window of the operators."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.operators.base import require
from aidge_build.operators.window import LARGEST, Window
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode

PADDING = Field(0, "int8")
_SAME, _VALID = 0, 1


def window_of(
    source: TfliteNode, spatial: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Window:
    """Returns the window of a layer over an input with these spatial dims; SAME becomes pads, an odd one goes to the end."""
    for name, numbers in (("kernel", kernel), ("strides", strides), ("dilations", dilations)):
        require(all(1 <= number < LARGEST for number in numbers), f"its {name} {list(numbers)}: each must be in 1..{LARGEST - 1}")
    padding = source.options["padding"]
    require(padding in (_SAME, _VALID), f"its padding has the number {padding}, which is unknown")
    zero = (0,) * len(spatial)
    window = Window(tuple(kernel), tuple(strides), tuple(dilations), zero, zero)
    return window.same(tuple(spatial)) if padding == _SAME else window


def same_pads(source: TfliteNode, spatial: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Returns how many elements a transposed layer cuts before each axis of its output; `spatial` are the output's dims."""
    padding = source.options["padding"]
    require(padding in (_SAME, _VALID), f"its padding has the number {padding}, which is unknown")
    if padding == _VALID:
        return (0,) * len(spatial)
    return tuple(
        max(0, (-(-size // stride) - 1) * stride + extent - size) // 2 for size, extent, stride in zip(spatial, kernel, strides)
    )
