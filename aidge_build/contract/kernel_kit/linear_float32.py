# SPDX-License-Identifier: MIT
"""Layers of float32 with parameters, whatever the core: the spec, bias and limits of linear layers."""

from __future__ import annotations

from typing import Any

import numpy

from aidge_build.contract.call import Argument, Constant, Input
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, DFormat, ImplSpec, IOSpec, Predicate
from aidge_build.graph.dtype import DType


def linear_float_spec(features: frozenset[str], *predicates: Predicate, form: DFormat = CHANNELS_LAST) -> ImplSpec:
    """Returns the spec of float32 data, weights and bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, form), IOSpec(DType.float32, ANY)),
        outputs=(IOSpec(DType.float32, form),),
        features=features,
        predicates=(REAL, CONSTANT_PARAMETERS, *predicates),
    )


def limits_between(low: float, high: float) -> Constant:
    """Returns the lowest and the highest result."""
    return Constant("limits", numpy.array([low, high], numpy.float32))


def limits(operator: Any) -> Constant:
    """Returns the limits of an operator's clamp."""
    return limits_between(operator.minimum, operator.maximum)


def parameter(node: KernelNode, index: int, name: str) -> Argument:
    """Returns the argument for an input that may be constant."""
    tensor = node.inputs[index]
    return Constant(name, tensor.data) if tensor.is_constant else Input(index)


class LinearFloat32(KernelNode):
    """A layer with constant weights."""

    def bias(self) -> numpy.ndarray:
        """Returns the bias of each output; zeros if the node has none."""
        given = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else None
        return numpy.zeros(self.inputs[1].dims[0], numpy.float32) if given is None else given.astype(numpy.float32)
