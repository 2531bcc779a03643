# SPDX-License-Identifier: MIT
"""Tensors as blocks of channels, and the parameters of quantize and dequantize nodes."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.rows import rows_along
from aidge_build.contract.node import KernelNode
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor


def channels_shape(tensor: Tensor, axis: int | None) -> Struct:
    """The struct of channels.h; without an axis the whole tensor is one channel."""
    sizes = (1, 1, tensor.elements) if axis is None else rows_along(tensor, axis)
    return Struct("aidge_ref_channels_shape", dict(zip(("outer", "channels", "inner"), sizes)))


class LinearConversion(KernelNode):
    """QuantizeLinear and DequantizeLinear: scale and zero point are the node's constant inputs."""

    def quantization(self) -> Quantization:
        """The quantization that the node states."""
        return self.operator.quantization(self.inputs[1], self.inputs[2] if len(self.inputs) > 2 else None)

    def arguments(self) -> tuple[Argument, ...]:
        quantization = self.quantization()
        return (
            Input(0),
            Output(0),
            Constant("scales", numpy.array(quantization.scales, numpy.float32)),
            Constant("zero_points", numpy.array(quantization.zero_points, numpy.int32)),
            channels_shape(self.outputs[0], quantization.axis),
        )
