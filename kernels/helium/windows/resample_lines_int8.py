# SPDX-License-Identifier: MIT
"""int8 Resize along one axis or two neighbouring ones with up to four taps each, as linear and cubic resizing have them.

The rows that an output row sees are added up to a line of sums, then neighbours in the line: sums of whole shares are exact in
any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import Axes, Even, sums_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.format import Format
from aidge_build.operators.resampling import Shares

from ..core.conditions import MVE
from .resample_lines_text import Form, resample_text

TAPS = 4
SHORT = {True: 8, False: 4}  # elements of a run: fewer are gathered; of at most two taps, of more
MAGNITUDE = 128  # of an element
HALFWORDS = 1 << 15
MOST_SHIFT = 8  # of sums that fit halfwords
ALONE = Shares(numpy.zeros((1, 1), numpy.int64), numpy.ones((1, 1), numpy.int64), 1)


@dataclass(frozen=True)
class Plan:
    """Shares of rows and of the columns in a row, `width` columns of `run` adjacent elements; `gathers`: neighbours are gathered,
    with a table for each element of an output row."""

    images: int
    rows: Shares
    columns: Shares
    width: int
    run: int
    gathers: bool

    @classmethod
    def of(cls, view: NodeView, order: Format) -> Plan | None:
        """The plan in this storage order; None if other axes are resized. A single axis with long runs is the rows' axis."""
        (source,), (target,) = view.inputs, view.outputs
        shares = view.operator.in_integers(source, target)
        axes = Axes.of(source, target, shares, order)
        chosen = [shares[axis] for axis in axes.resized]
        if not 1 <= len(chosen) <= 2 or any(one.shares.shape[1] > TAPS or one.indices.min() < 0 for one in chosen):
            return None
        images, run = (math.prod(source.dims[axis] for axis in some) for some in (axes.images, axes.run))
        gathers = run < SHORT[chosen[-1].shares.shape[1] <= 2]
        if len(chosen) == 1 and not gathers:
            return cls(images, chosen[0], ALONE, 1, run, False)
        return cls(images, *[ALONE, *chosen][-2:], source.dims[axes.resized[-1]], run, gathers)

    @property
    def count(self) -> int:
        """Elements of a row of the source."""
        return self.width * self.run

    @property
    def outputs(self) -> int:
        """Elements of a row of outputs."""
        return len(self.columns.shares) * self.run

    @property
    def line_bytes(self) -> int:
        """Bytes of an element of the line."""
        return 2 if self.rows.largest * MAGNITUDE < HALFWORDS else 4


def _unfit(view: NodeView) -> str:
    for order in view.outputs[0].orders:
        plan = Plan.of(view, order)
        if plan is None:
            return f"it has not one axis or two neighbouring ones with up to {TAPS} taps inside"
        if plan.gathers and max(plan.count // 2, plan.columns.largest) >= HALFWORDS:
            return "places or shares of columns need more than 16 bits"
    return ""


def plan_of(view: NodeView) -> Plan:
    """The plan of a layer whose storage order is known, or of the first possible order."""
    plan = Plan.of(view, view.outputs[0].orders[0])
    assert plan is not None
    return plan


@kernel("Resize", resample_spec(Predicate(f"up to {TAPS} taps along two neighbouring axes", _unfit), features=MVE))
class ResampleLinesInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plan = plan_of(view)
        return Demands(scratch_bytes=plan.line_bytes * plan.count, bands=False)  # the tables follow from the rows

    def call(self) -> Call:
        plan = plan_of(self.view)
        form, numbers = self._form(plan)
        shape = {
            "images": plan.images,
            "step": self.inputs[0].elements // plan.images,
            "rows": len(plan.rows.shares),
            "count": plan.count,
            "outputs": plan.outputs,
        }
        columns = _places(plan, form) if plan.gathers else _table(plan.columns, plan.line_bytes * plan.run)
        name, texts = resample_text(form)
        return Call(
            name,
            ("windows/resample_lines.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("rows", _table(plan.rows, plan.count)),
                Constant("columns", columns),
                Constant("numbers", numpy.array(numbers, numpy.int32)),
                Struct("aidge_helium_lines_shape", shape),
            ),
            texts=texts,
            facts=computed(f"{form.lanes // 4} values", 0),
        )

    def _form(self, plan: Plan) -> tuple[Form, list[int]]:
        """How sums are added up and become quantized values, and the numbers that the text reads."""
        (source,), (target,) = self.inputs, self.outputs
        factor, start, _ = sums_of(self.view)
        even, centre = Even.of_means(self.view), source.quantization.zero_point
        is_even = (
            even is not None
            and plan.line_bytes == 2
            and even.shift <= MOST_SHIFT
            and min(plan.rows.shares.min(), plan.columns.shares.min()) >= 0
        )
        largest = plan.rows.largest * plan.columns.largest * max(MAGNITUDE + centre, MAGNITUDE - 1 - centre)
        # Floats of an odd number of halfwords would end in the middle of a vector's lane.
        is_narrow = plan.line_bytes == 2 and largest < HALFWORDS and (plan.outputs if plan.gathers else plan.run) % 2 == 0
        taps = _windows(plan)[1].shape[1] if plan.gathers else plan.columns.shares.shape[1]
        form = Form(
            gathers=plan.gathers,
            rows=plan.rows.shares.shape[1],
            columns=taps,
            line=8 * plan.line_bytes,
            lanes=16 if is_even or is_narrow else 32,
            shift=even.shift if is_even else 0,
            is_turned=is_even and even.is_turned,
        )
        counts = [plan.outputs, plan.line_bytes * plan.run] if plan.gathers else [len(plan.columns.shares), plan.run]
        bits = int(numpy.array([factor]).view(numpy.int32)[0])
        return form, [*counts, even.start if is_even else start, bits, target.quantization.zero_point]


def _table(one: Shares, stride: int) -> numpy.ndarray:
    """The offsets of its taps and their shares, for each output index."""
    return numpy.concatenate([one.indices * stride, one.shares], axis=1).astype(numpy.int32).ravel()


def _windows(plan: Plan) -> tuple[numpy.ndarray, numpy.ndarray]:
    """For each output column the first of neighbouring columns [outputs], and the shares of all of them [outputs, taps]."""
    one = plan.columns
    size = min(plan.width, int((one.indices.max(axis=1) - one.indices.min(axis=1)).max()) + 1)
    first = numpy.minimum(one.indices.min(axis=1), plan.width - size)
    shares = numpy.zeros((len(first), size), numpy.int64)
    numpy.add.at(shares, (numpy.arange(len(first))[:, None], one.indices - first[:, None]), one.shares)
    return first, shares


def _places(plan: Plan, form: Form) -> numpy.ndarray:
    """For each vector of elements of an output row: the places of their first neighbours in the line, then the shares of these
    and of each further neighbour."""
    first, shares = _windows(plan)
    places = (first[:, None] * plan.run + numpy.arange(plan.run)).reshape(-1, 1)
    both = numpy.concatenate([places, numpy.repeat(shares, plan.run, axis=0)], axis=1)
    size = 128 // form.lanes
    both = numpy.pad(both, ((0, -len(both) % size), (0, 0))).reshape(-1, size, both.shape[1])
    return both.transpose(0, 2, 1).astype("<u2").view("<i2").ravel()
