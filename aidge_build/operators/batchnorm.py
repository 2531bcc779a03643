# SPDX-License-Identifier: MIT
"""Batch normalization at inference."""

from __future__ import annotations


import numpy

from aidge_build.operators.base import Activated, TensorType, require
from aidge_build.operators.normalize import BatchNormalizationTraining
from aidge_build.operators.register import operator


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
            return BatchNormalizationTraining(source.real("epsilon", cls.epsilon), source.real("momentum", BatchNormalizationTraining.momentum))
        return cls(epsilon=source.real("epsilon", cls.epsilon))

    def infer(self, inputs):
        data, *parameters = inputs
        channels = data.dims[1] if data.rank > 1 else 1
        for name, tensor in zip(("scale", "bias", "mean", "variance"), parameters):
            require(tensor.dims == (channels,), f"{name} has the dims {list(tensor.dims)}, wants [{channels}]")
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data, scale, bias, mean, variance):
        along = (1, -1, *(1,) * (data.ndim - 2)) if data.ndim > 1 else (-1,)
        scale, bias, mean, variance = (values.reshape(along) for values in (scale, bias, mean, variance))
        return self.clamp((data - mean) / numpy.sqrt(variance + self.epsilon) * scale + bias)
