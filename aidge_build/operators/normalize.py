# SPDX-License-Identifier: MIT
"""Normalizations with statistics that are computed at run time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.axes import counted_axes, counted_axis
from aidge_build.operators.bands import ROWS, same_rows
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.groups import CHANNELS, same_channels
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers

EPSILON = float(numpy.float32(1e-5))


def normalized_backward(
    gradient: numpy.ndarray, normal: numpy.ndarray, inverse: numpy.ndarray, axes: tuple[int, ...], centred: bool = True
) -> numpy.ndarray:
    """Returns the gradient of x, given the gradient of normal = (x - mean) * inverse over these axes.

    inverse = 1 / sqrt(variance + epsilon). Not `centred`: normal = x / sqrt(mean(x^2) + epsilon).
    """
    result = gradient - normal * (gradient * normal).mean(axes, keepdims=True)
    return inverse * (result - gradient.mean(axes, keepdims=True) if centred else result)


@operator("RMSNormalization")
class RMSNormalization(Operator):
    """y = x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on. Source: ONNX operator RMSNormalization."""

    axis: int = -1
    epsilon: float = EPSILON

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "epsilon", "stash_type")
        return cls(source.axis("axis", -1, source.input(0).rank), source.real("epsilon", EPSILON))

    def infer(self, inputs):
        data, *parameters = inputs
        for tensor in parameters:
            require(
                tensor is None or tensor.dims == data.dims[self.axis :],
                f"scale and bias must have the dims {list(data.dims[self.axis :])}, not {list(tensor.dims) if tensor else ''}",
            )
        return (TensorType(data.dims, data.dtype),)

    def group(self, inputs, outputs, channels):
        return same_channels(self, inputs, outputs) if self.axis > CHANNELS else None

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last) if self.axis > ROWS else None

    def forward(self, data, scale):
        axes = tuple(range(self.axis, data.ndim))
        return data / numpy.sqrt(numpy.square(data).mean(axes, keepdims=True) + self.epsilon) * scale

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data, scale) = gradients, inputs
        axes = tuple(range(self.axis, data.ndim))
        inverse = 1 / numpy.sqrt(numpy.square(data).mean(axes, keepdims=True) + self.epsilon)
        return (
            normalized_backward(gradient * scale, data * inverse, inverse, axes, centred=False),
            (gradient * data * inverse).sum(tuple(range(self.axis))),
        )

    @classmethod
    def samples(cls):
        return (
            Sample(cls(2, 0.3), (numbers(2, 3, 4), numbers(4, seed=1))),
            Sample(cls(1), (numbers(2, 3, 4), numbers(3, 4, seed=1))),
        )


@operator("LayerNormalization")
class LayerNormalization(RMSNormalization):
    """y = (x - mean) / sqrt(variance + epsilon) * scale + bias, over the axes from `axis` on.

    With statistics also the means and 1 / sqrt(variance + epsilon). Source: ONNX operator LayerNormalization.
    """

    has_statistics: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "epsilon", "stash_type")
        return cls(
            source.axis("axis", -1, source.input(0).rank), source.real("epsilon", EPSILON), source.is_read(1) or source.is_read(2)
        )

    def infer(self, inputs):
        (result,) = super().infer(inputs)
        dims = (*result.dims[: self.axis], *(1,) * (len(result.dims) - self.axis))
        return (result, *(TensorType(dims, DType.float32),) * (2 if self.has_statistics else 0))

    def forward(self, data, scale, bias=None):
        axes = tuple(range(self.axis, data.ndim))
        mean = data.mean(axes, keepdims=True)
        inverse = 1 / numpy.sqrt(data.var(axes, keepdims=True) + self.epsilon)
        result = (data - mean) * inverse * scale + (0 if bias is None else bias)
        return (result, mean, inverse) if self.has_statistics else result

    def backward(self, gradients, inputs, outputs):
        (gradient, *statistics), (data, scale, *bias) = gradients, inputs
        axes, others = tuple(range(self.axis, data.ndim)), tuple(range(self.axis))
        inverse = 1 / numpy.sqrt(data.var(axes, keepdims=True) + self.epsilon)
        normal = (data - data.mean(axes, keepdims=True)) * inverse
        by_data = normalized_backward(gradient * scale, normal, inverse, axes)
        if statistics:
            by_mean, by_inverse = statistics
            by_data = by_data + (by_mean - by_inverse * inverse**2 * normal) / math.prod(data.shape[self.axis :])
        return (by_data, (gradient * normal).sum(others), *(None if value is None else gradient.sum(others) for value in bias))

    @classmethod
    def samples(cls):
        data, scale, bias = numbers(2, 3, 4), numbers(4, seed=1), numbers(4, seed=2)
        return (
            Sample(cls(2, 0.3), (data, scale)),
            Sample(cls(2, has_statistics=True), (data, scale, bias)),
            Sample(cls(1), (data, numbers(3, 4, seed=1), numbers(3, 4, seed=2))),
        )


@operator("GroupNormalization")
class GroupNormalization(Operator):
    """y = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c] over each of `groups` groups of channels.

    Source: ONNX operator GroupNormalization (opset 18: scale and bias per group).
    """

    groups: int = 1
    epsilon: float = EPSILON

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("epsilon", "num_groups", "stash_type")
        return cls(source.integer("num_groups"), source.real("epsilon", EPSILON))

    def infer(self, inputs):
        data, scale, bias = inputs
        require(data.rank >= 3, f"the input has rank {data.rank}, wants at least 3")
        groups = self.group_count(data.dims)
        require(groups > 0 and data.dims[1] % groups == 0, f"{data.dims[1]} channels do not divide into {groups} groups")
        require(
            scale.dims == bias.dims and scale.dims in ((data.dims[1],), (groups,)),
            f"scale {list(scale.dims)} and bias {list(bias.dims)} do not fit {data.dims[1]} channels in {groups} groups",
        )
        return (TensorType(data.dims, data.dtype),)

    def group_count(self, dims) -> int:
        """The number of groups of channels with statistics of their own."""
        return self.groups

    def forward(self, data, scale, bias):
        groups = self.group_count(data.shape)
        parts = data.reshape(data.shape[0], groups, -1)
        normal = (parts - parts.mean(2, keepdims=True)) / numpy.sqrt(parts.var(2, keepdims=True) + self.epsilon)
        scale, bias = (
            numpy.repeat(values, data.shape[1] // values.size).reshape(-1, *(1,) * (data.ndim - 2)) for values in (scale, bias)
        )
        return normal.reshape(data.shape) * scale + bias

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data, scale, _) = gradients, inputs
        groups, per_value = self.group_count(data.shape), data.shape[1] // scale.size
        inverse = 1 / numpy.sqrt(data.reshape(data.shape[0], groups, -1).var(2, keepdims=True) + self.epsilon)
        parts = data.reshape(data.shape[0], groups, -1)
        normal = (parts - parts.mean(2, keepdims=True)) * inverse
        scaled = gradient * numpy.repeat(scale, per_value).reshape(-1, *(1,) * (data.ndim - 2))
        others = (0, *range(2, data.ndim))

        def per_scale(values: numpy.ndarray) -> numpy.ndarray:
            return values.sum(others).reshape(scale.size, per_value).sum(1)

        return (
            normalized_backward(scaled.reshape(parts.shape), normal, inverse, (2,)).reshape(data.shape),
            per_scale(gradient * normal.reshape(data.shape)),
            per_scale(gradient),
        )

    @classmethod
    def examples(cls):
        return cls(2), cls(1, 0.3)

    @classmethod
    def samples(cls):
        return tuple(
            Sample(one, (numbers(2, 4, 3), numbers(size, seed=1), numbers(size, seed=2)))
            for one in cls.examples()
            for size in sorted({one.group_count((2, 4, 3)), 4})
        )


@operator("InstanceNormalization")
class InstanceNormalization(GroupNormalization):
    """GroupNormalization with one channel in each group. Source: ONNX operator InstanceNormalization."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("epsilon")
        return cls(epsilon=source.real("epsilon", EPSILON))

    def group_count(self, dims):
        """The number of channels: each has statistics of its own."""
        return dims[1]

    @classmethod
    def examples(cls):
        return cls(), cls(epsilon=0.3)


