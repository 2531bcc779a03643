# SPDX-License-Identifier: MIT
"""The common part of the pools of this library."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import wants_short


def _narrow(view: NodeView) -> str:
    channels = view.inputs[0].dims[1]
    return "" if channels >= 4 else f"{channels} channels, wants at least 4"


def _narrow_and_short(view: NodeView) -> str:
    return _narrow(view) if wants_short(view) else ""


A_WORD_OF_CHANNELS = Predicate("at least 4 channels", _narrow)
_SHORT = Predicate("at least 4 channels where size counts", _narrow_and_short)  # what is read 4 at a time is longer


def pool_spec(features: frozenset[str], *predicates: Predicate) -> ImplSpec:
    """int8, channels last, one scale each."""
    return ImplSpec(IOSpec(DType.int8, CHANNELS_LAST), features=features, predicates=(ALL_QUANTIZED, _SHORT, *predicates))
