# SPDX-License-Identifier: MIT
"""Conditions of all kernels of this library."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS
from aidge_build.contract.kernel_kit.linear_int8 import FIXED_FORM, quantized_spec
from aidge_build.contract.spec import CHANNELS_LAST, DFormat, ImplSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .assembly import FEATURES

FEWEST_CHANNELS = 2


def _few_channels(view: NodeView) -> str:
    channels = view.outputs[0].dims[1]
    return f"{channels} output channels, wants at least {FEWEST_CHANNELS}" if channels < FEWEST_CHANNELS else ""


def linear_spec(*predicates: Predicate, form: DFormat = CHANNELS_LAST) -> ImplSpec:
    """Returns the spec of a linear layer, with weights of 8 or 16 bits, under both contracts."""
    many = Predicate("channels that fill a vector", _few_channels)
    return quantized_spec(form, BYTES_OR_HALFWORDS, many, *predicates, FIXED_FORM, features=FEATURES, rounding="any")


def weights_of(view: NodeView) -> str:
    """Returns the kind of constant weights."""
    return "words" if view.inputs[1].dtype is DType.int16 else "bytes"
