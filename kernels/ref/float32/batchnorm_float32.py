# SPDX-License-Identifier: MIT
"""float32 batch normalization that no recipe could fuse."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.channels import channels_shape
from .linear_float32 import bounds


@kernel(
    "BatchNormalization",
    ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY)),
        outputs=(IOSpec(DType.float32, SAME),),
        predicates=(CONSTANT_PARAMETERS,),
    ),
)
class BatchNormFloat32(ElementWise):
    def call(self) -> Call:
        scale, bias, mean, variance = (tensor.data.astype(numpy.float64) for tensor in self.inputs[1:])
        numbers = numpy.stack([mean, scale / numpy.sqrt(variance + self.operator.epsilon), bias], axis=1)
        (output,) = self.outputs
        return Call(
            "aidge_ref_batchnorm_float32",
            ("float32/batchnorm_float32.h",),
            (
                Input(0),
                Output(0),
                Constant("numbers", numbers.astype(numpy.float32)),
                bounds(self.operator),
                channels_shape(output, 1 if output.rank > 1 else None),
            ),
        )
