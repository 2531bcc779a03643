# SPDX-License-Identifier: MIT
"""float32 transposed convolution over one or two axes: outputs that lie a stride apart are a convolution of their own.

Output p + stride * t of an axis sees the taps k with (p + pad - k) divisible by the stride, last to first, at inputs that move
on by one with t. So the outputs of each phase p are those of a convolution with stride 1 and a part of the taps.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.kernel_kit.linear_float32 import LinearFloat32, limits, linear_float_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.assembly import c_function, loop
from ..core.conditions import MVE
from .conv2d_float32 import most_pixels, pixels_lines
from .real import is_limited
from .strip import GROUP, SLACK, Strip, stream_of

MOST_PHASES = 64


def _unusual(view: NodeView) -> str:
    operator = view.operator
    if operator.groups != 1:
        return f"{operator.groups} groups"
    if set(operator.dilations) != {1}:
        return f"dilations {operator.dilations}"
    if any(taps < stride for taps, stride in zip(operator.kernel, operator.strides)):
        return f"a kernel {operator.kernel} with strides {operator.strides}: some outputs see no input"
    phases = int(numpy.prod(operator.strides))
    return f"{phases} phases, at most {MOST_PHASES}" if phases > MOST_PHASES else ""


PLAIN = Predicate("one group, no dilation, strides within the kernel", _unusual)


@dataclass(frozen=True)
class Phase:
    """Outputs `first`, first + stride and so on of one axis, `count` of them; `taps` in the order of their inputs."""

    first: int
    count: int
    taps: tuple[int, ...]
    pad: int


def phases_of(size: int, taps: int, stride: int, pad: int) -> list[Phase]:
    """The phases of an axis with `size` outputs."""
    found = []
    for first in range(min(stride, size)):
        lowest = (first + pad) % stride
        seen = tuple(reversed(range(lowest, taps, stride)))
        found.append(Phase(first, -(-(size - first) // stride), seen, len(seen) - 1 - (first + pad - lowest) // stride))
    return found


@kernel(("ConvTranspose1D", "ConvTranspose2D"), linear_float_spec(MVE, PLAIN))
class ConvTransposeFloat32(LinearFloat32):
    def bias(self) -> numpy.ndarray:
        given = self.inputs[2] if len(self.inputs) > 2 else None
        return numpy.zeros(self.inputs[1].dims[1], numpy.float32) if given is None else given.data.astype(numpy.float32)

    def call(self) -> Call:
        data, (output,), operator = self.inputs[0], self.outputs, self.operator
        axes = list(zip(output.dims[2:], operator.kernel, operator.strides, operator.pads_begin))
        axes = [(1, 1, 1, 0)] * (2 - len(axes)) + axes
        in_height, in_width = (1,) * (4 - data.rank) + data.dims[2:]
        weights = numpy.asarray(self.inputs[1].data, numpy.float32).reshape(*self.inputs[1].dims[:2], axes[0][1], axes[1][1])
        (height, _, down, _), (width, _, across, _) = axes
        outputs, bias, parts, shapes, places = weights.shape[1], self.bias(), [], [], []
        for row, column in itertools.product(*(phases_of(*axis) for axis in axes)):
            taps = weights[:, :, list(row.taps)][..., list(column.taps)]
            places.append(((row.first * width + column.first) * outputs, sum(part.size for part in parts)))
            parts.append(stream_of(taps.transpose(1, 2, 3, 0).reshape(outputs, -1), bias))
            sizes = (1, in_height, in_width, data.dims[1], row.count, column.count, outputs)
            shapes.append((*sizes, len(row.taps), len(column.taps), 1, 1, 1, 1, row.pad, column.pad, 1))
        strips = [Strip.of(pixels, outputs, False, is_limited(operator)) for pixels in range(1, most_pixels(self.view) + 1)]
        name = f"aidge_helium_convtranspose_float32_{len(strips)}x{strips[0].suffix}"
        for sizes in (data.dims, output.dims, operator.kernel, operator.strides, operator.pads_begin):
            name += f"_{'x'.join(map(str, sizes))}"
        image = in_height * in_width * data.dims[1]
        steps = (image, height * width * outputs, down * width * outputs, across * outputs)
        return Call(
            name,
            ("float32/conv2d.h",),
            (Input(0), Output(0), Constant("stream", numpy.concatenate([*parts, SLACK])), limits(operator)),
            texts=(*(strip.text() for strip in strips), _driver(name, strips, data.dims[0], steps, shapes, places)),
            facts=computed(f"{len(strips)} pixels x {min(GROUP, outputs)} channels"),
        )


def _driver(name: str, strips: list[Strip], batches: int, steps: tuple[int, ...], shapes: list, places: list) -> str:
    """The C function around the assembly; `steps` in values: of an image, of its output, of an output row, of an output."""
    image, result, row_step, pixel_step = steps
    calls = pixels_lines(strips, ("target", "stream + places[phase][1]"))
    columns = [
        f"pixels = aidge_helium_next_strip_float32(&strip, x, row, column, {len(strips)}, 0, shape);",
        *calls,
        f"target += pixels * {pixel_step};",
    ]
    rows = [
        f"float *target = y + places[phase][0] + row * {row_step};",
        "for (column = 0; column < shape->out_width; column += pixels) {",
        *(f"    {line}" for line in columns),
        "}",
    ]
    phase = [
        "const aidge_kit_window2d *const shape = &phases[phase];",
        f"aidge_helium_strips_float32(&strip, limits, {pixel_step} - shape->out_channels, shape);",
        *loop("row", "shape->out_height", rows),
    ]
    body = [
        "static const aidge_kit_window2d phases[] = {",
        *(f"    {{{', '.join(map(str, shape))}}}," for shape in shapes),
        "};",
        "static const int32_t places[][2] = {",
        *(f"    {{{first}, {numbers}}}," for first, numbers in places),
        "};",
        "aidge_helium_strip_float32 strip;",
        "int32_t batch, phase, row, column, pixels;",
        *loop("batch", batches, [*loop("phase", len(shapes), phase), f"x += {image};", f"y += {result};"]),
    ]
    parameters = "const float *x, float *y, const float *stream, const float *limits"
    return "/* Transposed convolution of float32, phase by phase. */\n" + c_function(name, parameters, body)
