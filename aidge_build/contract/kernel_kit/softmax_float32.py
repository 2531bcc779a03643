# SPDX-License-Identifier: MIT
"""float32 softmax along one axis in any storage order, or over several of a row-major tensor: what kernels have in common."""

from __future__ import annotations

from typing import ClassVar

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_functions import Function, exponential_of_shifted
from aidge_build.contract.kernel_kit.float_layers import SoftmaxRows
from aidge_build.contract.kernel_kit.float_steps import FPU, FloatUnit
from aidge_build.contract.kernel_kit.rows import logical_axes, rows_of


class SoftmaxFloat32(ElementWise):
    """A row is read before it is written. A subclass states its function, its file, and what it computes at once."""

    function: ClassVar[str]
    source: ClassVar[str]
    of_neighbours, of_others = "1 value", "1 value"
    unit: ClassVar[FloatUnit] = FPU
    lanes: ClassVar[int] = 1  # of the sum of a row of neighbours
    exponentials: ClassVar[tuple[Function, Function]] = (exponential_of_shifted, exponential_of_shifted)  # neighbours, others

    def call(self) -> Call:
        outer, length, inner = rows_of(self.operator, self.outputs[0])
        lanes = self.lanes if inner == 1 else 1
        axes = logical_axes(self.operator, self.outputs[0].rank)
        return Call(
            self.function,
            (self.source,),
            (Input(0), Output(0), Literal(outer), Literal(length), Literal(inner)),
            facts=computed(self.of_neighbours if inner == 1 else self.of_others),
            steps=SoftmaxRows(self.unit, axes, self.exponentials[inner != 1], lanes),
        )
