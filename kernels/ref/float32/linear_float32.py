# SPDX-License-Identifier: MIT
"""Shared by the float32 convolutions and fully connected layers."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Constant, Input, Output
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


def linear_spec(form: str = CHANNELS_LAST) -> ImplSpec:
    """float32 data, weights and bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, form), IOSpec(DType.float32, ANY)),
        outputs=(IOSpec(DType.float32, form),),
        predicates=(CONSTANT_PARAMETERS,),
    )


def bounds(operator) -> Constant:
    """The numbers of a fused activation: lowest and highest."""
    return Constant("bounds", numpy.array([operator.minimum, operator.maximum], numpy.float32))


class LinearFloat32(KernelNode):
    """A sum of products plus bias, clamped."""

    def arguments(self, packed: numpy.ndarray) -> tuple[Argument, ...]:
        """The leading arguments of the kernels."""
        outputs = self.inputs[1].dims[0]
        bias = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else numpy.zeros(outputs, numpy.float32)
        return Input(0), Output(0), Constant("weights", packed), Constant("bias", bias), bounds(self.operator)