@operator("MeanVarianceNormalization")
class MeanVarianceNormalization(Operator):
    """y = (x - mean) / (sqrt(variance) + 1e-9) over the axes. Source: ONNX operator MeanVarianceNormalization."""

    axes: tuple[int, ...] = (0, 2, 3)

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axes")
        return cls(tuple(sorted(counted_axes(source.integers("axes", (0, 2, 3)), source.input(0).rank))))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return None if ROWS in self.axes else same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        return (data - data.mean(self.axes, keepdims=True)) / (data.std(self.axes, keepdims=True) + 1e-9)

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data,), (result,) = gradients, inputs, outputs
        deviation = data.std(self.axes, keepdims=True)
        moved = gradient - gradient.mean(self.axes, keepdims=True)
        centred, level = data - data.mean(self.axes, keepdims=True), deviation == 0
        along = numpy.where(level, 0, centred / numpy.where(level, 1, deviation))
        return ((moved - along * (gradient * result).mean(self.axes, keepdims=True)) / (deviation + 1e-9),)

    @classmethod
    def samples(cls):
        return Sample(cls(), (numbers(2, 3, 2, 2),)), Sample(cls((1,)), (numbers(3, 4),))


@operator("LpNormalization")
class LpNormalization(Operator):
    """y = x / norm along `axis`, the norm of order 1 or 2; 0 where the norm is 0. Source: ONNX operator LpNormalization."""

    axis: int = -1
    order: int = 2

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "p")
        order = source.integer("p", 2)
        require(order in (1, 2), f"p is {order}, wants 1 or 2")
        return cls(source.axis("axis", -1, source.input(0).rank), order)

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        axis = counted_axis(self.axis, inputs[0].rank)
        return None if axis == ROWS else same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        norm = numpy.linalg.norm(data, self.order, self.axis, keepdims=True)
        return numpy.where(norm == 0, 0, data / numpy.where(norm == 0, 1, norm))

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data,), (result,) = gradients, inputs, outputs
        norm = numpy.linalg.norm(data, self.order, self.axis, keepdims=True)
        steep = result if self.order == 2 else numpy.sign(data)
        shared = gradient - steep * (gradient * result).sum(self.axis, keepdims=True)
        return (numpy.where(norm == 0, 0, shared / numpy.where(norm == 0, 1, norm)),)

    @classmethod
    def samples(cls):
        return tuple(Sample(cls(axis, order), (numbers(3, 4),)) for axis in (-1, 0) for order in (1, 2))


