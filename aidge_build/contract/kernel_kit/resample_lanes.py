# SPDX-License-Identifier: MIT
"""int8 Resize along two neighbouring axes, linear: conditions and tables that kernels of several libraries share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Argument, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.resample import is_whole
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.format import Format
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.resampling import Shares, multiplier

MOST_EVEN = 20  # bits of a fraction in int32
TAPS = 2


@dataclass(frozen=True)
class Even:
    """quantized value = (sum + start + bit) >> shift, where the sum is of shares times values and `bit` is bit `shift` of
    sum + start, or its complement if ties are turned: the real number, ties to the even value."""

    start: int
    shift: int
    is_turned: bool

    @classmethod
    def of(cls, view: NodeView) -> Even | None:
        """Returns the form of a layer; None unless the factor of its sums is a power of two."""
        factor, start, _ = sums_of(view)
        mantissa, exponent = math.frexp(float(factor))
        shift, zero_point = 1 - exponent, view.outputs[0].quantization.zero_point
        if mantissa != 0.5 or not 1 <= shift <= MOST_EVEN:
            return None
        return cls(start + (zero_point << shift) + (1 << shift - 1) - 1, shift, zero_point % 2 > 0)

    @classmethod
    def of_means(cls, view: NodeView) -> Even | None:
        """Returns the form of a layer with outputs that are means of inputs in the same scale, else None."""
        (source,), (target,) = view.inputs, view.outputs
        found, (*_, whole) = cls.of(view), sums_of(view)
        is_same = source.quantization.zero_point == target.quantization.zero_point
        return found if found and whole == 1 << found.shift and is_same else None


def sums_of(view: NodeView) -> tuple[numpy.float32, int, int]:
    """Returns the factor from sums of shares times values to quantized values, the sum of zero points that is taken off before,
    and the sum of the shares."""
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    factor = multiplier(shares, float(source.quantization.scale), float(target.quantization.scale))
    return factor, -source.quantization.zero_point * whole_of(shares), whole_of(shares)


def whole_of(shares: tuple[Shares, ...]) -> int:
    """Returns the sum of the shares of an output."""
    return int(numpy.prod([one.whole for one in shares]))


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
    """Returns why the layer is not linear along one or two neighbouring axes (at most two taps each, no negative share, no tap
    outside) with a product of denominators of at most `most`; "" if it is."""
    (source,), (target,) = view.inputs, view.outputs
    shares = view.operator.in_integers(source, target)
    for form in target.orders:
        chosen = [shares[axis] for axis in Axes.of(source, target, shares, form).resized]
        fits = all(one.shares.shape[1] <= TAPS and one.shares.min() >= 0 and one.indices.min() >= 0 for one in chosen)
        if not fits or not 1 <= len(chosen) <= 2 or whole_of(shares) > most:
            return f"it is not linear along two neighbouring axes with shares of at most {most}"
    return ""


def run_of(view: NodeView) -> int:
    """Returns the number of adjacent elements in a run, the same on both sides; computed with channels last unless the format is
    known."""
    (source,), (target,) = view.inputs, view.outputs
    axes = Axes.of(source, target, view.operator.in_integers(source, target), target.orders[0])
    return math.prod(target.dims[axis] for axis in axes.run)


class ResampleLanes(KernelNode):
    """Base of the kernels; see kernels/kit/resample_lanes.h."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(bands=False)  # the tables follow from the rows

    def arguments(self, levels: Argument) -> tuple[Argument, ...]:
        """Returns input, output, rows, columns, this argument for the conversion of sums, shape."""
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
