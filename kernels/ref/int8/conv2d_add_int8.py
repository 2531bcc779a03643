# SPDX-License-Identifier: MIT
"""int8 convolution with the residual Add behind it: one value after the other, both requantizations as they are by themselves."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.residual import RESIDUAL, RESIDUAL_TYPE, residual_condition, residual_convolution
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.packing import blocked
from .add_int8 import AddInt8
from .conv2d_int8 import PIXELS, Conv2dInt8, convolution_overlap
from .linear_int8 import linear_spec


def _wide(view: NodeView) -> str:
    return "" if AddInt8(residual_convolution(view).addition).total().is_narrow else "the sum needs int64"


DATA = IOSpec(DType.int8, CHANNELS_LAST)
SPEC = ImplSpec(
    (DATA, DATA, IOSpec()),
    (DATA,),
    (residual_condition(linear_spec(weights=DType.int8), BINARY_INT8), Predicate("int32 holds the sum", _wide)),
)


@kernel(RESIDUAL_TYPE, SPEC, RESIDUAL)
class Conv2dAddInt8(KernelNode):
    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        """The instructions of the convolution alone."""
        return Conv2dInt8.takes_per_mac(residual_convolution(view).convolution, is_narrow)

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """The output takes the residual's place, or follows the input as that of the convolution alone."""
        found, (output,) = residual_convolution(view), view.outputs
        has_blocks = Conv2dInt8(found.convolution).has_blocks
        overlap = convolution_overlap(found.convolution, has_blocks).overlap
        if found.residual == 0:  # which is then read up to the pixel that is written
            return Demands(
                overlap=tuple((index, max(lead, (PIXELS if has_blocks else 1) * output.dims[1])) for index, lead in overlap)
            )
        return Demands(in_place=(found.residual,), overlap=overlap)

    def call(self) -> Call:
        found = residual_convolution(self.view)
        convolution, addition = Conv2dInt8(found.convolution), AddInt8(found.addition)
        rows = taps_last_channels(convolution.inputs[1].data)
        window, groups = convolution.operator.window, convolution.operator.groups
        function, arguments = convolution.arguments("aidge_ref_conv2d_add_int8", rows, blocked(rows, groups), True)
        total = addition.total()
        factors = (total.first, total.second) if found.convolved == 0 else (total.second, total.first)
        sums = numpy.array([*factors, total.offset, total.shift, *addition.bounds()], numpy.int32)
        shape = window2d(convolution.inputs[0], self.outputs[0], window, groups)
        return Call(
            function,
            ("int8/conv2d_add_int8.h",),
            (Input(0), Input(found.residual), Output(0), *arguments[2:], Constant("sum", sums), shape),
            note="the sum in integers is proved equal on all 65,536 pairs of values",
        )
