# SPDX-License-Identifier: MIT
"""Whether expected outputs say anything about the program that computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy


def telling(outputs: Sequence[numpy.ndarray]) -> bool:
    """Whether a wrong program would be seen: an output holds numbers that are neither 0, nor all the same, nor clipped to the
    ends of their type, nor infinite or NaN."""
    return any(map(_says_something, outputs))


def _says_something(output: numpy.ndarray) -> bool:
    values = output[numpy.isfinite(output)]
    if output.dtype.kind in "iu":
        ends = numpy.iinfo(output.dtype)
        values = values[(values != ends.min) & (values != ends.max)]
    if output.dtype.kind == "b":
        return numpy.unique(values).size == 2
    return bool(values.any()) and (output.size == 1 or numpy.unique(output[numpy.isfinite(output)]).size > 1)


def largest_finite(outputs: Sequence[numpy.ndarray]) -> float:
    """The largest magnitude of the floats; infinite ones and NaN aside, with which every number would be close to every other."""
    floats = [numpy.abs(value[numpy.isfinite(value)]) for value in outputs if value.dtype.kind == "f"]
    return max((float(value.max(initial=0)) for value in floats), default=0.0)
