# SPDX-License-Identifier: MIT
"""Batch normalization at inference."""

from __future__ import annotations

import numpy

from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Activated, TensorType, require
from aidge_build.operators.normalize import BatchNormalizationTraining
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


@operator("BatchNormalization")
class BatchNormalization(Activated):
    """y = clamp((x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c]) for each channel c (axis 1).

    Inputs: X [N, C, ...], scale, bias, mean, variance [C]. Source: ONNX operator BatchNormalization.
    """

    epsilon: float = float(numpy.float32(1e-5))

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("epsilon", "momentum", "spatial", "training_mode")
        require(source.integer("spatial", 1) == 1, "spatial = 0 is not supported")
        if source.integer("training_mode", 0):
            return BatchNormalizationTraining(
                source.real("epsilon", cls.epsilon), source.real("momentum", BatchNormalizationTraining.momentum)
            )
        return cls(epsilon=source.real("epsilon", cls.epsilon))

    def infer(self, inputs):
        data, *parameters = inputs
        channels = data.dims[1] if data.rank > 1 else 1
        names = ("scale", "bias", "mean", "variance")
        require(len(parameters) == len(names) and None not in parameters, f"wants {', '.join(names)}")
        for name, tensor in zip(names, parameters):
            require(tensor.dims == (channels,), f"{name} has the dims {list(tensor.dims)}, wants [{channels}]")
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data, scale, bias, mean, variance):
        along = (1, -1, *(1,) * (data.ndim - 2)) if data.ndim > 1 else (-1,)
        scale, bias, mean, variance = (values.reshape(along) for values in (scale, bias, mean, variance))
        return self.clamp((data - mean) / numpy.sqrt(variance + self.epsilon) * scale + bias)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def backward(self, gradients, inputs, outputs):
        data, scale, _, mean, variance = inputs
        axes, along = tuple(axis for axis in range(data.ndim) if axis != min(1, data.ndim - 1)), (-1, *(1,) * (data.ndim - 2))
        gradient, inverse = self.unclamp(gradients[0], outputs[0]), 1 / numpy.sqrt(variance + self.epsilon)
        by_bias = gradient.sum(axes)
        by_scale = (gradient * (data - mean.reshape(along))).sum(axes) * inverse
        return (
            gradient * (scale * inverse).reshape(along),
            by_scale,
            by_bias,
            -by_bias * scale * inverse,
            -by_scale * scale * inverse**2 / 2,
        )

    @classmethod
    def samples(cls):
        channels = (numbers(3, seed=1), numbers(3, seed=2), numbers(3, seed=3), numbers(3, low=0.3, seed=4))
        return Sample(cls(), (numbers(2, 3, 2, 2), *channels)), Sample(cls(minimum=-1.1, maximum=1.4), (numbers(5, 3), *channels))
