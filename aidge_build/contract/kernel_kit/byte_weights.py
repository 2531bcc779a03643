# SPDX-License-Identifier: MIT
"""Weights that a kernel can store as bytes: int8, or int16 that are bytes times a power of two, because the bias is a fraction of
the unit of the sums (fit_bias), or int16 that are bytes plus an offset, because the weights have a zero point. The kernel
multiplies the offset by the sum of the window."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import INT8, Linear, LinearNode
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType


def linear_of(view: NodeView) -> Linear:
    """Returns the layer with its taps in the model's order."""
    weights = view.inputs[1]
    return LinearNode(view).linear(weights.data.reshape(weights.dims[0], -1))


def offsets_of(rows: numpy.ndarray) -> numpy.ndarray | None:
    """Returns for each output the int64 nearest to 0 that, subtracted from its weights [outputs, taps], leaves bytes. Returns
    None if the weights of an output are too far apart."""
    least, most = rows.max(axis=1, initial=INT8[0]) - INT8[1], rows.min(axis=1, initial=INT8[1]) - INT8[0]
    if (least > most).any():
        return None
    return numpy.clip(0, least, most).astype(numpy.int64)


def has_offsets(view: NodeView) -> bool:
    """Whether the weights are bytes but for an offset."""
    if view.inputs[1].dtype is DType.int8:
        return False
    offsets = offsets_of(linear_of(view).rows)
    return offsets is not None and bool(offsets.any())


def byte_weights(with_offsets: Callable[[NodeView], bool] = lambda _: False) -> Predicate:
    """Returns the condition: int8 weights, or int16 weights that are bytes times a power of two. The fraction that the bias then
    adds is part of the channel's thresholds, or the sums are scaled in fractions of their unit (`Linear.in_fine_units`), which
    fit 32 bits as sums with int16 weights do. If the kernel takes weights `with_offsets`, bytes to which an offset was added are
    accepted, too; all offsets must fit a byte."""

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
