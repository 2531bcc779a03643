# SPDX-License-Identifier: MIT
"""Layers whose bias is finer than the products: int16 weights that are int8 ones times a power of two (recipe fit_bias).

Kernels add up with the int8 weights, shift the sums and then add the bias, which like the multipliers is in the fine units.
"""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.linear import LinearConstants, linear_constants

MOST_BITS = 7


def bits_of(weights: numpy.ndarray) -> int:
    """By how many bits all weights can be shifted to the right."""
    if weights.dtype == numpy.int8:
        return 0
    every = int(numpy.bitwise_or.reduce(weights.astype(numpy.int64), axis=None))
    return min((every & -every).bit_length() - 1, MOST_BITS) if every else 0


def coarse(weights: numpy.ndarray) -> numpy.ndarray:
    """The weights that are multiplied with."""
    return (weights >> bits_of(weights)).astype(numpy.int8)


def _too_fine(view: NodeView) -> str:
    weights = view.inputs[1]
    if weights.dtype is DType.int8:
        return ""
    if weights.dtype is not DType.int16 or weights.data is None:
        return f"the weights are {weights.dtype.name}, wants int8"
    found = weights.data >> bits_of(weights.data)
    fits = found.min(initial=0) >= -128 and found.max(initial=0) <= 127
    return "" if fits else "the weights are int16, and no int8 times a power of two"


SHIFTED_BYTES = Predicate("int8 weights, or int16 that are such times a power of two", _too_fine)


def numbers_of(node: KernelNode, rows: numpy.ndarray) -> tuple[LinearConstants, int]:
    """The numbers of a layer with these weights [outputs, taps], of which `weights` are the coarse ones; and the bits."""
    numbers = linear_constants(node.operator, node.inputs, node.outputs[0], rows)
    bits = bits_of(rows)
    return replace(numbers, weights=coarse(rows)), bits
