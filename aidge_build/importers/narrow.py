# SPDX-License-Identifier: MIT
"""Constants of 2 and 4 bits, which are read as bytes: who may read them so that this changes nothing."""

from __future__ import annotations

from collections.abc import Collection

import numpy

from aidge_build.errors import AidgeError
from aidge_build.importers.expansion import Draft
from aidge_build.onnx_format import ModelNode

Range = tuple[int, int]
_MOVING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")  # their results are as narrow
_ZERO_POINT = 2


def saturates_narrowly(node: ModelNode, narrow: Collection[str]) -> bool:
    """Whether the node quantizes to a narrow type, which its zero point names."""
    return node.op_type == "QuantizeLinear" and len(node.inputs) > _ZERO_POINT and node.inputs[_ZERO_POINT] in narrow


def clamped(draft: Draft, limits: Range) -> str:
    """What QuantizeLinear reads, between the real numbers of the lowest and the highest level: none lies beyond then."""
    scale, zero = (draft.known(draft.input(place), what) for place, what in ((1, "its scale"), (_ZERO_POINT, "its zero point")))
    bounds = [(limit - zero.astype(numpy.int64)) * scale.astype(numpy.float64) for limit in limits]
    data = draft.tensor(draft.input(0))
    if scale.size == 1:
        return draft.one("Clip", data.name, *(draft.constant(bound.reshape(()), numpy.float32) for bound in bounds))
    axis = draft.source.axis("axis", 1, data.rank)
    shape = [-1 if place == axis else 1 for place in range(data.rank)]
    low, high = (draft.constant(bound.reshape(shape), numpy.float32) for bound in bounds)
    return draft.one("Min", draft.one("Max", data.name, low), high)


def stays_narrow(node: ModelNode, narrow: Collection[str]) -> bool:
    """Whether the results of a node are as narrow as what it reads; a reader that would see bytes is refused."""
    read = [place for place, name in enumerate(node.inputs) if name in narrow]
    if not read or node.op_type == "DequantizeLinear" or (node.op_type == "Cast" and read == [0]):
        return False
    if saturates_narrowly(node, narrow) and read == [_ZERO_POINT] or node.op_type in _MOVING and read == [0] and not node.domain:
        return True
    raise AidgeError(
        f"its input {read[0]} ('{node.inputs[read[0]]}') has elements of less than a byte, which only QuantizeLinear, "
        "DequantizeLinear, Cast and what moves elements may read",
        code="TYPE",
    )
