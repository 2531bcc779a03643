# SPDX-License-Identifier: MIT
"""What the float32 kernels share: specs, and the numbers of a clamp."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Constant
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, Predicate
from aidge_build.graph.dtype import DType

from ..assembly import c_function
from ..conditions import MVE


def linear_float_spec(*further: Predicate, form: str = CHANNELS_LAST) -> ImplSpec:
    """float32 data, weights and bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, form), IOSpec(DType.float32, ANY)),
        outputs=(IOSpec(DType.float32, form),),
        features=MVE,
        predicates=(REAL, CONSTANT_PARAMETERS, *further),
    )


def has_limits(low: float, high: float) -> bool:
    """Whether a clamp is neither nothing nor ReLU, which one instruction for four values does."""
    return low not in (0.0, -math.inf) or high != math.inf


def clamp_between(low: float, high: float) -> str:
    """What a clamp is in a text: "" for none, "relu", or "limits"."""
    return "limits" if has_limits(low, high) else "relu" if low == 0 else ""


def clamp_of(operator) -> str:
    """The same of an operator's clamp."""
    return clamp_between(operator.minimum, operator.maximum)


def is_limited(operator) -> bool:
    """The same of an operator's clamp."""
    return has_limits(operator.minimum, operator.maximum)


def clamp_lines(clamp: str, value: str, low: str, high: str) -> list[str]:
    """The clamp of a vector; `low` and `high` are registers with the limits, or for ReLU `low` is a vector of zeros."""
    if clamp == "limits":
        return [
            f"vpt.f32 lt, {value}, {low}",
            f"vdupt.32 {value}, {low}",
            f"vpt.f32 gt, {value}, {high}",
            f"vdupt.32 {value}, {high}",
        ]
    return [f"vmax.s32 {value}, {value}, {low}"] if clamp else []


def limits_between(low: float, high: float) -> Constant:
    """Lowest and highest."""
    return Constant("limits", numpy.array([low, high], numpy.float32))


def limits(operator) -> Constant:
    """The same of an operator's clamp."""
    return limits_between(operator.minimum, operator.maximum)


def wrapper(
    name: str, inlined: str, numbers: Sequence[int | str], parameters: Sequence[str], last: Sequence[int | str] = ()
) -> tuple[str, str]:
    """Name and text of a C function that calls an inlined one of the headers with these numbers around its own parameters."""
    names = [parameter.split()[-1].lstrip("*") for parameter in parameters]
    function = f"aidge_helium_{name}"
    call = f"aidge_helium_{inlined}({', '.join([*map(str, numbers), *names, *map(str, last)])});"
    return function, c_function(function, ", ".join(parameters), [call])


class LinearFloat32(KernelNode):
    """What convolutions and fully connected layers share."""

    def bias(self) -> numpy.ndarray:
        """Zeros where the node has none."""
        given = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else None
        return numpy.zeros(self.inputs[1].dims[0], numpy.float32) if given is None else given.astype(numpy.float32)
