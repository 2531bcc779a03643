# SPDX-License-Identifier: MIT
"""The common part of the pools of this library."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE


def pool_spec(*predicates: Predicate) -> ImplSpec:
    """int8, channels last."""
    return ImplSpec(IOSpec(DType.int8, CHANNELS_LAST), features=MVE, predicates=(ALL_QUANTIZED, *predicates))
