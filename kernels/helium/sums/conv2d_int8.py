# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.boards.cores import OVERLAPPING
from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.requantize import clamp_levels

from ..core.conditions import NARROW, linear_spec
from ..core.finer import coarse, has_offsets, numbers_of, offsets_of
from ..core.geometry import Geometry, geometry_of, of_band
from ..core.packed import SIGNS, Packing, bits_of_weights, of_pairs
from ..core.rounding import FusedForm, fixed_of, fused_numbers, integer_multipliers, rounds_by_addition
from ..values.joined import can_join
from .driver import Driver
from .plan import PIXELS, Plan
from .plan_choice import plan_of
from .plan_cost import instructions_of_call
from .product import LANES, Product
from .stationary import Stationary
from .stream import product_stream

DEAREST = 1 / 8  # of an instruction that a byte of constants may cost by default
FEWEST_JOINED = 24  # channels of a layer whose joined numbers save more bytes than they add to its text
LEAST_SAVED = 1500  # instructions that pay for the text of both roundings


def _grouped(view: NodeView) -> str:
    return f"{view.operator.groups} groups" if view.operator.groups != 1 else ""


def _wide_and_dilated(view: NodeView) -> str:
    shape = geometry_of(view)
    if shape.dilation_width > 1 and shape.kernel_width * shape.kernel_height > 64:
        return f"a dilated kernel of {shape.kernel_height} x {shape.kernel_width} taps"
    return ""


ONE_GROUP = Predicate("one group", _grouped)
FEW_DILATED_TAPS = Predicate("a dilated kernel has at most 64 taps", _wide_and_dilated)


class PlannedConvolution(KernelNode):
    """Base: an output that follows the input as the plan says."""

    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool, offsets: bool) -> Plan:
        raise NotImplementedError

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plan = cls.plan(view)
        found = following(plan.steps, view.outputs[0], plan.scratch_bytes)
        return replace(found, instructions=cls.instructions_of(plan, of_band(view).out_height))

    @staticmethod
    def instructions_of(plan: Plan, rows: int) -> int:
        """The instructions of a call for so many rows of the output, nearly; 0: unknown."""
        return 0

    @classmethod
    def plan(cls, view: NodeView) -> Plan:
        (output,) = view.outputs
        levels = clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype)
        shape = geometry_of(view)
        return cls.plan_of(shape, view.operator.groups, levels != output.dtype.range, has_offsets(view))


def rounded(plan: Plan, numbers: LinearConstants, bits: int) -> tuple[Product, FusedForm | None]:
    """The plan's product with the quickest rounding that is proved, and the numbers of fused multiplications. Weights of two
    vectors leave no register to the multipliers of these: all pairs are fused, or some have integers."""
    form, is_even = plan.product, plan.product.channels % 2 == 0
    form = replace(form, adds=is_even and rounds_by_addition(numbers, bits), bits=bits, fixed=fixed_of(numbers, bits))
    if not is_even or not plan.is_stationary:
        return form, None
    fused = fused_numbers(numbers, bits)
    pairs = fused.is_proved.reshape(-1, 2).all(axis=1)
    if numbers.is_any:  # how many are proved depends on the weights
        is_worth = form.vectors == 1 and form.adds and plan.saved_by_fusing * len(pairs) > LEAST_SAVED
        return (replace(form, fused=True, mixed=True), fused) if is_worth else (form, None)
    if pairs.all():
        return replace(form, fused=True, fixed=None), fused
    if form.vectors == 1 and form.adds and plan.saved_by_fusing * pairs.sum() > LEAST_SAVED:
        return replace(form, fused=True, mixed=True), fused
    return form, None


def _by_shift(plan: Plan, form: Product, numbers: LinearConstants) -> tuple[int, numpy.ndarray | None]:
    """The shift and the multipliers of integers; 0 and None where they pay for no second text of the levels."""
    stays = plan.is_stationary
    if not form.adds or form.fused or form.counted or not (form.beside or stays) or stays != Stationary.fits(form):
        return 0, None
    shift, integers = integer_multipliers(numbers, form.bits)
    pairs = numpy.ones(form.pairs, bool) if numbers.is_any else integers.reshape(-1, 2).all(axis=1)
    count = int(pairs[:-1].sum())
    pays = plan.saved_by_fusing * count > LEAST_SAVED if stays else not numbers.is_any and plan.pays_by_shift(count)
    return (shift, integers) if shift and pays else (0, None)


def _pays(view: NodeView, plan: Plan, form: Product) -> bool:
    """Whether the last vectors of weights are shorter in the stream: each time that a pair loads them is an instruction more, of
    every block of pixels, or of every pass of pixels by weights that stay in registers."""
    if form.taps > 1 or view.objective == "speed":
        return False
    shape = plan.geometry
    rows, row = (1, plan.pixels) if shape.is_pointwise else (shape.batches * shape.out_height, shape.out_width)
    loads = rows if plan.is_stationary else rows * -(-row // PIXELS)
    saved = 2 * (LANES - form.last) if form.last else 0
    return view.objective == "size" or DEAREST * saved >= loads * shape.times


def _packing(view: NodeView, form: Product) -> Packing | None:
    """How the weights of two channels share bytes."""
    if not view.packs_weights:
        return None
    weights = coarse(view.inputs[1].data)
    if bits_of_weights(view, weights) == 1:
        return Packing(1, SIGNS, weights[0].size // (form.rows * form.taps) - LANES * (form.vectors - 1))
    return of_pairs(view, weights, form.rows * form.taps * form.vectors)


@kernel(("Conv1D", "Conv2D"), linear_spec("channels_last", NARROW, ONE_GROUP, FEW_DILATED_TAPS))
class Conv2dInt8(PlannedConvolution):
    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool, offsets: bool) -> Plan:
        return plan_of(shape, clamps, offsets)

    @classmethod
    def plan(cls, view: NodeView) -> Plan:
        plan = super().plan(view)
        return replace(plan, product=replace(plan.product, packed=_packing(view, plan.product)))

    @staticmethod
    def instructions_of(plan: Plan, rows: int) -> int:
        return instructions_of_call(plan, rows)

    def call(self) -> Call:
        plan = self.plan(self.view)
        shape, form = plan.geometry, plan.product
        weights = self.inputs[1].data
        taps = numpy.moveaxis(weights, 1, -1).reshape(shape.outputs, shape.kernel_height, shape.kernel_width, shape.channels)
        numbers, bits = numbers_of(self, taps.reshape(shape.outputs, -1))
        form, fused = rounded(plan, numbers, bits)
        counted = self.view.objective == "size" and shape.outputs % 2 == 0 and not form.fused
        form = replace(form, counted=counted, joined=counted and shape.outputs >= FEWEST_JOINED and can_join(numbers, form.fixed))
        windows = coarse(taps.transpose(0, 2, 1, 3) if plan.columns else taps).reshape(shape.outputs, form.rows, form.taps, -1)
        form = form if form.has_signs else form.with_last(windows.shape[3])
        form = form if _pays(self.view, plan, form) else replace(form, last=0)
        overlaps = OVERLAPPING in self.view.features and self.view.objective != "size"
        form = replace(form, beside=overlaps and plan.pays_beside(form, plan.blocks_at_once))
        shift, integers = _by_shift(plan, form, numbers)
        form = replace(form, shift=shift)
        stream = product_stream(form, windows, numbers, fused, offsets_of(numbers.weights), integers)
        return Driver(replace(plan, product=form), of_band(self.view)).call(stream)
