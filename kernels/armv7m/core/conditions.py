# SPDX-License-Identifier: MIT
"""Named conditions of the specs of this library."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.byte_weights import byte_weights, linear_of
from aidge_build.contract.kernel_kit.conditions import ROOM
from aidge_build.contract.kernel_kit.linear_int8 import quantized_spec
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..sums.packing import FIELD, sums_fit

FEATURES = frozenset({"thumb2"})
FEWEST_PRODUCTS = 1000


def _fitting(view: NodeView) -> str:
    weights = view.inputs[1].data if view.inputs[1].dtype is DType.int8 else linear_of(view).rows
    return "" if sums_fit(weights) else f"sums of a pixel take more than {FIELD} bits"


def _few_products(view: NodeView) -> str:
    count = (view.layer.whole if view.layer else view).multiply_accumulates
    return "" if count >= FEWEST_PRODUCTS else f"{count} multiply-accumulates, wants at least {FEWEST_PRODUCTS}"


ENOUGH_PRODUCTS = Predicate("products that pay for the text of a kernel", _few_products)
BYTES = byte_weights()
BYTES_AND_OFFSETS = byte_weights(lambda _: True)
FITTING_SUMS = Predicate(f"sums of {FIELD} bits", _fitting)


def linear_spec(*predicates: Predicate, form: str = CHANNELS_LAST, weights: Predicate = BYTES) -> ImplSpec:
    """Weights that are bytes or multiples of them; Thumb-2."""
    return quantized_spec(form, ROOM, weights, *predicates, features=FEATURES)
