# SPDX-License-Identifier: MIT
"""Blocks of pixels to channels and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.bands import band_of_rows
from aidge_build.operators.base import TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


@dataclass(frozen=True)
class Blocks(Moved):
    """Base: square blocks of `size`; with `depth_first` the block's rows and columns are the slowest part of the channels."""

    size: int = 1
    depth_first: bool = True

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("blocksize", "mode")
        size, mode = source.integer("blocksize"), source.text("mode", "DCR")
        require(mode in ("DCR", "CRD"), f"mode {mode!r} is unknown")
        require(size > 0, f"blocksize is {size}")
        return cls(size, mode == "DCR")


@operator("DepthToSpace")
class DepthToSpace(Blocks):
    """[N, C, H, W] to [N, C / size^2, H * size, W * size]. Source: ONNX operator DepthToSpace."""

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank == 4, f"the input has rank {data.rank}, wants 4")
        batch, channels, height, width = data.dims
        require(channels % self.size**2 == 0, f"{channels} channels do not divide into blocks of {self.size} x {self.size}")
        return (TensorType((batch, channels // self.size**2, height * self.size, width * self.size), data.dtype),)

    def band(self, inputs, outputs, first, last):
        whole = first % self.size == last % self.size == 0
        return band_of_rows(self, inputs, outputs, (first // self.size, last // self.size)) if whole else None

    def forward(self, data):
        batch, channels, height, width = data.shape
        size, rest = self.size, channels // self.size**2
        if self.depth_first:
            moved = data.reshape(batch, size, size, rest, height, width).transpose(0, 3, 4, 1, 5, 2)
        else:
            moved = data.reshape(batch, rest, size, size, height, width).transpose(0, 1, 4, 2, 5, 3)
        return moved.reshape(batch, rest, height * size, width * size)

    @classmethod
    def samples(cls):
        return tuple(Sample(cls(2, depth_first), (numbers(1, 8, 2, 3),)) for depth_first in (True, False))


@operator("SpaceToDepth")
class SpaceToDepth(Blocks):
    """[N, C, H, W] to [N, C * size^2, H / size, W / size]. Source: ONNX operator SpaceToDepth."""

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank == 4, f"the input has rank {data.rank}, wants 4")
        batch, channels, height, width = data.dims
        require(height % self.size == width % self.size == 0, f"{height} x {width} does not divide into blocks of {self.size}")
        return (TensorType((batch, channels * self.size**2, height // self.size, width // self.size), data.dtype),)

    def band(self, inputs, outputs, first, last):
        return band_of_rows(self, inputs, outputs, (first * self.size, last * self.size))

    def forward(self, data):
        batch, channels, height, width = data.shape
        size = self.size
        parts = data.reshape(batch, channels, height // size, size, width // size, size)
        moved = parts.transpose(0, 3, 5, 1, 2, 4) if self.depth_first else parts.transpose(0, 1, 3, 5, 2, 4)
        return numpy.ascontiguousarray(moved).reshape(batch, channels * size * size, height // size, width // size)

    @classmethod
    def samples(cls):
        return tuple(Sample(cls(2, depth_first), (numbers(1, 2, 4, 6),)) for depth_first in (True, False))
