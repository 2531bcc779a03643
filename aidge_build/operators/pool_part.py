# SPDX-License-Identifier: MIT
"""Pools over the whole map that take in their input part by part (`Operator.part`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.bands import ROWS, can_be_read_by_rows, resized
from aidge_build.operators.base import Band, Operator, require


@dataclass(frozen=True)
class PoolPart(Operator):
    """The rows `[first, last)` of the `rows` of a map, which the pool `whole` reduces to one position.

    The first part forgets what was before, the last one writes the output; in between kernels keep what they have taken in.
    Only cascades make it: by itself it has no meaning in numpy, all parts together mean `whole`.
    """

    whole: Operator = Operator()
    rows: int = 1
    first: int = 0
    last: int = 1

    @property
    def type(self) -> str:
        return f"{self.whole.type}Part"

    @property
    def hands_on(self) -> bool:
        return self.whole.hands_on

    @property
    def is_first(self) -> bool:
        """Whether nothing was taken in before."""
        return self.first == 0

    @property
    def is_last(self) -> bool:
        """Whether the output is complete after it."""
        return self.last == self.rows

    def infer(self, inputs):
        (data,) = inputs
        count = self.last - self.first
        require(data.dims[ROWS] == count, f"the part has {data.dims[ROWS]} rows, wants {count}")
        return self.whole.infer((data.with_(dims=resized(data.dims, self.rows)),))

    def forward(self, data):
        raise AidgeError("a part of a pool cannot be computed by itself", code="OPERATOR")

    def rounds(self, inputs, outputs):
        return self.whole.rounds(inputs, outputs)


def part_of_map(
    operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int
) -> Band | None:
    """The part of a pool with one input and one output; None unless it reduces all of one image to one position."""
    data, (output,) = inputs[0], outputs
    window = getattr(operator, "window", None)
    covers = window is None or window.kernel == data.dims[ROWS:] and not window.has_pads
    if not covers or not can_be_read_by_rows(data) or data.dims[0] != 1 or set(output.dims[ROWS:]) != {1}:
        return None
    return Band(PoolPart(operator, data.dims[ROWS], first, last), ((first, last),))
