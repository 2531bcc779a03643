# SPDX-License-Identifier: MIT
"""Inputs on which an operator is tried: the tests that every operator gets for free, and the manual, are made from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

CLEARANCE = 0.05  # from a kink, far more than the step of a numeric gradient


@dataclass(frozen=True, eq=False)
class Sample:
    """An operator and inputs for it, floats in float64 and away from kinks; None where an optional input is not given."""

    operator: Any  # an Operator
    inputs: tuple[numpy.ndarray | None, ...]


def numbers(*dims: int, low: float = -2.0, high: float = 2.0, kinks: Sequence[float] = (0.0,), seed: int = 0) -> numpy.ndarray:
    """Returns reproducible numbers between low and high, no two alike, none near one of the `kinks`.

    They are evenly spread and shuffled, so that the largest of a group is the largest by a margin.
    """
    count = math.prod(dims)
    values = low + (high - low) * (numpy.random.default_rng(seed).permutation(count) + 0.45) / max(count, 1)
    for kink in kinks:
        values = numpy.where(numpy.abs(values - kink) < CLEARANCE, values + 2.5 * CLEARANCE, values)
    return values.reshape(dims)
