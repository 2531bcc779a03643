# SPDX-License-Identifier: MIT
"""Weights that are bytes, or that many times as large as bytes because a bias lies between two units of the sums (fit_bias)."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.linear_int8 import INT8, Linear, LinearNode

Proved = Callable[[Linear, NodeView], numpy.ndarray]  # which channels need no other form than one from their staircase


def linear_of(view: NodeView) -> Linear:
    """The layer, its taps in the order in which the model has them."""
    weights = view.inputs[1]
    return LinearNode(view).linear(weights.data.reshape(weights.dims[0], -1))


def byte_weights(proved: Proved) -> Predicate:
    """int8 weights, or int16 ones that are bytes times a power of two, if each channel with a fraction is `proved`: what such a
    bias adds is then part of the channel's staircase."""

    def unfit(view: NodeView) -> str:
        dtype = view.inputs[1].dtype
        if dtype is DType.int8:
            return ""
        if dtype is not DType.int16:
            return f"the weights are {dtype.name}, wants int8 or int16"
        linear = linear_of(view)
        if linear.rows.min(initial=0) < INT8[0] or linear.rows.max(initial=0) > INT8[1]:
            return "int16 weights that are no multiples of bytes"
        lacking = int(numpy.count_nonzero((linear.fractions != 0) & ~proved(linear, view)))
        return f"{lacking} channels with a bias between two units have no exact form" if lacking else ""

    return Predicate("weights are bytes, or multiples of bytes", unfit)
