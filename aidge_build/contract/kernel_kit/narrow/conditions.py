# SPDX-License-Identifier: MIT
"""The spec of linear layers."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.byte_weights import byte_weights
from aidge_build.contract.kernel_kit.conditions import ROOM
from aidge_build.contract.kernel_kit.linear_int8 import quantized_spec
from aidge_build.contract.spec import CHANNELS_LAST, DFormat, ImplSpec, NodeView, Predicate


def linear_spec(
    features: frozenset[str],
    *predicates: Predicate,
    form: DFormat = CHANNELS_LAST,
    with_offsets: Callable[[NodeView], bool] = lambda _: False,
) -> ImplSpec:
    """Weights that are bytes or multiples of them; `with_offsets`: or bytes but for an offset."""
    return quantized_spec(form, ROOM, byte_weights(with_offsets), *predicates, features=features)
