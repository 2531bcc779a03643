# SPDX-License-Identifier: MIT
"""Convolutions over 1, 2 or 3 spatial axes, with groups; depthwise ones have a type of their own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.bands import windowed_rows
from aidge_build.operators.base import Activated, Group, TensorType, require
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers
from aidge_build.operators.window import Window, overlaid, windows

PATCH_ELEMENTS = 1 << 20  # of one copy of input patches


def is_depthwise(groups: int, channels: int, outputs: int) -> bool:
    """Whether each group of a convolution has one channel and one output."""
    return 1 < groups == channels == outputs


@dataclass(frozen=True)
class Convolution(LinearQuantized, Activated):
    """Base: each window of X [N, C, spatial...] times the weights W [M, C / groups, kernel...], plus an optional bias [M]."""

    window: Window = Window((1,), (1,), (1,), (0,), (0,))
    groups: int = 1
    depthwise: bool = False  # groups == C == M
    single_product: bool = False  # see LinearQuantized: only importers say so

    def infer(self, inputs: Sequence[Tensor | None]) -> tuple[TensorType, ...]:
        data, weights, *bias = inputs
        require(self.groups > 0, f"group is {self.groups}, must be positive")
        require(
            data.dims[1] == weights.dims[1] * self.groups,
            f"the input has {data.dims[1]} channels, the weights want {weights.dims[1]} in each of {self.groups} groups",
        )
        require(weights.dims[0] % self.groups == 0, f"{weights.dims[0]} output channels do not divide into {self.groups} groups")
        whole = not self.depthwise or self.groups == data.dims[1] == weights.dims[0]
        require(whole, f"a depthwise layer of {self.groups} groups has {data.dims[1]} channels and {weights.dims[0]} outputs")
        require(weights.dims[2:] == self.window.kernel, f"kernel_shape {self.window.kernel} but weights {weights.dims}")
        if bias and bias[0] is not None:
            require(bias[0].dims == (weights.dims[0],), f"the bias has dims {bias[0].dims}, wants ({weights.dims[0]},)")
        return (TensorType((data.dims[0], weights.dims[0], *self.window.output_dims(data.dims[2:])), data.dtype),)

    def forward(self, data, weights, bias=None):
        return self.clamp(self.accumulate(data, weights, bias))

    def accumulate(self, data, weights, bias=None):
        batch, outputs = data.shape[0], weights.shape[0]
        per_group_in, per_group_out = weights.shape[1], outputs // self.groups
        patches = windows(data, self.window, 0)  # [N, C, out..., kernel...]
        rank = self.window.rank
        out_dims, kernel_size = patches.shape[2 : 2 + rank], math.prod(self.window.kernel)
        if self.depthwise:
            axes = "xyz"[:rank], "ijk"[:rank]
            result = numpy.einsum(f"nc{axes[0]}{axes[1]},c{axes[1]}->nc{axes[0]}", patches, weights[:, 0])
        else:
            result = numpy.empty((batch, outputs, *out_dims), numpy.result_type(data, weights))
            moved = numpy.moveaxis(patches, 1, 1 + rank)  # [N, out..., C, kernel...]
            # Slabs of the first output axis: the product needs a copy of its patches, and large ones leave the cache.
            slab = max(1, PATCH_ELEMENTS // (math.prod(out_dims[1:]) * per_group_in * kernel_size))
            for group, first in itertools.product(range(self.groups), range(0, out_dims[0], slab)):
                inputs = slice(group * per_group_in, (group + 1) * per_group_in)
                channels = slice(group * per_group_out, (group + 1) * per_group_out)
                part = moved[(slice(None), slice(first, first + slab), *(slice(None),) * (rank - 1), inputs)]
                rows = part.reshape(batch, -1, per_group_in * kernel_size)
                product = rows @ weights[channels].reshape(per_group_out, -1).T
                result[:, channels, first : first + slab] = numpy.moveaxis(product, 2, 1).reshape(
                    batch, per_group_out, *part.shape[1 : 1 + rank]
                )
        if bias is not None:
            result = result + bias.reshape(1, -1, *(1,) * rank)
        return result

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data, weights, *bias) = gradients, inputs
        gradient, rank = self.unclamp(gradient, outputs[0]), self.window.rank
        patches = windows(data, self.window, 0)
        if self.depthwise:
            axes = "xyz"[:rank], "ijk"[:rank]
            by_weights = numpy.einsum(f"nc{axes[0]},nc{axes[0]}{axes[1]}->c{axes[1]}", gradient, patches)[:, None]
            by_patches = gradient[(..., *(None,) * rank)] * weights[:, 0].reshape(-1, *(1,) * rank, *self.window.kernel)
        else:
            by_weights, by_patches = numpy.empty(weights.shape), numpy.empty(patches.shape)
            parts = zip(numpy.split(weights, self.groups), numpy.split(gradient, self.groups, 1))
            for group, (rows, part) in enumerate(parts):
                channels = slice(group * rows.shape[1], (group + 1) * rows.shape[1])
                every = (0, *range(2, 2 + rank))  # the batch and all places of the output
                product = numpy.tensordot(part, patches[:, channels], (every, every))
                by_weights[group * len(rows) : (group + 1) * len(rows)] = product
                by_patches[:, channels] = numpy.moveaxis(numpy.tensordot(part, rows, (1, 0)), 1 + rank, 1)
        by_bias = gradient.sum((0, *range(2, 2 + rank)))
        by_data = overlaid(by_patches, self.window, data.shape)
        return (by_data, by_weights, *(None if value is None else by_bias for value in bias))

    @classmethod
    def samples(cls):
        plain, wide = Window((3, 2), (1, 1), (1, 1), (0, 0), (0, 0)), Window((3, 2), (2, 1), (1, 2), (1, 0), (2, 1))
        long = Window((3,), (2,), (1,), (1,), (1,))
        data, bias = numbers(2, 4, 6, 5), numbers(4, seed=2)
        return (
            Sample(cls(window=plain), (data, numbers(3, 4, 3, 2, seed=1))),
            Sample(cls(window=wide, groups=2, minimum=-2.05, maximum=1.53), (data, numbers(4, 2, 3, 2, seed=1), bias)),
            Sample(cls(window=wide, groups=4, depthwise=True), (data, numbers(4, 1, 3, 2, seed=1), bias)),
            Sample(cls(window=long), (numbers(1, 2, 7), numbers(3, 2, 3, seed=1), None)),
        )

    def group(self, inputs, outputs, channels):
        if self.groups != 1 and not self.depthwise or len(inputs) > 3:
            return None
        operator = replace(self, groups=channels) if self.depthwise else self
        return Group(operator, 1, (1 if self.depthwise else None, *(0,) * (len(inputs) - 1)))

    def band(self, inputs, outputs, first, last):
        return windowed_rows(self, inputs, outputs, first, last)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * math.prod(inputs[1].dims[1:])


@operator("Conv")
class Conv(Convolution):
    """Y[n, m, ...] = clamp(B[m] + sum over c, k of X[n, c, ... * stride + k * dilation - pad] * W[m, c, k]).

    Inputs: X [N, C, spatial...], W [M, C / groups, kernel...], optional B [M]; output [N, M, spatial...].
    Source: ONNX operator Conv.
    """

    @property
    def type(self) -> str:
        return f"{'ConvDepthWise' if self.depthwise else 'Conv'}{self.window.rank}D"

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
        data, weights = source.input(0), source.input(1)
        require(data.rank == weights.rank and data.rank >= 3, f"the input has rank {data.rank}, the weights {weights.rank}")
        window = Window.from_onnx(source, data.dims[2:], kernel=weights.dims[2:])
        groups = source.integer("group", 1)
        return cls(window=window, groups=groups, depthwise=is_depthwise(groups, data.dims[1], weights.dims[0]))
