# SPDX-License-Identifier: MIT
"""Named conditions of the specs of this library."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.byte_weights import byte_weights
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, ROOM, SYMMETRIC_WEIGHTS
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

FEATURES: frozenset[str] = frozenset()  # every Cortex-M can run this library


def linear_spec(
    *predicates: Predicate, form: str = CHANNELS_LAST, with_offsets: Callable[[NodeView], bool] = lambda _: False
) -> ImplSpec:
    """int8 data, weights that are bytes or multiples of them (`with_offsets`: or bytes but for an offset), int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.int8, form), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int8, form),),
        predicates=(
            CONSTANT_PARAMETERS,
            QUANTIZED,
            SYMMETRIC_WEIGHTS,
            ROOM,
            byte_weights(with_offsets),
            *predicates,
        ),
    )
