# SPDX-License-Identifier: MIT
"""What the pools share: a pool over everything is a window as large as the map."""

from __future__ import annotations

import math

import numpy

from aidge_build.errors import AidgeError
from aidge_build.export.call import Struct
from aidge_build.export.node import ExportNode
from aidge_build.operators.window import Window

from .window2d import window2d


class PoolNode(ExportNode):
    """A pool with a window, or over the whole map."""

    def shape(self) -> Struct:
        data, (output,) = self.inputs[0], self.outputs
        if hasattr(self.operator, "window"):
            return window2d(data, output, self.operator.window)
        # With channels last the spatial axes lie together: they are one.
        length = math.prod(data.dims[2:])
        row, point = (tensor.with_(dims=(*tensor.dims[:2], count), format=None)
                      for tensor, count in ((data, length), (output, 1)))
        return window2d(row, point, Window((length,), (1,), (1,), (0,), (0,)))

    def counts(self) -> tuple[int, ...]:
        """The numbers of positions that the windows of a mean count, each once."""
        spatial = self.inputs[0].dims[2:]
        if not hasattr(self.operator, "counts"):
            return (math.prod(spatial),)
        counts = tuple(int(count) for count in numpy.unique(self.operator.counts(spatial)))
        if counts[0] == 0:
            raise AidgeError("a window lies in the pads alone, its mean is not defined", code="KERNEL")
        if self.operator.count_include_pad and len(counts) > 1:
            raise AidgeError("windows that ceil_mode cuts beyond counted pads are not supported", code="KERNEL",
                             hint="export with count_include_pad=0 or ceil_mode=0")
        return counts
