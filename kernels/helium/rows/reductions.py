# SPDX-License-Identifier: MIT
"""Which axes of a reduction are neighbours: [outer][count][inner] without axes of length 1."""

from __future__ import annotations

import math

from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.axes import counted_axes


def sizes_of(view: NodeView) -> tuple[int, int, int] | None:
    """Outer, count and inner of a row-major tensor; None where reduced axes are no neighbours, or nothing is there."""
    dims = view.inputs[0].dims
    long = [axis for axis, size in enumerate(dims) if size != 1]
    reduced = [place for place, axis in enumerate(long) if axis in counted_axes(view.operator.axes, len(dims))]
    if not reduced or reduced[-1] - reduced[0] + 1 != len(reduced) or 0 in dims:
        return None
    sizes, first, behind = [dims[axis] for axis in long], reduced[0], reduced[-1] + 1
    return math.prod(sizes[:first]), math.prod(sizes[first:behind]), math.prod(sizes[behind:])


def _apart(view: NodeView) -> str:
    return "" if sizes_of(view) is not None else "the reduced axes are no neighbours"


NEIGHBOURS = Predicate("reduced axes are neighbours", _apart)
