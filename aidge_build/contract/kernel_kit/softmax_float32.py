# SPDX-License-Identifier: MIT
"""float32 softmax along one axis in any storage order, or over several of a row-major tensor: what kernels have in common."""

from __future__ import annotations

from typing import ClassVar

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.rows import rows_of


class SoftmaxFloat32(ElementWise):
    """A row is read before it is written. A subclass states its function, its file, and what it computes at once."""

    function: ClassVar[str]
    source: ClassVar[str]
    of_neighbours, of_others = "1 value", "1 value"

    def call(self) -> Call:
        outer, length, inner = rows_of(self.operator, self.outputs[0])
        return Call(
            self.function,
            (self.source,),
            (Input(0), Output(0), Literal(outer), Literal(length), Literal(inner)),
            facts=computed(self.of_neighbours if inner == 1 else self.of_others),
        )
