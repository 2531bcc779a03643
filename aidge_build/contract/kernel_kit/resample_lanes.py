# SPDX-License-Identifier: MIT
"""int8 Resize along two neighbouring axes, linear: two sums in a register, as halfwords without sign.

With x + 128 instead of x every sum of shares times values is below 2^16. Its quantized value is (sum * multiplier + start) >>
shift, computed for two halfwords at once if the multiplier is 1. The generator tries all possible sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Argument, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.resample import is_whole
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.format import Format
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.resampling import Shares, multiplier

LARGEST = 255  # x + 128
MOST = 65535 // LARGEST  # the product of the denominators
MOST_SHIFT = 8  # of two halfwords in a word; a mask separates their quantized values
TAPS = 2
_INT8 = (-128, 127)


@dataclass(frozen=True)
class Levels:
    """quantized value = (sum * multiplier + start) >> shift. `ties`: 1 or 3 if the multiplier is 1 and ties go to the even
    quantized value, told by bit `shift` of the sum (3: by the inverted bit); the results are then 128 too large. `clamps`:
    results may be beyond int8."""

    multiplier: int
    start: int
    shift: int
    ties: int
    clamps: bool


def lanes(shares: tuple[Shares, ...] | None, axes: tuple[int, ...], most: int = MOST) -> bool:
    """Whether these axes are linear: at most two taps each, no negative share, no tap outside, and a product of denominators of
    at most `most` (by default the sums fit halfwords)."""
    if shares is None:
        return False
    chosen = [shares[axis] for axis in axes]
    fits = all(one.shares.shape[1] <= TAPS and one.shares.min() >= 0 and one.indices.min() >= 0 for one in chosen)
    return fits and whole_of(shares) <= most


def whole_of(shares: tuple[Shares, ...]) -> int:
    """Returns the sum of the shares of an output."""
    return int(numpy.prod([one.whole for one in shares]))


def levels_of(shares: tuple[Shares, ...], source: Tensor, target: Tensor) -> Levels | None:
    """Returns the conversion of sums to quantized values; None if no such form gives all of them."""
    whole = whole_of(shares)
    sums = numpy.arange(LARGEST * whole + 1)
    centred = sums - (source.quantization.zero_point + 128) * whole
    factor = multiplier(shares, float(source.quantization.scale), float(target.quantization.scale))
    point = target.quantization.zero_point
    free = requantize(centred, factor, point, -(1 << 30), 1 << 30)
    clamps = bool(free.min() < _INT8[0] or free.max() > _INT8[1])
    wanted = numpy.clip(free, *_INT8)
    halves = _halves(sums, wanted, whole, source.quantization.zero_point, float(factor))
    return halves if halves and not clamps else _scaled(sums, wanted, float(factor), clamps)


def _halves(sums: numpy.ndarray, wanted: numpy.ndarray, whole: int, zero_point: int, factor: float) -> Levels | None:
    shift = whole.bit_length() - 1
    if whole != 1 << shift or not 1 <= shift <= MOST_SHIFT or factor != 1 / whole:
        return None
    ties = 3 if zero_point % 2 else 1
    halves = Levels(1, (whole >> 1) - 1, shift, ties, False)
    turned = (sums >> shift ^ ties >> 1) & 1
    return halves if numpy.array_equal(((sums + halves.start + turned) >> shift) - 128, wanted) else None


def _scaled(sums: numpy.ndarray, wanted: numpy.ndarray, factor: float, clamps: bool) -> Levels | None:
    """Returns the form with the first shift, finest first, for which a multiplier and a start give every quantized value."""
    inside = numpy.flatnonzero((wanted > _INT8[0]) & (wanted < _INT8[1]))
    if not len(inside):
        return None
    first = numpy.flatnonzero(numpy.diff(wanted, prepend=wanted[0] - 1))  # of each level
    for shift in range(30, 7, -1):
        product = round(factor * (1 << shift))
        if not 0 < product * int(sums[-1]) < 1 << 30:
            continue
        steps, level = first[1:], wanted[first[1:]]
        low = (level << shift) - steps * product
        high = (level << shift) - (steps - 1) * product - 1
        if len(steps) and low.max() <= high.min():
            start = int(low.max() + high.min()) // 2
            found = (sums * product + start) >> shift
            if abs(start) < 1 << 30 and numpy.array_equal(numpy.clip(found, *_INT8), wanted):
                return Levels(product, start, shift, 0, clamps or bool(found.min() < _INT8[0] or found.max() > _INT8[1]))
    return None


@dataclass(frozen=True)
class Axes:
    """The axes in storage order: `images` outside of the resized axes, at most two `resized` axes, and `run`, the innermost axes,
    copied unchanged."""

    images: tuple[int, ...]
    resized: tuple[int, ...]
    run: tuple[int, ...]

    @classmethod
    def of(cls, source: Tensor, target: Tensor, shares: tuple[Shares, ...], form: Format) -> Axes:
        """Returns the axes of a layer in this storage order."""
        order = form.order
        whole = [is_whole(shares[axis], source.dims[axis]) for axis in order]
        first = whole.index(False) if False in whole else len(order)
        last = max((place + 1 for place, kept in enumerate(whole) if not kept), default=first)
        return cls(tuple(order[:first]), tuple(order[first:last]), tuple(order[last:]))


def not_linear(view: NodeView, most: int) -> str:
    """Returns why the layer is not linear along one or two neighbouring axes with a product of denominators of at most `most`; ""
    if it is."""
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    for form in target.orders:
        axes = Axes.of(source, target, shares, form)
        if not 1 <= len(axes.resized) <= 2 or not lanes(shares, axes.resized, most):
            return f"it is not linear along two neighbouring axes with sums of at most {LARGEST} times {most}"
    return ""


def _unfit(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    if reason := not_linear(view, MOST):
        return reason
    return "" if levels_of(shares, source, target) else "no product of 32 bits gives the levels"


def run_of(view: NodeView) -> int:
    """Returns the number of adjacent elements in a run, the same on both sides; computed with channels last unless the format is
    known."""
    (source,), (target,) = view.inputs, view.outputs
    axes = Axes.of(source, target, view.operator.in_integers(source, target), target.orders[0])
    return math.prod(target.dims[axis] for axis in axes.run)


LANES = Predicate("sums of two axes fit 16 bits", _unfit)


class ResampleLanes(KernelNode):
    """Base of the kernels; see kernels/kit/resample_lanes.h."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(bands=False)  # the tables follow from the rows

    @property
    def levels(self) -> Levels:
        """The conversion of sums to quantized values."""
        (source,), (target,) = self.inputs, self.outputs
        found = levels_of(self.operator.in_integers(source, target), source, target)
        assert found is not None
        return found

    @property
    def form(self) -> str:
        """The word for the conversion of sums, in names of functions."""
        return "even" if self.levels.ties else "clamped" if self.levels.clamps else "scaled"

    def arguments(self) -> tuple[Argument, ...]:
        """Returns input, output, rows, columns, levels, shape."""
        levels = self.levels
        numbers = {
            "multiplier": levels.multiplier,
            "start": levels.start,
            "shift": levels.shift,
            "flipped": 0x00010001 * (levels.ties >> 1),
        }
        return self.arguments_with(Struct("aidge_kit_lanes_levels", numbers))

    def arguments_with(self, levels: Argument) -> tuple[Argument, ...]:
        """Returns the arguments with this argument for the conversion of sums."""
        (source,), (target,) = self.inputs, self.outputs
        shares = self.operator.in_integers(source, target)
        axes = Axes.of(source, target, shares, target.storage)
        tables = [_table(shares[axis], source.layout.strides[axis]) for axis in axes.resized]
        rows, columns = [numpy.array([[0, 1, 0, 0]], numpy.int32)] * (2 - len(tables)) + tables
        shape = {
            "images": math.prod(target.dims[axis] for axis in axes.images),
            "step": math.prod(source.dims[axis] for axis in (*axes.resized, *axes.run)),
            "rows": len(rows),
            "columns": len(columns),
            "run": run_of(self.view),
        }
        return (
            Input(0),
            Output(0),
            Constant("rows", rows.ravel()),
            Constant("columns", columns.ravel()),
            levels,
            Struct("aidge_kit_lanes_shape", shape),
        )


def _table(shares: Shares, stride: int) -> numpy.ndarray:
    """Returns {offset, share, offset, share} of each output index."""
    missing = TAPS - shares.shares.shape[1]
    indices = numpy.pad(shares.indices, ((0, 0), (0, missing)), mode="edge")
    weights = numpy.pad(shares.shares, ((0, 0), (0, missing)))
    return numpy.stack([indices * stride, weights], axis=2).reshape(len(weights), 4).astype(numpy.int32)
