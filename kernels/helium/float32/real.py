# SPDX-License-Identifier: MIT
"""What the float32 kernels share: specs, and the numbers of a clamp."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Constant
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL

from ..conditions import MVE


def linear_float_spec(*further: Predicate, form: str = CHANNELS_LAST) -> ImplSpec:
    """float32 data, weights and bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, form), IOSpec(DType.float32, ANY)),
        outputs=(IOSpec(DType.float32, form),),
        features=MVE,
        predicates=(REAL, CONSTANT_PARAMETERS, *further),
    )


def has_limits(operator) -> bool:
    """Whether the clamp is neither nothing nor ReLU, which one instruction for four values does."""
    return operator.minimum not in (0.0, -math.inf) or operator.maximum != math.inf


def limits(operator) -> Constant:
    """Lowest and highest."""
    return Constant("limits", numpy.array([operator.minimum, operator.maximum], numpy.float32))


class LinearFloat32(KernelNode):
    """What convolutions and fully connected layers share."""

    def bias(self) -> numpy.ndarray:
        """Zeros where the node has none."""
        given = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else None
        return numpy.zeros(self.inputs[1].dims[0], numpy.float32) if given is None else given.astype(numpy.float32)
