# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: two rows are blended to a line of 16 bits, then neighbours in the line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import TAPS, Axes, lanes, levels_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.resampling import Shares, multiplier

from .conditions import MVE
from .resample_lines_text import Form, resample_text

MOST = 255  # of a denominator: products with int8 fit 16 bits
SHORT = 8  # elements that lie side by side: fewer are gathered, with a table for each output of a row
HALFWORDS = 1 << 15


@dataclass(frozen=True)
class Plan:
    """rows, columns: shares of an axis, None where there is none; `run` elements lie side by side, `width` of them in a row."""

    images: int
    rows: Shares | None
    columns: Shares | None
    width: int
    run: int
    step: int
    row_stride: int
    form: Form

    @property
    def gathers(self) -> bool:
        """Whether neighbours are gathered."""
        return self.run < SHORT


def _unfit(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    for order in target.orders:
        axes = Axes.of(source, target, shares, order)
        if not 1 <= len(axes.resized) <= 2 or any(not _is_linear(shares[axis]) for axis in axes.resized):
            return f"it is not linear along two neighbouring axes with denominators of at most {MOST}"
        if _row_elements(source, axes) >= HALFWORDS * 2:
            return "rows are longer than offsets of 16 bits reach"
    return ""


def _is_linear(one: Shares) -> bool:
    if one.shares.shape[1] > TAPS or one.shares.min() < 0 or one.indices.min() < 0 or one.whole > MOST:
        return False
    low, high = one.indices.min(axis=1), one.indices.max(axis=1)
    return bool((high - low <= 1).all())


def _row_elements(source: Tensor, axes: Axes) -> int:
    return math.prod(source.dims[axis] for axis in (*axes.resized[-1:], *axes.run))


def plan_of(view: NodeView) -> Plan:
    """What is resized, and how sums become levels."""
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    axes = Axes.of(source, target, shares, target.orders[0])
    run = math.prod(target.dims[axis] for axis in axes.run)
    column_axis = axes.resized[-1]
    rows = axes.resized[0] if len(axes.resized) == 2 else None
    images = math.prod(target.dims[axis] for axis in axes.images)
    step = math.prod(source.dims[axis] for axis in (*axes.resized, *axes.run))
    form = _form(shares, axes, source, target)
    if rows is None and run >= SHORT:  # long runs: the axis is that of the rows
        return Plan(images, shares[column_axis], None, 1, run, step, run, form)
    width = source.dims[column_axis]
    return Plan(images, None if rows is None else shares[rows], shares[column_axis], width, run, step, width * run, form)


def _form(shares: tuple[Shares, ...], axes: Axes, source: Tensor, target: Tensor) -> Form:
    whole = math.prod(one.whole for one in shares)
    found = levels_of(shares, source, target) if lanes(shares, axes.resized) else None
    if found is not None and found.ties:
        start = found.start - (128 << found.shift) + (found.ties >> 1)
        return Form("even", found.shift, bool(found.ties >> 1), 128 * whole, 0, start)
    if found is not None:
        return Form("scaled", found.shift, False, 128 * whole, found.multiplier, found.start)
    factor = multiplier(shares, float(source.quantization.scale), float(target.quantization.scale))
    centre, bits = source.quantization.zero_point, int(numpy.array([factor]).view(numpy.int32)[0])
    is_narrow = whole * max(128 + centre, 127 - centre) < HALFWORDS
    return Form("float" if is_narrow else "wide", 0, False, -centre * whole, bits, target.quantization.zero_point)


@kernel("Resize", resample_spec(Predicate("linear along two axes, in lines of 16 bits", _unfit), features=MVE))
class ResampleLinesInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plan = plan_of(view)
        return Demands(scratch_bytes=2 * plan.width * plan.run, bands=False)  # the tables follow from the rows

    def call(self) -> Call:
        plan = plan_of(self.view)
        columns = 1 if plan.columns is None else len(plan.columns.shares)
        rows = numpy.array([[0, 1, 0, 0]]) if plan.rows is None else _table(plan.rows, plan.row_stride)
        shape = {
            "images": plan.images,
            "step": plan.step,
            "rows": len(rows),
            "count": plan.width * plan.run,
            "outputs": columns * plan.run,
        }
        name, texts = resample_text(plan.form, plan.gathers, columns * plan.run if plan.gathers else plan.run)
        return Call(
            name,
            ("resample_lines.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("rows", rows.ravel().astype(numpy.int32)),
                *self._columns(plan, columns),
                Struct("aidge_helium_lines_shape", shape),
            ),
            texts=texts,
            facts=computed("4 values" if plan.form.kind == "wide" else "8 values", 0),
        )

    def _columns(self, plan: Plan, columns: int) -> tuple[Argument, ...]:
        """Where neighbours lie and their shares, and the numbers that the text reads."""
        form, whole = plan.form, 1 if plan.columns is None else plan.columns.whole
        if plan.gathers:
            assert plan.columns is not None
            table, distance = _places(plan.columns, plan.width, plan.run), 2 * plan.run * (plan.width > 1)
            numbers = (columns * plan.run, distance, form.added, form.multiplier, form.start, whole)
        else:
            given = numpy.array([[0, 1, 0, 0]]) if plan.columns is None else _table(plan.columns, 2 * plan.run)
            table = given.astype(numpy.int32).ravel()
            numbers = (columns, plan.run, form.added, form.multiplier, form.start, whole)
        return Constant("columns", table), Constant("numbers", numpy.array(numbers, numpy.int32))


def _pairs(one: Shares, size: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """For each output index the first of two neighbours, and the share of the second."""
    first = numpy.minimum(one.indices.min(axis=1), max(0, size - 2))
    second = numpy.where(one.indices > first[:, None], one.shares, 0).sum(axis=1)
    return first, second


def _table(one: Shares, stride: int) -> numpy.ndarray:
    """{offset, share, offset, share} of each output index."""
    first, second = _pairs(one, int(one.indices.max()) + 1)
    following = numpy.where(second > 0, first + 1, first)
    return numpy.stack([first * stride, one.whole - second, following * stride, second], axis=1)


def _places(one: Shares, width: int, run: int) -> numpy.ndarray:
    """Of each element of an output row: where its first neighbour lies in the line, then the shares of all second ones."""
    first, second = _pairs(one, width)
    places = (first[:, None] * run + numpy.arange(run)).ravel().astype("<u2")
    shares = numpy.repeat(second, run).astype(numpy.uint8)
    shares = numpy.pad(shares, (0, len(shares) % 2))
    return numpy.concatenate([places, shares.view("<u2")])
