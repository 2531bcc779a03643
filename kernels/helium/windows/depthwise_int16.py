# SPDX-License-Identifier: MIT
"""Depthwise convolutions of int16 data with int8 weights, 8 channels of a pixel at a time.

Two multiplications give the products of even and of odd channels in words. The stream holds for each group of 8 channels the
biases of even and of odd ones, their multipliers, and of each tap 8 weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, NodeView, Predicate

from ..core.assembly import Assembler, function
from ..sums.linear_int16 import int16_spec
from ..sums.sums_int16 import LANES, Levels, requantize

HEAD_BYTES = 64  # of a group: biases and multipliers
PARAMETERS = "const int16_t *x, const int8_t *stream, int16_t *y, const aidge_helium_patch_int16 *patch"


def _offset(view: NodeView) -> str:
    point = view.inputs[0].quantization.zero_point
    return f"the data's zero point is {point}, wants 0: it comes off no sum here" if point else ""


@dataclass(frozen=True)
class Pixel:
    """The routine for all channels of a pixel: whole groups if `has_groups`, then `rest` channels."""

    taps: int
    has_groups: bool
    rest: int
    levels: Levels

    @property
    def group_bytes(self) -> int:
        return HEAD_BYTES + LANES * self.taps

    @property
    def name(self) -> str:
        kind = "_8s" * self.has_groups + (f"_{self.rest}" if self.rest else "")
        return f"aidge_helium_depthwise_int16_{self.taps}{kind}{self.levels.name}"

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            "The channels of a pixel of a depthwise layer of int16.",
            PARAMETERS,
            self._lines(),
        )

    def _lines(self):
        emit = Assembler()
        emit("%enter", "ldm %patch, {%taps_step, %groups, %rows, %columns, %step, %row_step, %weights_row_step}")
        if self.has_groups:
            emit.label("group")
            self._group(emit, "")
            emit("vstrh.16 %q.even, [%y], #16", "add %x, %x, #16", "subs %groups, %groups, #1", "bne %group")
        if self.rest:
            emit(f"movs %rest, #{self.rest}", "vctp.16 %rest", "vmov.i32 %q.data, #0", why="predicated loads read it")
            self._group(emit, "t")
            emit("vpst", "vstrht.16 %q.even, [%y]")
        emit("%leave")
        return emit.lines

    def _group(self, emit: Assembler, then: str) -> None:
        """The levels of 8 channels in %q.even; with `then`, of the lanes of a predicate."""
        emit("vldrw.u32 %q.even, [%stream]", "vldrw.u32 %q.odd, [%stream, #16]", why="biases")
        emit("add %taps, %stream, %taps_step", "mov %data, %x", "movs %left, %rows", f"beq %summed{then}")
        emit.label(f"row{then}")
        emit("dls lr, %columns", why="a row of taps")
        emit.label(f"tap{then}")
        emit(*["vpst"] * bool(then), f"vldrh{then}.u16 %q.data, [%data]", "vldrb.s16 %q.weights, [%taps], #8")
        emit("add %data, %data, %step", "vmullb.s16 %q.product, %q.data, %q.weights")
        emit("vmullt.s16 %q.data, %q.data, %q.weights", "vadd.i32 %q.even, %q.even, %q.product")
        emit("vadd.i32 %q.odd, %q.odd, %q.data", f"le lr, %tap{then}")
        emit("add %data, %data, %row_step", "add %taps, %taps, %weights_row_step", "subs %left, %left, #1", f"bne %row{then}")
        emit.label(f"summed{then}")
        emit("vldrw.u32 %q.factors, [%stream, #32]", "vldrw.u32 %q.odd_factors, [%stream, #48]", why="multipliers")
        requantize(emit, ("%q.even", "%q.odd"), ("%q.factors", "%q.odd_factors"), self.levels)
        emit("vqmovnb.s32 %q.even, %q.even", "vqmovnt.s32 %q.even, %q.odd")
        self.levels.clamp(emit, ["%q.even"])
        emit.add("%stream", "%stream", self.group_bytes)

    def stream(self, rows: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """`rows` [channels, taps]."""
        channels = -(-len(rows) // LANES) * LANES
        bias, factors = numpy.zeros(channels, "<i4"), numpy.zeros(channels, "<f4")
        weights = numpy.zeros((channels, self.taps), numpy.int8)
        bias[: len(rows)], factors[: len(rows)], weights[: len(rows)] = numbers.plain_bias, numbers.multipliers, rows
        parts = []
        for first in range(0, channels, LANES):
            words = [part[first + start : first + LANES : 2] for part in (bias, factors) for start in (0, 1)]
            parts += [word.view(numpy.int8) for word in map(numpy.ascontiguousarray, words)]
            parts.append(weights[first : first + LANES].T.reshape(-1))
        return numpy.concatenate(parts)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), int16_spec(CHANNELS_LAST, Predicate("the data's zero point is 0", _offset)))
class DepthwiseInt16(KernelNode):
    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        pixel = Pixel(rows.shape[1], len(rows) >= LANES, len(rows) % LANES, Levels.of(numbers))
        name = pixel.name.replace("depthwise", "image", 1)
        return Call(
            name,
            ("windows/depthwise_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", pixel.stream(rows, numbers)),
                window2d(self.inputs[0], self.outputs[0], self.operator.window),
            ),
            texts=(pixel.text(), _DRIVER.format(name=name, function=pixel.name)),
            facts=computed(f"1 pixel x {LANES} channels"),
        )


_DRIVER = """/* A depthwise layer of int16, pixel by pixel. */
static void {name}(const int16_t *input, int16_t *output, const int8_t *stream, const aidge_kit_window2d *shape)
{{
    int32_t batch, y, x;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
            for (x = 0; x < shape->out_width; x++) {{
                aidge_helium_patch_int16 patch;
                const int16_t *const from = input + aidge_helium_see_int16(&patch, y, x, shape);
                {function}(from, stream, output, &patch);
                output += shape->in_channels;
            }}
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
