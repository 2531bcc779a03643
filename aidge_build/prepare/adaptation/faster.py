# SPDX-License-Identifier: MIT
"""Comparisons of two kernels on measured layers of the same operator, types and class of shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import require_shape
from aidge_build.contract.library import Kernel

_NUMBER = (int, float)
_TEXTS = ("library", "kernel", "than", "op", "types", "shape")
SHAPE = {**dict.fromkeys(_TEXTS, str), "layers": int, "ratio": _NUMBER, "most": _NUMBER}


@dataclass(frozen=True)
class Faster:
    """A kernel that was faster than another one (`than`, as "library kernel") on `layers` measured layers of an operator, its
    types and a class of shapes ("": all). It took `ratio` times as much over all layers, at most `most` times in one."""

    library: str
    kernel: str
    than: str
    op: str
    types: str
    shape: str
    layers: int
    ratio: float
    most: float

    def compares(self, kernel: Kernel, preferred: Kernel, types: str, shapes: Sequence[str]) -> bool:
        """Whether the comparison is about these two kernels, and about layers of these types and classes of shapes."""
        known = self.library, self.kernel, self.than, self.op, self.types
        asked = kernel.library, kernel.name, f"{preferred.library} {preferred.name}", kernel.type, types
        return known == asked and self.shape in shapes


def faster_of(tables: Sequence[Mapping], where: str) -> tuple[Faster, ...]:
    """Returns the comparisons of a cost table; AidgeError (COST) for a wrong entry."""
    require_shape({"quicker": list(tables)}, {"quicker": [SHAPE]}, where, "COST", "aidge-build tune writes such a table")
    unknown = next((key for one in tables for key in sorted(one) if key not in SHAPE), None)
    if unknown:
        raise AidgeError(f"unknown key {unknown!r}", where=where, code="COST", tried=sorted(SHAPE))
    found = tuple(Faster(**one) for one in tables)
    for one in found:
        if one.layers < 1 or not 0 < one.ratio <= one.most < 1:
            raise AidgeError(
                f"{one.library} {one.kernel} than {one.than}: {one.layers} layers, ratio {one.ratio}, most {one.most}",
                where=where,
                code="COST",
                hint="at least one layer, and 0 < ratio <= most < 1",
            )
    return found
