# SPDX-License-Identifier: MIT
"""Layers of float32: products are added up tap by tap, each with one rounding, and the sums are limited.

The constants of a layer have the places that integers have (levels.py): the limits, then the bias of each channel. Texts count
bytes where texts of integers count channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from .assembly import Routine
from .levels import HEAD_WORDS

BYTES = 4


@dataclass(frozen=True, eq=False)
class Floats:
    """A layer with weights [outputs, taps]."""

    rows: numpy.ndarray
    bias: numpy.ndarray
    limits: tuple[float, float]

    def of(self, channels: numpy.ndarray) -> Floats:
        """Returns the layer with these outputs, in this order."""
        return Floats(self.rows[channels], self.bias[channels], self.limits)

    @property
    def rounding(self) -> str:
        """Returns "limited", or "free" if there is no limit."""
        return "limited" if numpy.isfinite(self.limits).any() else "free"

    def words(self) -> numpy.ndarray:
        """Returns the constants."""
        head = numpy.zeros(HEAD_WORDS)
        head[1:3] = self.limits
        return numpy.concatenate([head, self.bias]).astype(numpy.float32).view(numpy.int32)


def emit_float_head(code: Routine) -> None:
    """Loads the limits; {numbers} then points to the first bias."""
    code("flw {lowest}, 4({numbers})")
    code("flw {highest}, 8({numbers})")
    code(f"addi {{numbers}}, {{numbers}}, {BYTES * HEAD_WORDS}")


def emit_limits(code: Routine, values: Sequence[str]) -> None:
    """Limits vectors; what is no number stays. Changes v0."""
    for name in values:
        for compared, limit in (("vmflt", "{lowest}"), ("vmfgt", "{highest}")):
            code(f"{compared}.vf v0, {name}, {limit}")
            code(f"vfmerge.vfm {name}, {name}, {limit}, v0")


def emit_float_length(code: Routine, registers: int) -> None:
    """Sets as many values as {left} bytes hold, or a vector of them; {length} are their bytes."""
    code(f"srli {{length}}, {{left}}, {BYTES // 2}")
    code(f"vsetvli {{length}}, {{length}}, e32, m{registers}, ta, ma")
    code(f"slli {{length}}, {{length}}, {BYTES // 2}")
