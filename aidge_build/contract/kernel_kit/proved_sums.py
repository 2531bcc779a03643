# SPDX-License-Identifier: MIT
"""Sums and differences of two int8 tensors with factors that are proved on all pairs of stored values, for any search of
factors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Generic, TypeVar

import numpy

from aidge_build.contract.kernel_kit.binary_int8 import meaning_of_pairs
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.fixed_point import exact_ratio
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.base import Operator

Found = TypeVar("Found")
# (the ratios of the inputs' scales to the output's scale, negative for a subtrahend, the three zero points, the stored result of
# each pair of stored values, int64 [256, 256]) -> factors, or None if no factors give these results.
Search = Callable[[tuple[Fraction, Fraction], tuple[int, ...], numpy.ndarray], Found | None]


class ProvedSums(Generic[Found]):
    """The factors that a library's search finds for an Add or Sub, and the conditions for them; `form` describes the factors.
    `has_limits`: the kernel itself limits its output, and the factors are computed without limits."""

    def __init__(self, search: Search[Found], form: str, has_limits: bool = False):
        self._cached = functools.lru_cache(64)(functools.partial(_found, search))
        exact = Predicate(f"exact with {form}", self._unproved)
        self.conditions = (exact,) if has_limits else (Predicate("the output uses all of int8", _clamp), exact)

    def of(self, view: NodeView) -> Found | None:
        """Returns the factors of this node, its limits aside; None if none are exact."""
        operator = replace(view.operator, minimum=-math.inf, maximum=math.inf)
        quantizations = [tensor.quantization for tensor in (*view.inputs, *view.outputs)]
        return self._cached(operator, quantizations[-1].rounding, *quantizations)

    def _unproved(self, view: NodeView) -> str:
        return "" if self.of(view) else "no factors of this form are exact for all 65,536 pairs of values"


def _found(search: Search[Found], operator: Operator, _rounding: str, *quantizations: Quantization) -> Found | None:
    """`_rounding` is the contract of the output: a key for the cache, as equality of quantizations ignores it."""
    first, second, result = (quantization.scale for quantization in quantizations)
    sign = -1 if operator.type == "Sub" else 1
    return search(
        (exact_ratio(first, result), sign * exact_ratio(second, result)),
        tuple(quantization.zero_point for quantization in quantizations),
        meaning_of_pairs(operator, *quantizations),
    )


def limits(view: NodeView) -> tuple[int, int]:
    """Returns the lowest and the highest stored value of the output."""
    (output,) = view.outputs
    return clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype)


def _clamp(view: NodeView) -> str:
    clamp = limits(view)
    return "" if clamp == INT8 else f"the output is limited to {clamp[0]}..{clamp[1]}"
