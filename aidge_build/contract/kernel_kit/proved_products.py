# SPDX-License-Identifier: MIT
"""Products of two int8 tensors in an integer form that is proved on all pairs of stored values, for any search of forms."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import SHIFTS
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.products import product_staircase, products_of
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.arithmetic.thresholds import LowForm, Staircase, low_form
from aidge_build.operators.base import Activated

Found = TypeVar("Found")
# (thresholds of the products without limits, the lowest and highest stored value of the output) -> (a form, the function that
# computes its results for products), or None.
Search = Callable[[Staircase, tuple[int, int]], tuple[Found, Callable[[numpy.ndarray], numpy.ndarray]] | None]


class ProvedProducts(Generic[Found]):
    """The forms that a library's search finds for a Mul, and the condition that a form exists."""

    def __init__(self, search: Search[Found]):
        self._search = search
        self._cached = functools.lru_cache(64)(self._found)
        self.condition = Predicate("an integer form of the product is proved on all 65,536 pairs", self._unproved)

    def of(self, view: NodeView) -> Found | None:
        """Returns the form of this node; None if none is exact."""
        quantizations = [tensor.quantization for tensor in (*view.inputs, *view.outputs)]
        return self._cached(view.operator, quantizations[-1].rounding, *quantizations)

    def _found(
        self, operator: Activated, _rounding: str, first: Quantization, second: Quantization, result: Quantization
    ) -> Found | None:
        """`_rounding` is the contract of the output: a key for the cache, as equality of quantizations ignores it."""
        *inputs, output = (Tensor("", FIRST.shape, DType.int8, quantization=each) for each in (first, second, result))
        values = [values.astype(numpy.int8) for values in (FIRST, SECOND)]
        meaning = evaluate(operator, values, inputs, (output,))[0].astype(numpy.int64)
        unlimited = evaluate(replace(operator, minimum=-math.inf, maximum=math.inf), values, inputs, (output,))[0]
        stairs = product_staircase(first, second, result, unlimited.astype(numpy.int64))
        bounds = clamp_levels(operator.minimum, operator.maximum, result, DType.int8)
        found = None if stairs is None else self._search(stairs, bounds)
        if found is None or not numpy.array_equal(found[1](products_of(first, second)), meaning):
            return None
        return found[0]

    def _unproved(self, view: NodeView) -> str:
        return "" if self.of(view) is not None else "no form of the product is exact for all 65,536 pairs of values"


def low_product(stairs: Staircase) -> tuple[LowForm, int] | None:
    """Returns the linear integer form of the product and its shift, the first of SHIFTS that proves one; None if none does."""
    found = ((low_form(stairs, shift), shift) for shift in SHIFTS)
    return next(((form, shift) for form, shift in found if form.multipliers[0]), None)
