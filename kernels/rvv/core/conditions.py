# SPDX-License-Identifier: MIT
"""Conditions of all kernels of this library."""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS
from aidge_build.contract.kernel_kit.linear_int8 import FIXED_FORM, LinearNode, quantized_spec
from aidge_build.contract.kernel_kit.products import columns_as_channels
from aidge_build.contract.spec import CHANNELS_LAST, DFormat, ImplSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .assembly import FEATURES, FLOATS
from .levels import Levels

FEWEST_CHANNELS = 2


def _few_channels(view: NodeView) -> str:
    channels = view.outputs[0].dims[1]
    return f"{channels} output channels, wants at least {FEWEST_CHANNELS}" if channels < FEWEST_CHANNELS else ""


MANY_CHANNELS = Predicate("channels that fill a vector", _few_channels)


def _without_integers(view: NodeView) -> str:
    if FLOATS in view.features:
        return ""
    if view.any_weights:
        return "other weights would have other integers"
    if view.node.type == "MatMul":
        linear = columns_as_channels(view, numpy.zeros((1, 0), numpy.int64))
    else:
        linear = LinearNode(view).linear(view.inputs[1].data.reshape(view.inputs[1].dims[0], -1))
    levels = Levels.of(view, linear)
    return "a channel has no proved products" if levels.rounding == "even" and levels.form is None else ""


INTEGERS = Predicate("without vectors of floats proved products for each channel", _without_integers)


def linear_spec(*predicates: Predicate, form: DFormat = CHANNELS_LAST) -> ImplSpec:
    """Returns the spec of a linear layer, with weights of 8 or 16 bits, under both contracts."""
    return quantized_spec(
        form, BYTES_OR_HALFWORDS, MANY_CHANNELS, *predicates, FIXED_FORM, INTEGERS, features=FEATURES, rounding="any"
    )


def weights_of(view: NodeView) -> str:
    """Returns the kind of constant weights."""
    return {DType.int16: "words", DType.float32: "floats"}.get(view.inputs[1].dtype, "bytes")
