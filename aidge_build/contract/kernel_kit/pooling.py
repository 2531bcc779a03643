# SPDX-License-Identifier: MIT
"""Base of pools: a pool over the whole map has a window as large as the map."""

from __future__ import annotations

import math

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Literal, Struct
from aidge_build.contract.kernel_kit.raster import raster_demands
from aidge_build.contract.kernel_kit.window2d import two_axes, window2d
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.window import Window


class PoolNode(KernelNode):
    """A pool with a window, or over the whole map, that finishes pixel by pixel."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return raster_demands(cls(view).shape().fields, view.inputs[0], view.outputs[0])

    def shape(self) -> Struct:
        """Returns the window; for a pool over the whole map, a window as large as the map."""
        data, (output,) = self.inputs[0], self.outputs
        if not self.is_row():
            return window2d(data, output, self.operator.window, is_upright=self.view.layer is not None)
        # With channels last the spatial axes are adjacent in memory: they are one axis.
        length = math.prod(data.dims[2:])
        row, point = (
            tensor.with_(dims=(*tensor.dims[:2], count), format=None) for tensor, count in ((data, length), (output, 1))
        )
        return window2d(row, point, Window((length,), (1,), (1,), (0,), (0,)))

    def is_row(self) -> bool:
        """Whether the values of the map are taken as one row, in the only window."""
        return not hasattr(self.operator, "window")

    def levels(self) -> tuple[int, int]:
        """Returns the lowest and highest stored value of the output."""
        (output,) = self.outputs
        return clamp_levels(self.operator.minimum, self.operator.maximum, output.quantization, output.dtype)

    def counts(self) -> tuple[int, ...]:
        """Returns the different numbers of positions that the windows of a mean count, ascending."""
        view = self.view.layer.whole if self.view.layer else self.view
        spatial = view.inputs[0].dims[2:]
        if not hasattr(self.operator, "counts"):
            return (math.prod(spatial),)
        counts = tuple(int(count) for count in numpy.unique(view.operator.counts(spatial)))
        if counts[0] == 0:
            raise AidgeError("a window reads only padding: its mean is not defined", code="KERNEL")
        return counts

    def counted_ends(self) -> tuple[Literal, Literal]:
        """Returns one past the last row and column that count for a mean if pads count; 0, 0 if only the image counts."""
        if not getattr(self.operator, "counts_pads", False):
            return Literal(0), Literal(0)
        data, (output,), window = self.inputs[0], self.outputs, self.operator.window
        ends = tuple(size + pad for size, pad in zip(data.dims[2:], window.pads_end))
        height, width = two_axes(data, output, window, ends, 1, is_upright=self.view.layer is not None)
        return Literal(height), Literal(width)
