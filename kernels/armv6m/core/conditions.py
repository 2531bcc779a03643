# SPDX-License-Identifier: MIT
"""Named conditions of the specs of this library."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.byte_weights import byte_weights
from aidge_build.contract.kernel_kit.conditions import ROOM
from aidge_build.contract.kernel_kit.linear_int8 import quantized_spec
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, NodeView, Predicate

FEATURES: frozenset[str] = frozenset()  # every Cortex-M can run this library


def linear_spec(
    *predicates: Predicate, form: str = CHANNELS_LAST, with_offsets: Callable[[NodeView], bool] = lambda _: False
) -> ImplSpec:
    """Weights that are bytes or multiples of them; `with_offsets`: or bytes but for an offset."""
    return quantized_spec(form, ROOM, byte_weights(with_offsets), *predicates, features=FEATURES)
