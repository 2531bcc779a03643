# SPDX-License-Identifier: MIT
"""ReduceMean of int8 and int16 tensors under the contract `double`, over any axes."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.average import SUM_FITS, mean_numbers
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, STORED_BYTES_OR_HALFWORDS
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

from ..any.reduce import merged_shape


def _places(view: NodeView) -> list[tuple[bool, int, int]]:
    """(reduced, size, step in the input) of each axis: those that stay in the output's storage order, slowest first."""
    (data,), (output,), operator = view.inputs, view.outputs, view.operator
    steps = data.layout.strides
    stay = range(data.rank) if operator.keep else [axis for axis in range(data.rank) if axis not in operator.axes]
    kept = [stay[axis] for axis in output.storage.order if stay[axis] not in operator.axes]
    reduced = sorted(operator.axes, key=lambda axis: -steps[axis])
    return [
        *((False, data.dims[axis], steps[axis]) for axis in kept),
        *((True, data.dims[axis], steps[axis]) for axis in reduced),
    ]


_SIDE = IOSpec(DType.any_1, SAME)
_PREDICATES = (
    STORED_BYTES_OR_HALFWORDS,
    ALL_QUANTIZED,
    SUM_FITS,
)


@kernel("ReduceMean", ImplSpec(_SIDE, predicates=_PREDICATES, rounding="double"))
class MeanDouble(KernelNode):
    def call(self) -> Call:
        (data,) = self.inputs
        return Call(
            "aidge_ref_mean_double",
            ("double/mean.h",),
            (
                Input(0),
                Output(0),
                mean_numbers(self.view),
                Literal(int(data.dtype is DType.int16)),
                Struct("aidge_ref_reduce_shape", merged_shape(_places(self.view))),
            ),
        )
