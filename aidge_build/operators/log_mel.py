# SPDX-License-Identifier: MIT
"""The fixed-point audio front end as one operator; docs/frontend.md defines it."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.log_mel import LARGEST_MULTIPLIER, LENGTHS, Levels, log_mel
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import attribute, operator

PCM, WINDOW, FILTERS = range(3)  # the places of the inputs
MOST_FLOOR = 1 << 60
# A logarithm is at least 0 and at most 91 * 1024: with any multiplier and these offsets no sum leaves 32 bits.
LEAST_OFFSET, MOST_OFFSET = -(1 << 31), 1 << 29


@operator("aidge::LogMel")
class LogMel(Operator):
    """Logarithms of the power in bands of frames of audio, by integers alone: [batch, samples] -> [batch, frames, bands].

    Inputs: int16 samples; a constant window, int16 in units of 2^-15, as long as a frame; constant filters [bands, length // 2
    + 1], uint16. A frame begins every `step` samples and is filled with zeros to `length`, a power of two from 64 to 4096.
    Stored is (logarithm * multiplier + offset) >> shift, as int8 or int16 (`to`); the logarithm to base 2, of the power with
    `floor` added, has 1,024 steps for each factor of two. docs/frontend.md has every step.
    """

    stores: ClassVar = True

    length: int = attribute(512)
    step: int = attribute(1)
    multiplier: int = attribute(1)
    offset: int = attribute(0)
    shift: int = attribute(0)
    floor: int = attribute(1)
    to: DType = attribute(DType.int8)

    def infer(self, inputs):
        pcm, window, filters = inputs
        require(
            self.length in LENGTHS, f"length is {self.length}", f"powers of two from {LENGTHS[0]} to {LENGTHS[-1]} are supported"
        )
        require(self.to in (DType.int8, DType.int16), f"features of {self.to.name} are not supported, int8 and int16 are")
        for name, value, low, high in (
            ("step", self.step, 1, 1 << 30),
            ("multiplier", self.multiplier, 1, LARGEST_MULTIPLIER),
            ("offset", self.offset, LEAST_OFFSET, MOST_OFFSET),
            ("shift", self.shift, 0, 30),
            ("floor", self.floor, 0, MOST_FLOOR),
        ):
            require(low <= value <= high, f"{name} is {value}, wants {low} to {high}")
        require(
            pcm.dtype is DType.int16 and pcm.rank == 2,
            f"the samples are {pcm.dtype.name} {list(pcm.dims)}, want int16 [batch, samples]",
        )
        require(window.dtype is DType.int16 and window.rank == 1, "the window is no row of int16")
        require(filters.dtype is DType.uint16 and filters.rank == 2, "the filters are no matrix of uint16")
        require(
            0 < window.elements <= min(self.length, pcm.dims[1]),
            f"frames of {window.elements} of {pcm.dims[1]} samples do not fit a transform of {self.length} values",
        )
        require(
            filters.dims[1] == self.length // 2 + 1,
            f"the filters have {filters.dims[1]} frequencies, want {self.length // 2 + 1}",
        )
        return (TensorType((pcm.dims[0], self.frames(pcm.dims[1], window.elements), filters.dims[0]), self.to),)

    def frames(self, samples: int, taps: int) -> int:
        """Returns the number of frames of so many samples."""
        return 1 + (samples - taps) // self.step

    @property
    def levels(self) -> Levels:
        """The conversion of logarithms to stored values."""
        return Levels(self.multiplier, self.offset, self.shift, *self.to.range, self.floor)

    def forward(self, pcm, window, filters):
        cut = numpy.lib.stride_tricks.sliding_window_view(pcm, window.size, axis=1)[:, :: self.step]
        found = log_mel(cut.reshape(-1, window.size), window, filters, self.length, self.levels)
        return found.reshape(*cut.shape[:2], len(filters)).astype(self.to.numpy)

    def forward_quantized(self, values, inputs, outputs):
        """Returns the stored values as the attributes define them, whatever scale the tensors have for their readers."""
        return (self.forward(*values),)
