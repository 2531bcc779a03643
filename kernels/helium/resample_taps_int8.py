# SPDX-License-Identifier: MIT
"""int8 Resize along one axis or two neighbouring ones with up to four taps each, as cubic has them.

Rows are added up to a line of sums, then neighbours in the line: sums of whole shares are exact in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import Axes
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.resampling import Shares, multiplier

from .conditions import MVE

TAPS, LANES = 4, 4
SHORT = 4  # elements that lie side by side: fewer are gathered, with a table for each output of a row
HALFWORDS = 1 << 15
ALONE = Shares(numpy.zeros((1, 1), numpy.int64), numpy.ones((1, 1), numpy.int64), 1)


@dataclass(frozen=True)
class Plan:
    """Shares of rows and of the columns in a row, `width` columns of `run` elements that lie side by side."""

    images: int
    rows: Shares
    columns: Shares
    width: int
    run: int

    @classmethod
    def of(cls, source: Tensor, axes: Axes, shares: tuple[Shares, ...]) -> Plan:
        """One axis alone is that of the rows where many elements lie side by side."""
        images, run = (math.prod(source.dims[axis] for axis in some) for some in (axes.images, axes.run))
        if len(axes.resized) == 1 and run >= SHORT:
            return cls(images, shares[axes.resized[0]], ALONE, 1, run)
        *above, last = axes.resized
        return cls(images, shares[above[0]] if above else ALONE, shares[last], source.dims[last], run)

    @property
    def gathers(self) -> bool:
        """Whether neighbours are gathered."""
        return self.run < SHORT

    @property
    def count(self) -> int:
        """Elements of a row of the source."""
        return self.width * self.run


def _unfit(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    for order in target.orders:
        axes = Axes.of(source, target, shares, order)
        chosen = [shares[axis] for axis in axes.resized]
        if not 1 <= len(chosen) <= 2 or any(one.shares.shape[1] > TAPS or one.indices.min() < 0 for one in chosen):
            return f"it has not one axis or two neighbouring ones with up to {TAPS} taps inside"
        plan = Plan.of(source, axes, shares)
        if plan.gathers and max(plan.count // 2, plan.columns.largest) >= HALFWORDS:
            return "places or shares of columns need more than 16 bits"
    return ""


def plan_of(view: NodeView) -> Plan:
    """What is resized."""
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    return Plan.of(source, Axes.of(source, target, shares, target.orders[0]), shares)


@kernel("Resize", resample_spec(Predicate(f"up to {TAPS} taps along two neighbouring axes", _unfit), features=MVE))
class ResampleTapsInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * plan_of(view).count, bands=False)  # the tables follow from the rows

    def call(self) -> Call:
        (source,), plan = self.inputs, plan_of(self.view)
        shape = {
            "images": plan.images,
            "step": source.elements // plan.images,
            "rows": len(plan.rows.shares),
            "count": plan.count,
            "outputs": len(plan.columns.shares) * plan.run,
        }
        table = _places(plan.columns, plan.run) if plan.gathers else _table(plan.columns, 4 * plan.run)
        return Call(
            f"aidge_helium_resample_{'gathered_taps' if plan.gathers else 'runs_of_taps'}",
            ("resample_taps.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("rows", _table(plan.rows, plan.count)),
                Constant("columns", table),
                self._numbers(plan),
                Struct("aidge_helium_taps_shape", shape),
            ),
            facts=computed("4 values", 0),
        )

    def _numbers(self, plan: Plan) -> Constant:
        (source,), (target,) = self.inputs, self.outputs
        shares = self.operator.in_integers(source, target)
        factor = multiplier(shares, float(source.quantization.scale), float(target.quantization.scale))
        columns = len(plan.columns.shares) * (plan.run if plan.gathers else 1)
        start = -source.quantization.zero_point * math.prod(one.whole for one in shares)
        bits = int(numpy.array([factor]).view(numpy.int32)[0])
        numbers = [columns, start, bits, target.quantization.zero_point, plan.run, -(-plan.run % LANES)]
        return Constant("numbers", numpy.array(numbers, numpy.int32))


def _padded(one: Shares) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Indices and shares of four taps; those that are missing have no share."""
    missing = ((0, 0), (0, TAPS - one.shares.shape[1]))
    return numpy.pad(one.indices, missing, mode="edge"), numpy.pad(one.shares, missing)


def _table(one: Shares, stride: int) -> numpy.ndarray:
    """{four offsets, four shares} of each output index."""
    indices, shares = _padded(one)
    return numpy.concatenate([indices * stride, shares], axis=1).astype(numpy.int32).ravel()


def _places(one: Shares, run: int) -> numpy.ndarray:
    """For each four elements of an output row and each tap: four places in the line, four shares."""
    indices, shares = _padded(one)
    places = (indices[:, None] * run + numpy.arange(run)[:, None]).reshape(-1, TAPS)
    both = numpy.stack([places, numpy.repeat(shares, run, axis=0)], axis=2)  # [element, tap, 2]
    both = numpy.pad(both, ((0, -len(both) % LANES), (0, 0), (0, 0))).reshape(-1, LANES, TAPS, 2)
    return both.transpose(0, 2, 3, 1).astype("<u2").view("<i2").ravel()
