# SPDX-License-Identifier: MIT
"""Common parts of kernels for layers of dynamic quantization: the spec, and the constants of a layer."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Argument, Constant, Input
from aidge_build.contract.spec import ANY, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.dynamic import BIAS, DATA, FACTORS, SCALE, WEIGHTS, ZERO_POINT


def _not_depthwise(view: NodeView) -> str:
    return "" if _is_depthwise(view) else "no depthwise layer"


def _not_grouped(view: NodeView) -> str:
    return "" if view.operator.groups > 1 and not _is_depthwise(view) else "one group, or one channel in each"


def _is_depthwise(view: NodeView) -> bool:
    groups = view.operator.groups
    return groups > 1 and groups == view.inputs[DATA].dims[1] == view.inputs[WEIGHTS].dims[0]


def _quantized_results(view: NodeView) -> str:
    return "the result is quantized" if any(tensor.quantization is not None for tensor in view.outputs) else ""


REAL_RESULTS = Predicate("results in float32", _quantized_results)
DEPTHWISE = Predicate("depthwise", _not_depthwise)
SEVERAL_GROUPS = Predicate("several groups, not depthwise", _not_grouped)


def dynamic_spec(form: DFormat, features: frozenset[str], least_outputs: int, *further: Predicate) -> ImplSpec:
    """Returns the spec: data in bytes, constant weights, float32 results of at least so many outputs, no clamp but one that
    begins at 0."""

    def too_few(view: NodeView) -> str:
        outputs = view.inputs[WEIGHTS].dims[0]
        return "" if outputs >= least_outputs else f"{outputs} output channels, wants at least {least_outputs}"

    several = (Predicate(f"at least {least_outputs} outputs", too_few),) if least_outputs > 1 else ()
    return ImplSpec(
        inputs=(IOSpec(DType.any, form), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, form),),
        features=features,
        predicates=(REAL_RESULTS, FITTING, *further, *several),  # the further ones read the constants
        rounding="any",
    )


def _unfit(view: NodeView) -> str:
    data, operator = view.inputs[DATA], view.operator
    parameters = [view.inputs[place] for place in (WEIGHTS, FACTORS, BIAS) if place < len(view.inputs)]
    if any(tensor is not None and not tensor.is_constant for tensor in parameters):
        return "weights, factors or bias are computed at run time"
    if data.dtype not in (DType.int8, DType.uint8) or data.rank > 4:
        return f"the data is {data.dtype.name} of rank {data.rank}, wants bytes of at most 4"
    free = operator.minimum == -math.inf and operator.maximum == math.inf
    return "" if free or operator.minimum == 0 < operator.maximum else "a clamp that does not begin at 0"


FITTING = Predicate("bytes, constant weights, no clamp but ReLU", _unfit)


def is_signed(inputs: Sequence[Tensor | None]) -> bool:
    """Whether the data is int8. It mostly is if the layer's zero point and scale are constants."""
    return inputs[DATA].dtype is DType.int8


def data_arguments(inputs: Sequence[Tensor | None]) -> tuple[Argument, ...]:
    """The data, its zero point and its scale; a zero point or scale that is known while generating is an array in flash."""

    def known(place: int, name: str) -> Argument:
        tensor = inputs[place]
        return Constant(name, tensor.data.reshape(1)) if tensor.is_constant else Input(place)

    return Input(DATA), known(ZERO_POINT, "zero_point"), known(SCALE, "scale")


def bits_of(value: float) -> int:
    """Returns the bits of a float32 as an integer."""
    return int.from_bytes(struct.pack("<f", value), "little")


def end_name(top: float) -> str:
    """Returns the part of a function's name that tells the top of a clamp; "" if there is none."""
    return f"_to_{bits_of(top):x}" if top < math.inf else ""


def bias_of(inputs: Sequence[Tensor | None]) -> numpy.ndarray:
    """Returns the float32 bias of each output; zeros if the layer has no bias."""
    bias = inputs[BIAS] if len(inputs) > BIAS else None
    factors = inputs[FACTORS]
    return numpy.zeros_like(factors.data) if bias is None else bias.data


def is_above_0(view: NodeView) -> bool:
    """Whether numbers below 0 count as 0, or the layer before clamps them so that there is none."""
    if view.operator.minimum >= 0:
        return True
    producer = view.graph.producer(view.node.inputs[0]) if view.graph else None
    return producer is not None and getattr(producer.operator, "minimum", -1) >= 0
