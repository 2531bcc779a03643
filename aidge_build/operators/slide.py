# SPDX-License-Identifier: MIT
"""A window over a stream that moves on by some frames: the delay line of a streaming model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.operators.axes import counted_axis
from aidge_build.operators.base import TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.sample import Sample, numbers


@dataclass(frozen=True)
class Slide(Moved):
    """Y = X without its first elements along `axis`, then the second input; as many are left out as are new. With `first` the
    second input comes first, and the last elements of X are left out. It has no ONNX name: only recipes make it."""

    joins: ClassVar = True

    axis: int = 0
    first: bool = False

    def rounds(self, inputs, outputs):
        return False

    def infer(self, inputs):
        window, frames = inputs
        require(window.dtype is frames.dtype, f"the window is {window.dtype.name}, the frames are {frames.dtype.name}")
        require(window.rank == frames.rank, f"the window has rank {window.rank}, the frames have {frames.rank}")
        axis = counted_axis(self.axis, window.rank)
        longer = (*window.dims[:axis], frames.dims[axis], *window.dims[axis + 1 :])
        require(frames.dims == longer, f"frames of {list(frames.dims)} do not fit a window of {list(window.dims)}")
        require(frames.dims[axis] <= window.dims[axis], "there are more frames than the window holds")
        return (TensorType(window.dims, window.dtype),)

    def forward(self, window, frames):
        joint = numpy.concatenate((frames, window) if self.first else (window, frames), self.axis)
        length, fresh = window.shape[self.axis], 0 if self.first else frames.shape[self.axis]
        return numpy.take(joint, range(fresh, fresh + length), self.axis)

    @classmethod
    def samples(cls):
        return (
            Sample(cls(1), (numbers(3, 4, 2), numbers(3, 1, 2, seed=1))),
            Sample(cls(0), (numbers(3), numbers(3, seed=1))),
            Sample(cls(1, True), (numbers(2, 5), numbers(2, 2, seed=1))),
        )

    def forward_quantized(self, values, inputs, outputs):
        return (self.forward(*values),)
