# SPDX-License-Identifier: MIT
"""int8 convolution in groups: each group is a dense layer between some of the channels of a pixel, whose outputs lie apart.

Vectors that reach into the channels of the next group multiply them by 0; so narrow groups may be computed as one. If a
group has few channels, the windows of one group at a time are laid out side by side first: this is also how a depthwise layer
with several outputs per channel is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.following import Steps
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.assembly import c_function, loop
from ..core.conditions import NARROW, linear_spec
from ..core.finer import coarse, numbers_of, offsets_of
from ..core.geometry import Geometry, geometry_of, of_band
from ..core.patches import Patches
from ..core.rounding import fixed_of, rounds_by_addition
from ..core.staging import Staging
from .conv2d_int8 import PlannedConvolution
from .driver import PARAMETERS, Driver
from .plan import MOST_TAPS, PIXELS, SCRATCH_BYTES, Plan, instructions_of
from .product import LANES, Product
from .stream import product_stream

MOST_PIECES = 256  # of a window, each copied by two instructions of their own
PART = 64  # pixels of a pointwise layer
WIDEST_MERGED = 16  # channels of groups that are computed as one, with weights of 0 between them
CALL = 60  # instructions of a call for one group
LARGEST_WINDOW = 4096  # bytes of a group's window that are copied; four windows are in scratch


def _one_group(view: NodeView) -> str:
    return "" if view.operator.groups > 1 else "one group"


def _large_window(view: NodeView) -> str:
    shape = geometry_of(view)
    windows = _windows(shape, view.operator.groups)
    fits = shape.kernel_width <= MOST_TAPS or _are_small(windows)
    return "" if fits else f"a window of {shape.kernel_height} x {shape.kernel_width} taps"


SEVERAL_GROUPS = Predicate("more than one group", _one_group)
SMALL_WINDOW = Predicate(f"at most {MOST_TAPS} taps in a row, or a window of few bytes", _large_window)


@dataclass(frozen=True)
class GroupedPlan(Plan):
    """How a convolution is computed, one group after the other: of all pixels, or of those of one output row. `product` and
    `patches` are those of one of `groups`, each of which may hold several narrow groups of the layer."""

    groups: int = 1
    is_ring = False  # groups begin at different places of the rows

    @property
    def channels(self) -> int:
        """The channels of the input in one group."""
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
        if not self.geometry.is_pointwise or self.geometry.bands:
            return super().steps
        return [(end * self.geometry.outputs, first * self.geometry.channels) for first, end in self.parts]

    @property
    def parts(self) -> list[tuple[int, int]]:
        """(First, end) of the pixels that pass through all groups before the next ones, of a pointwise layer."""
        count = max(1, self.whole_blocks * PIXELS // PART)
        ends = [*range(0, count * PART, PART), self.pixels]
        return list(zip(ends, ends[1:]))


def _windows(shape: Geometry, groups: int) -> Patches:
    """The windows of a group, in copies of the rows."""
    return Patches(
        shape.stride_width * shape.channels,
        shape.kernel_height,
        Staging.of(shape).row_bytes,
        shape.kernel_width,
        shape.dilation_width * shape.channels,
        shape.channels // groups,
    )


def _are_small(windows: Patches) -> bool:
    return windows.instructions <= 2 * MOST_PIECES and windows.bytes <= LARGEST_WINDOW


def plan_of(shape: Geometry, groups: int, clamps: bool, offsets: bool) -> GroupedPlan:
    """The plan with the fewest instructions, by estimate; of equal ones that with the smallest weights. Groups whose weights lack
    `offsets` are not computed as one: each has window sums of its own."""
    merged = [groups // together for together in range(1, groups + 1) if groups % together == 0]
    plans = [
        plan
        for count in merged
        for plan in _plans(shape, count, clamps, offsets)
        if count == groups or (shape.channels // count <= WIDEST_MERGED and not offsets)
    ]
    return min(plans, key=_cost)


def _plans(shape: Geometry, groups: int, clamps: bool, offsets: bool) -> list[GroupedPlan]:
    channels, outputs = shape.channels // groups, shape.outputs // groups
    form = Product(
        PIXELS,
        shape.stride_width * shape.channels,
        shape.kernel_height,
        shape.dilation_height * shape.in_width * shape.channels,
        shape.kernel_width,
        shape.dilation_width * shape.channels,
        -(-channels // LANES),
        outputs,
        clamps=clamps,
        gap=shape.outputs - outputs,
        offsets=offsets,
    )
    if shape.is_pointwise:
        return [GroupedPlan(shape, form, groups=groups)]
    plans, staging, patches = [], Staging.of(shape), _windows(shape, groups)
    if shape.kernel_width <= MOST_TAPS and shape.stays_inside and channels % LANES == 0:
        plans.append(GroupedPlan(shape, form, groups=groups))
    elif shape.kernel_width <= MOST_TAPS:
        in_copies = replace(form, row_step=staging.row_bytes, aligned=channels % 4 == 0)
        plans.append(GroupedPlan(shape, in_copies, staging, groups=groups))
    if _are_small(patches):
        patch = patches.vectors * LANES
        side_by_side = replace(
            form, pixel_step=patch, rows=1, row_step=patch, taps=1, tap_step=patch, vectors=patches.vectors, aligned=True
        )
        room = max(PIXELS, (SCRATCH_BYTES - staging.bytes - LANES) // patch // PIXELS * PIXELS)
        plans.append(GroupedPlan(shape, side_by_side, staging, patches, min(room, shape.out_width), groups=groups))
    return plans


def _cost(plan: GroupedPlan) -> tuple[int, int]:
    """Instructions of a row of all groups, nearly, and the bytes of their weights."""
    form, width = plan.product, plan.pixels if plan.geometry.is_pointwise else plan.geometry.out_width
    copies = plan.patches.instructions * width if plan.patches else 0
    return plan.groups * (
        CALL + copies + -(-width // PIXELS) * form.pairs * instructions_of(form)
    ), plan.groups * form.stream_bytes


@kernel(("Conv1D", "Conv2D"), linear_spec("channels_last", NARROW, SEVERAL_GROUPS, SMALL_WINDOW))
class Conv2dGroupedInt8(PlannedConvolution):
    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool, offsets: bool) -> GroupedPlan:
        return plan_of(shape, groups, clamps, offsets)

    def call(self) -> Call:
        plan = self.plan(self.view)
        shape = plan.geometry
        taps = numpy.moveaxis(self.inputs[1].data, 1, -1)
        numbers, bits = numbers_of(self, taps.reshape(shape.outputs, -1))
        windows = coarse(taps).reshape(shape.outputs, shape.kernel_height * shape.kernel_width, -1)
        form = replace(
            plan.product,
            adds=plan.product.channels % 2 == 0 and rounds_by_addition(numbers, bits),
            bits=bits,
            fixed=fixed_of(numbers, bits),
        )
        plan = replace(plan, product=form)
        return GroupedDriver(plan, of_band(self.view)).call(_streams(plan, numbers, windows, offsets_of(numbers.weights)))


def _streams(plan: GroupedPlan, numbers: LinearConstants, taps: numpy.ndarray, offsets: numpy.ndarray) -> numpy.ndarray:
    """A stream of each group of the plan, one behind the other; `taps` [outputs, taps, channels of a group of the layer]."""
    form, count = plan.product, plan.product.channels
    streams = []
    for first in range(0, plan.geometry.outputs, count):
        part = slice(first, first + count)
        of_group = replace(
            numbers, weights=numbers.weights[part], bias=numbers.bias[part], requantization=numbers.requantization.of(part)
        )
        windows = _spread(taps[part], plan.channels // taps.shape[2])
        windows = windows.reshape(count, form.rows, form.taps, -1)
        streams.append(product_stream(form, windows, of_group, offsets=offsets[part]))
    return numpy.concatenate(streams)


def _spread(taps: numpy.ndarray, groups: int) -> numpy.ndarray:
    """Taps [outputs, taps, channels] of so many groups over the channels of all, with 0 for those of the others."""
    outputs, count, channels = taps.shape
    spread = numpy.zeros((groups, outputs // groups, count, groups, channels), taps.dtype)
    for group, own in enumerate(taps.reshape(groups, -1, count, channels)):
        spread[group, :, :, group] = own
    return spread.reshape(outputs, count, -1)


class GroupedDriver(Driver):
    """The C function that runs a plan calls, for each group, another one for the pixels of a row or of all rows."""

    plan: GroupedPlan

    @property
    def name(self) -> str:
        return super().name.replace("_conv_", f"_conv_groups_{self.plan.groups}_", 1)

    @property
    def note(self) -> str:
        return f"{self.plan.groups} groups one after the other, {super().note}"

    def _pixels_of_image(self) -> list[str]:
        form, first = self.plan.product, self.plan.parts[-1][0]
        alike, whole = first // PART, self.plan.whole_blocks - first // PIXELS
        masked = replace(form, tail=self.plan.channels % LANES)
        rest = [
            *self._blocks(form, "x", "y", 0, whole),
            *self._pixels(masked, "x", "y", whole * PIXELS, self.plan.pixels - first),
        ]
        moves = [f"x += {PART * self.shape.channels};", f"y += {PART * self.shape.outputs};"]
        part = [*self._groups_of(self._blocks(form, "x", "y", 0, PART // PIXELS), "x", "part"), *moves] if alike else []
        return [*(["int32_t part;", *loop("part", alike, part)] if alike else []), *self._groups_of(rest, "x")]

    def _row(self, source: str) -> list[str]:
        return self._groups_of(super()._row("x"), source)

    def _groups_of(self, pixels: list[str], source: str, of: str = "all") -> list[str]:
        """A loop over the groups, which calls a function for the `pixels` of one; those of the first begin at `source`."""
        plan, name = self.plan, f"{self.name}_group_of_{of}"
        windows = (", int8_t *windows", ", windows") if plan.patches else ("", "")
        self.functions[name] = c_function(name, f"{PARAMETERS}{windows[0]}", pixels)
        call = (
            f"{name}({source} + group * {plan.channels}, y + group * {plan.product.channels}, "
            f"stream + group * {plan.product.stream_bytes}{windows[1]}{self.further});"
        )
        return ["{", "    int32_t group;", *(f"    {line}" for line in loop("group", plan.groups, [call])), "}"]
