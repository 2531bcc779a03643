# SPDX-License-Identifier: MIT
"""int8 convolution in groups: each group is a dense layer between some of the channels of a pixel, whose outputs lie apart.

Vectors that reach into the channels of the next group multiply them by 0. Where a group has few channels, the windows of one
group at a time are laid out side by side first: this is also how a depthwise layer with several outputs per channel is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.backend.spec import NodeView, Predicate
from aidge_build.export.call import Call
from aidge_build.export.following import Steps
from aidge_build.export.linear import LinearConstants, linear_constants
from aidge_build.export.node import kernel

from .assembly import c_function, loop
from .conditions import NARROW, linear_spec
from .conv2d_int8 import MOST_TAPS, PIXELS, SCRATCH_BYTES, Driver, Plan, PlannedConvolution, instructions_of
from .geometry import Geometry, geometry_of
from .patches import Patches
from .product import LANES, Product
from .staging import Staging
from .stream import product_stream

MOST_PIECES = 256  # of a window, each copied by two instructions of their own
LARGEST_WINDOW = 4096  # bytes of a group's window that are copied; four windows are in scratch


def _one_group(view: NodeView) -> str:
    return "" if view.operator.groups > 1 else "one group"


def _large_window(view: NodeView) -> str:
    shape = geometry_of(view.inputs[0], view.outputs[0], view.operator.window)
    windows = _windows(shape, view.operator.groups)
    fits = shape.kernel_width <= MOST_TAPS or _are_small(windows)
    return "" if fits else f"a window of {shape.kernel_height} x {shape.kernel_width} taps"


SEVERAL_GROUPS = Predicate("more than one group", _one_group)
SMALL_WINDOW = Predicate(f"at most {MOST_TAPS} taps in a row, or a window of few bytes", _large_window)


@dataclass(frozen=True)
class GroupedPlan(Plan):
    """How a convolution is computed, one group after the other: of all pixels, or of those of one output row. `product` and
    `patches` are those of one group."""

    groups: int = 1

    @property
    def channels(self) -> int:
        """Of the input, in one group."""
        return self.geometry.channels // self.groups

    @property
    def whole_blocks(self) -> int:
        masked = min(self.pixels, -(-(-self.channels % LANES) // self.geometry.channels))
        return (self.pixels - masked) // PIXELS

    @property
    def crosses_rows(self) -> bool:
        return False

    @property
    def steps(self) -> Steps:
        """None of a pointwise layer: every group passes over the whole input."""
        return [] if self.geometry.is_pointwise else super().steps


def _windows(shape: Geometry, groups: int) -> Patches:
    """The windows of a group, in copies of the rows."""
    return Patches(shape.stride_width * shape.channels, shape.kernel_height, Staging.of(shape).row_bytes, shape.kernel_width,
                   shape.dilation_width * shape.channels, shape.channels // groups)


def _are_small(windows: Patches) -> bool:
    return windows.instructions <= 2 * MOST_PIECES and windows.bytes <= LARGEST_WINDOW


def plan_of(shape: Geometry, groups: int, clamps: bool) -> GroupedPlan:
    """The plan with the fewest instructions, by estimate."""
    channels, outputs = shape.channels // groups, shape.outputs // groups
    form = Product(PIXELS, shape.stride_width * shape.channels, shape.kernel_height,
                   shape.dilation_height * shape.in_width * shape.channels, shape.kernel_width,
                   shape.dilation_width * shape.channels, -(-channels // LANES), outputs, clamps=clamps,
                   gap=shape.outputs - outputs)
    if shape.is_pointwise:
        return GroupedPlan(shape, form, groups=groups)
    plans, staging, patches = [], Staging.of(shape), _windows(shape, groups)
    if shape.kernel_width <= MOST_TAPS and shape.stays_inside and channels % LANES == 0:
        plans.append(GroupedPlan(shape, form, groups=groups))
    elif shape.kernel_width <= MOST_TAPS:
        in_copies = replace(form, row_step=staging.row_bytes, aligned=channels % 4 == 0)
        plans.append(GroupedPlan(shape, in_copies, staging, groups=groups))
    if _are_small(patches):
        patch = patches.vectors * LANES
        side_by_side = replace(form, pixel_step=patch, rows=1, row_step=patch, taps=1, tap_step=patch, vectors=patches.vectors,
                               aligned=True)
        room = max(PIXELS, (SCRATCH_BYTES - staging.bytes - LANES) // patch // PIXELS * PIXELS)
        plans.append(GroupedPlan(shape, side_by_side, staging, patches, min(room, shape.out_width), groups))
    return min(plans, key=_cost)


def _cost(plan: GroupedPlan) -> float:
    """Instructions of a block of pixels and a pair of channels, nearly."""
    return instructions_of(plan.product) + (PIXELS * plan.patches.instructions / plan.product.pairs if plan.patches else 0)


@kernel(("Conv1D", "Conv2D"), linear_spec("channels_last", NARROW, SEVERAL_GROUPS, SMALL_WINDOW))
class Conv2dGroupedInt8(PlannedConvolution):
    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool) -> GroupedPlan:
        return plan_of(shape, groups, clamps)

    def call(self) -> Call:
        plan = self.plan(self.view)
        shape = plan.geometry
        taps = numpy.moveaxis(self.inputs[1].data, 1, -1)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], taps.reshape(shape.outputs, -1))
        return GroupedDriver(plan).call(_streams(plan, numbers))


def _streams(plan: GroupedPlan, numbers: LinearConstants) -> numpy.ndarray:
    """A stream of each group, one behind the other."""
    form, outputs = plan.product, plan.product.channels
    streams = []
    for first in range(0, plan.geometry.outputs, outputs):
        part = slice(first, first + outputs)
        of_group = replace(numbers, weights=numbers.weights[part], bias=numbers.bias[part], multipliers=numbers.multipliers[part])
        streams.append(product_stream(form, of_group.weights.reshape(outputs, form.rows, form.taps, -1), of_group))
    return numpy.concatenate(streams)


class GroupedDriver(Driver):
    """The C function that runs a plan calls, for each group, another one for the pixels of a row or of all rows."""

    plan: GroupedPlan

    @property
    def name(self) -> str:
        return super().name.replace("_conv_", f"_conv_groups_{self.plan.groups}_", 1)

    @property
    def note(self) -> str:
        return f"{self.plan.groups} groups one after the other, {super().note}"

    def _pointwise(self) -> list[str]:
        whole = self.plan.whole_blocks
        masked = replace(self.plan.product, tail=self.plan.channels % LANES)
        return self._groups_of([*self._blocks(self.plan.product, "x", "y", 0, whole),
                                *self._pixels(masked, "x", "y", whole * PIXELS, self.plan.pixels)], "x")

    def _row(self, source: str) -> list[str]:
        return self._groups_of(super()._row("x"), source)

    def _groups_of(self, pixels: list[str], source: str) -> list[str]:
        """A loop over the groups, which calls a function for the `pixels` of one; those of the first begin at `source`."""
        plan, name = self.plan, f"{self.name}_of_group"
        windows = (", int8_t *windows", ", windows") if plan.patches else ("", "")
        self.functions[name] = c_function(name, f"const int8_t *x, int8_t *y, const int8_t *stream{windows[0]}", pixels)
        call = (f"{name}({source} + part * {plan.channels}, y + part * {plan.product.channels}, "
                f"stream + part * {plan.product.stream_bytes}{windows[1]});")
        return ["{", "    int32_t part;", *(f"    {line}" for line in loop("part", plan.groups, [call])), "}"]
