# SPDX-License-Identifier: MIT
"""int16 weights with values that differ in only eight bits.

Layers whose bias is finer than the products (recipe fit_bias): int8 weights times a power of two. Kernels add up with the int8
weights, shift the sums and then add the bias, which like the multipliers is in the fine units.

Weights less a zero point of their own (recipe signed_tensors) need nine bits: they are int8 weights plus an offset, one number
for each output. The offset adds to a sum the offset times the sum of the window, which is the same for all outputs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType

MOST_BITS = 7


def bits_of(weights: numpy.ndarray) -> int:
    """By how many bits all weights can be shifted to the right."""
    if weights.dtype == numpy.int8:
        return 0
    every = int(numpy.bitwise_or.reduce(weights.astype(numpy.int64), axis=None))
    return min((every & -every).bit_length() - 1, MOST_BITS) if every else 0


def shifted(weights: numpy.ndarray) -> numpy.ndarray:
    """Weights in whole products, as wide as they were."""
    return weights >> bits_of(weights)


def offsets_of(weights: numpy.ndarray) -> numpy.ndarray:
    """The amount by which the weights of each output [outputs, ...] are outside of int8; int64, mostly 0."""
    rows = weights.reshape(len(weights), -1).astype(numpy.int64)
    return numpy.minimum(rows.min(axis=1) + 128, 0) + numpy.maximum(rows.max(axis=1) - 127, 0)


def in_bytes(weights: numpy.ndarray) -> numpy.ndarray:
    """Weights [outputs, ...] less what they have more, as int8."""
    return (weights - offsets_of(weights).reshape(-1, *(1,) * (weights.ndim - 1))).astype(numpy.int8)


def are_two_bytes(weights: numpy.ndarray) -> bool:
    """Whether each weight is a sum of two bytes, by halves or by what one byte leaves."""
    return bool(weights.min(initial=0) >= -256 and weights.max(initial=0) <= 254)


def coarse(weights: numpy.ndarray) -> numpy.ndarray:
    """The weights [outputs, ...] that are multiplied with."""
    return in_bytes(shifted(weights))


def has_offsets(view: NodeView) -> bool:
    """Whether the weights of any output are no int8 ones."""
    weights = view.inputs[1]
    return weights.dtype is not DType.int8 and bool(offsets_of(shifted(weights.data)).any())


def _are_near(weights: numpy.ndarray) -> bool:
    """Whether the weights of each output are less than 256 apart."""
    rows = weights.reshape(len(weights), -1).astype(numpy.int64)
    return bool((numpy.ptp(rows, axis=1) < 256).all())


def _unlike_bytes(view: NodeView) -> str:
    weights = view.inputs[1]
    if weights.dtype is DType.int8:
        return ""
    if weights.dtype is not DType.int16 or weights.data is None:
        return f"the weights are {weights.dtype.name}, wants int8"
    return "" if _are_near(shifted(weights.data)) else "the weights are int16, and no int8 times a power of two plus an offset"


def _far_apart(view: NodeView) -> str:
    return "" if _are_near(view.inputs[1].data) else "the weights of an output are more than 255 apart"


OFFSET_BYTES = Predicate(
    "int8 weights, or int16 that are such times a power of two plus an offset for each output", _unlike_bytes
)
BYTES_APART = Predicate("weights that are int8 plus an offset for each output", _far_apart)


def numbers_of(node: KernelNode, rows: numpy.ndarray) -> tuple[LinearConstants, int]:
    """The numbers of a layer with these weights [outputs, taps], of which `weights` are shifted; and by how many bits."""
    numbers = linear_constants(node.operator, node.inputs, node.outputs[0], rows)
    return replace(numbers, weights=shifted(rows), is_any=node.view.any_weights), bits_of(rows)
