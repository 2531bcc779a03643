# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.near_halves import near_is_exact

from ..core.conditions import Loop, has_fpu, linear_spec
from ..sums.stream import otherwise
from .depthwise import block, texts
from .depthwise_integers import channel_scales, integers_of
from .depthwise_layout import (
    FIXED_HEAD_WORDS,
    NARROW_SCALE,
    Depthwise,
    layer_of,
    pack,
    struct,
)
from .depthwise_levels import Form

FEWEST_CHANNELS = 16  # whose weights are more than the text that unpacks them
MOST_NARROW_WORDS = 64  # of weights, which are unpacked without a loop


def _pay(view: NodeView, layer: Depthwise, wider: Depthwise) -> bool:
    """Whether bytes, which each band unpacks anew, cost little beside what they save of the `wider` layer's, and no memory that
    no other layer needs. Little: unpacked once in an inference, or with less than an instruction for each byte saved."""
    bands = -(-layer.plane.out_size[0] // layer.band) * layer.plane.batches
    saved = 4 * layer.weight_words - layer.taps
    if view.layer or layer.band < wider.band or (bands > 1 and bands * layer.unpacking > saved):
        return False
    return layer.scratch_bytes <= wider.scratch_bytes or _is_small(view, layer)


def _is_small(view: NodeView, layer: Depthwise) -> bool:
    """Whether the tensors and the scratch of this layer are smaller than the largest tensor of the graph."""
    if view.graph is None:
        return False
    needed = view.inputs[0].size_bytes + view.outputs[0].size_bytes + layer.scratch_bytes
    return needed <= max(tensor.size_bytes for tensor in view.graph.tensors.values() if not tensor.is_constant)


def _are_bytes(rows: numpy.ndarray, scales: numpy.ndarray, is_scaled: numpy.ndarray) -> bool:
    """Whether the text can make the weights from bytes: NARROW_SCALE times as large in channels that are `is_scaled`."""
    fits = rows.min(initial=0) >= -128 and rows.max(initial=0) <= 127
    return bool(fits and (scales == numpy.where(is_scaled, NARROW_SCALE, 1)).all())


NEAR = Predicate("strides of at most 2, columns not dilated, near rows", lambda view: layer_of(view).unfit)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(NEAR))
class DepthwiseInt8(LinearNode):
    assembly = "needed"
    together = Loop(108, {"speed": 14, "balanced": 6, "compact": 2, "size": 1})  # over pairs of outputs

    @classmethod
    def layer(cls, view: NodeView) -> Depthwise:
        """The geometry; with weights as bytes where they may be."""
        wider, layer = layer_of(view), layer_of(view, are_bytes=True)
        plane = layer.plane
        is_one_pixel = plane.made_for == (1, 1)  # no other one shares what unpacking takes
        if plane.in_channels < FEWEST_CHANNELS or layer.weight_words > MOST_NARROW_WORDS or view.objective == "speed":
            return wider
        if view.objective != "size" and is_one_pixel:
            return wider
        return layer if view.objective != "balanced" or not has_fpu(view) or _pay(view, layer, wider) else wider

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        layer = cls.layer(view)
        return Demands(scratch_bytes=layer.scratch_bytes, in_place=(0,) if layer.works_in_place else ())

    def call(self) -> Call:
        layer, linear = self.layer(self.view), self.linear(taps_last_channels(self.inputs[1].data))
        fpu = has_fpu(self.view)
        integers, is_fixed = integers_of(linear, fpu), linear.fixed_form() is not None
        if (
            is_fixed and not linear.is_any and int(integers.is_proved.sum()) < len(linear.rows) // 2
        ):  # a text for both is the longer one
            integers = integers.without()
        is_proved, proved = integers.is_proved, int(integers.is_proved.sum())
        has_others = proved < len(linear.rows) or linear.is_any
        in_float, has_fixed = fpu and not is_fixed, is_fixed and has_others
        is_doubled = has_fixed and not layer.are_bytes and int(numpy.abs(linear.rows).max(initial=0)) < 1 << 14
        scales = channel_scales(linear, integers, in_float, is_doubled)
        layer = replace(
            layer,
            are_bytes=layer.are_bytes and _are_bytes(linear.rows, scales, is_proved | in_float),
            head_words=FIXED_HEAD_WORDS if has_fixed else layer.head_words,
            is_doubled=is_doubled,
        )
        stream = pack(linear, layer, integers, in_float)
        largest = scales * linear.largest + scales - 1
        is_near = (
            is_fixed
            or not linear.is_any
            and bool(near_is_exact(linear.factors / scales.astype(numpy.float32), largest)[~is_proved].all())
        )
        form = Form(
            integers.shift,
            integers.limits,
            has_integers=proved > 0 or linear.is_any,
            has_floats=has_others,
            together=self.together.steps(self.view),
            has_fpu=fpu,
            is_near=is_near,
            are_bytes=layer.are_bytes,
            is_fixed=is_fixed,
            is_doubled=layer.is_doubled,
            has_ends=integers.has_ends,
            is_even=integers.is_even,
        )
        function, functions = texts(layer, form)
        return Call(
            function,
            ("windows/depthwise.h",),
            (Input(0), Output(0), Constant("stream", stream), Scratch(), struct(layer, len(stream))),
            note=f"requantization of {proved} of {len(linear.rows)} channels proved in integers, of the others in "
            f"{otherwise(fpu, is_near, 'twice' * is_fixed)}",
            texts=functions,
            facts=computed(block(layer, form), proved, len(linear.rows), "channel", "fixed point" if is_fixed else "float"),
        )
