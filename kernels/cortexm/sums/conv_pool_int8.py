# SPDX-License-Identifier: MIT
"""int8 convolution with the 2x2 max pool after it: sums of neighbouring pixels are compared before they are requantized, and the
convolution's output is never in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.following import following, row_steps
from aidge_build.contract.kernel_kit.members import members
from aidge_build.contract.kernel_kit.window2d import is_pointwise
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.node_view import BandedLayer
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.pool import MaxPooling
from aidge_build.operators.window import Window

from ..core.assembly import Routine
from ..core.conditions import FEATURES, GROUP
from .conv2d_lines_int8 import Conv2dLinesInt8
from .conv2d_planes_int8 import Conv2dPlanesInt8
from .stream import Stream
from .window import line_buffer, plane_buffer, plane_of_view

DATA = IOSpec(DType.int8, CHANNELS_LAST)
POOL = ImplSpec((DATA,), (DATA,), (SAME_QUANTIZATION,))


class _Planes(Conv2dPlanesInt8):
    def stream(self, order: list[int], blocks: Sequence[int] = (), places: Sequence[int] = ()) -> Stream:
        return replace(super().stream(order, blocks, places), pools=True)


class _Lines(Conv2dLinesInt8):
    def stream(self, order: list[int], blocks: Sequence[int] = (), places: Sequence[int] = ()) -> Stream:
        return replace(super().stream(order, blocks, places), pools=True)


def _convolution(view: NodeView) -> NodeView:
    """The convolution without a last row and column that no window of the pool sees."""
    convolution, _ = members(view)
    (output,) = convolution.outputs
    even = output.with_(dims=(*output.dims[:2], *(size - size % 2 for size in output.dims[2:])))
    layer = view.layer and BandedLayer(_convolution(view.layer.whole), 2 * view.layer.rows, 2 * view.layer.fewest)
    return replace(convolution, outputs=(even,), layer=layer)


def _class_of(convolution: NodeView) -> type[_Planes | _Lines]:
    return _Lines if _rejection(_Planes.kernel_spec, convolution) else _Planes


def _rejection(spec: ImplSpec, view: NodeView) -> str:
    return spec.rejection(view, view.features, spec.rounding)


def _refusal(view: NodeView) -> str:
    (_, pool), convolution = members(view), _convolution(view)
    if pool.operator != MaxPooling(window=Window((2, 2), (2, 2), (1, 1), (0, 0), (0, 0))):
        return "the pool is not 2x2 with strides of 2"
    if is_pointwise(convolution.operator.window) or convolution.outputs[0].dims[1] % GROUP:
        return "a pointwise convolution, or channels that are no multiple of 4"
    return _rejection(POOL, pool) or _rejection(_class_of(convolution).kernel_spec, convolution)


SPEC = ImplSpec(
    (DATA, IOSpec()),
    (DATA,),
    (Predicate("a convolution that is no pointwise one, and a 2x2 max pool", _refusal),),
    features=FEATURES,
    rounding="any",
)


@kernel("ConvPool", SPEC, "Conv2D->MaxPooling2D")
class ConvPoolInt8(KernelNode):
    assembly = "needed"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """The scratch of the convolution, and half a row; the output may follow the input as rows of both are done."""
        convolution = _convolution(view)
        is_lines = _class_of(convolution) is _Lines
        plane = plane_of_view(convolution, is_upright=is_lines)
        buffer = line_buffer(plane) if is_lines else plane_buffer(plane)
        (height, width), steps = plane.out_size, ()
        if buffer.tile >= width:
            rows = [(line + 2, line * plane.strides[0] - plane.pads[0] + buffer.rows) for line in range(0, height, 2)]
            row_bytes = plane.in_size[1] * plane.in_channels, width * plane.out_channels // 4
            steps = row_steps(plane.batches, plane.in_size[0], height, row_bytes, rows)
        scratch_bytes = _class_of(convolution).demands(convolution).scratch_bytes + buffer.tile // 2 * plane.out_channels
        return following(steps, view.outputs[0], scratch_bytes)

    def call(self) -> Call:
        convolution = _convolution(self.view)
        call = _class_of(convolution)(convolution).call()
        return replace(call, texts=(_keep_larger(), *call.texts))


def _keep_larger() -> str:
    code = Routine()
    code("%enter")
    code.label("word")
    code("ldr %value, [%values]")
    code("ldr %other, [%others], #4")
    code("ssub8 %difference, %value, %other")
    code("sel %value, %value, %other")
    code("str %value, [%values], #4")
    code("subs %count, %count, #4")
    code("bne %word")
    code("%leave")
    parameters = "int8_t *values, const int8_t *others, int32_t count"
    return code.function("aidge_cortexm_keep_larger", parameters, "The larger one of each two values.", "")
