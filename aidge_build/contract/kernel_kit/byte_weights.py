# SPDX-License-Identifier: MIT
"""Weights that are bytes, or that many times as large as bytes because a bias lies between two units of the sums (fit_bias), or
that would be bytes but for a zero point of their own: bytes and an offset, which is multiplied by the sum of the window."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import INT8, Linear, LinearNode
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType


def linear_of(view: NodeView) -> Linear:
    """The layer, its taps in the order in which the model has them."""
    weights = view.inputs[1]
    return LinearNode(view).linear(weights.data.reshape(weights.dims[0], -1))


def offsets_of(rows: numpy.ndarray) -> numpy.ndarray | None:
    """What to take from the weights [outputs, taps] of each output so that bytes are left, as little as possible, int64; None
    where an output has weights that are too far apart."""
    least, most = rows.max(axis=1, initial=INT8[0]) - INT8[1], rows.min(axis=1, initial=INT8[1]) - INT8[0]
    if (least > most).any():
        return None
    return numpy.clip(0, least, most).astype(numpy.int64)


def byte_weights(with_offsets: Callable[[NodeView], bool] = lambda _: False) -> Predicate:
    """int8 weights, or int16 ones that are bytes times a power of two: the fraction that a bias adds then is part of the
    channel's staircase, or sums are scaled in fractions of their unit (`Linear.in_fine_units`), which fit 32 bits as sums with
    int16 weights do; where a kernel takes them `with_offsets`, which all fit a byte, also bytes that an offset has been added
    to."""

    def unfit(view: NodeView) -> str:
        dtype = view.inputs[1].dtype
        if dtype is DType.int8:
            return ""
        if dtype is not DType.int16:
            return f"the weights are {dtype.name}, wants int8 or int16"
        offsets = offsets_of(linear_of(view).rows)
        if offsets is None or offsets.any() and not with_offsets(view) or offsets.max(initial=0) > INT8[1]:
            return "int16 weights that are no multiples of bytes"
        return ""

    return Predicate("weights are bytes, or multiples of bytes", unfit)
