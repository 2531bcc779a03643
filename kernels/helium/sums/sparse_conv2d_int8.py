# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes without the blocks of weights that are 0: windows are laid out in scratch."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.conditions import NARROW, linear_spec
from ..core.finer import numbers_of
from ..core.geometry import Geometry, of_band
from ..core.rounding import fixed_of, rounds_by_addition
from ..core.sparse import too_many_blocks, vectors_of
from .conv2d_int8 import FEW_DILATED_TAPS, ONE_GROUP, PlannedConvolution
from .driver import Driver
from .plan import Plan
from .plan_choice import laid_out, plan_of
from .plan_cost import instructions_of_call
from .stream import product_stream

GATHERED = 1.4  # how much longer an instruction takes where each word of a vector has a place of its own


def _does_not_pay(view: NodeView) -> str:
    rows = taps_last_channels(view.inputs[1].data)
    if reason := too_many_blocks(view, rows):
        return reason
    sparse = SparseConv2dInt8.plan(view)
    dense = plan_of(sparse.geometry, sparse.product.clamps, False)
    costs = [instructions_of_call(plan, plan.geometry.out_height) for plan in (sparse, dense)]
    return "" if GATHERED * costs[0] < costs[1] else f"about {costs[0]:,} instructions instead of {costs[1]:,}"


FEW_BLOCKS = Predicate("so few blocks of weights that are not 0 that leaving out the others pays", _does_not_pay)


@kernel(("Conv1D", "Conv2D"), linear_spec("channels_last", NARROW, ONE_GROUP, FEW_DILATED_TAPS, FEW_BLOCKS))
class SparseConv2dInt8(PlannedConvolution):
    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool, offsets: bool) -> Plan:
        return laid_out(shape, clamps)

    @classmethod
    def plan(cls, view: NodeView) -> Plan:
        plan, rows = super().plan(view), taps_last_channels(view.inputs[1].data)
        left = -(-2 * sum(map(vectors_of, rows)) // len(rows))
        return replace(plan, product=replace(plan.product, left=left))

    @staticmethod
    def instructions_of(plan: Plan, rows: int) -> int:
        return instructions_of_call(plan, rows)

    def call(self) -> Call:
        plan, rows = self.plan(self.view), taps_last_channels(self.inputs[1].data)
        numbers, _ = numbers_of(self, rows)
        is_even = plan.product.channels % 2 == 0
        form = replace(plan.product, adds=is_even and rounds_by_addition(numbers), fixed=fixed_of(numbers))
        windows = numpy.asarray(rows).reshape(len(rows), form.rows, form.taps, -1)
        return Driver(replace(plan, product=form), of_band(self.view)).call(product_stream(form, windows, numbers))