@operator("LRN")
class LRN(Operator):
    """y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta. Source: ONNX operator LRN."""

    size: int = 1
    alpha: float = float(numpy.float32(1e-4))
    beta: float = 0.75
    bias: float = 1.0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha", "beta", "bias", "size")
        size = source.integer("size")
        require(size > 0, f"size is {size}")
        return cls(size, source.real("alpha", cls.alpha), source.real("beta", cls.beta), source.real("bias", cls.bias))

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank >= 2, f"the input has rank {data.rank}, wants at least 2")
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        channels = data.shape[1]
        squares, sums = numpy.square(data), numpy.empty_like(data)
        for channel in range(channels):
            first, last = channel - (self.size - 1) // 2, channel + math.ceil((self.size - 1) / 2)
            sums[:, channel] = squares[:, max(0, first) : min(channels, last + 1)].sum(1)
        return data / (self.bias + self.alpha / self.size * sums) ** self.beta

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data,) = gradients, inputs
        channels, sums = data.shape[1], numpy.zeros(data.shape)
        squares = numpy.square(data)
        ranges = [
            slice(max(0, channel - (self.size - 1) // 2), min(channels, channel + math.ceil((self.size - 1) / 2) + 1))
            for channel in range(channels)
        ]
        bases = self.bias + self.alpha / self.size * numpy.stack([squares[:, near].sum(1) for near in ranges], 1)
        below = gradient * data * bases ** (-self.beta - 1)
        for channel, near in enumerate(ranges):
            sums[:, near] += below[:, channel : channel + 1]
        return (gradient * bases**-self.beta - 2 * self.alpha * self.beta / self.size * data * sums,)

    @classmethod
    def samples(cls):
        return Sample(cls(3, 0.7, 0.75, 1.2), (numbers(2, 5, 3),)), Sample(cls(4, 0.3, 1.5), (numbers(2, 4),))


@dataclass(frozen=True)
class BatchNormalizationTraining(Operator):
    """Batch normalization with the statistics of the batch; gives the running mean and variance, too.

    Source: ONNX operator BatchNormalization with training_mode.
    """

    overwrites: ClassVar = ((1, 3), (2, 4))  # the running mean and variance

    epsilon: float = EPSILON
    momentum: float = float(numpy.float32(0.9))

    def infer(self, inputs):
        data, *parameters = inputs
        require(data.rank >= 2, f"the input has rank {data.rank}, wants at least 2")
        for name, tensor in zip(("scale", "bias", "mean", "variance"), parameters):
            require(tensor.dims == data.dims[1:2], f"{name} has the dims {list(tensor.dims)}, wants {list(data.dims[1:2])}")
        return TensorType(data.dims, data.dtype), *(TensorType(data.dims[1:2], tensor.dtype) for tensor in parameters[2:])

    def forward(self, data, scale, bias, mean, variance):
        axes, along = (0, *range(2, data.ndim)), (1, -1, *(1,) * (data.ndim - 2))
        own_mean, own_variance = data.mean(axes), data.var(axes)
        normal = (data - own_mean.reshape(along)) / numpy.sqrt(own_variance.reshape(along) + self.epsilon)
        running = (
            mean * self.momentum + own_mean * (1 - self.momentum),
            variance * self.momentum + own_variance * (1 - self.momentum),
        )
        return normal * scale.reshape(along) + bias.reshape(along), *running

    def backward(self, gradients, inputs, outputs):
        (gradient, by_mean, by_variance), (data, scale, *_) = gradients, inputs
        axes, along = (0, *range(2, data.ndim)), (1, -1, *(1,) * (data.ndim - 2))
        inverse = 1 / numpy.sqrt(data.var(axes).reshape(along) + self.epsilon)
        centred = data - data.mean(axes).reshape(along)
        new, count = 1 - self.momentum, data.size // data.shape[1]
        by_data = normalized_backward(gradient * scale.reshape(along), centred * inverse, inverse, axes)
        by_data = by_data + new / count * (by_mean.reshape(along) + 2 * by_variance.reshape(along) * centred)
        by_scale = (gradient * centred * inverse).sum(axes)
        return by_data, by_scale, gradient.sum(axes), self.momentum * by_mean, self.momentum * by_variance

    @classmethod
    def samples(cls):
        channels = (numbers(3, seed=1), numbers(3, seed=2), numbers(3, seed=3), numbers(3, low=0.3, seed=4))
        return Sample(cls(), (numbers(2, 3, 2, 2), *channels)), Sample(cls(0.3, 0.6), (numbers(5, 3), *channels))
