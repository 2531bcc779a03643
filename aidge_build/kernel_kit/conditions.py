# SPDX-License-Identifier: MIT
"""Named conditions that the specs of several libraries share."""

from __future__ import annotations

from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor


def _tensors(view: NodeView) -> list[tuple[str, Tensor]]:
    sides = (("input", view.inputs), ("output", view.outputs))
    return [(f"{side} {index}", tensor) for side, tensors in sides for index, tensor in enumerate(tensors) if tensor is not None]


def _unquantized(view: NodeView) -> str:
    for what, tensor in (("input 0", view.inputs[0]), ("output 0", view.outputs[0])):
        if tensor.quantization is None or not tensor.quantization.per_tensor:
            return f"{what} has {'several scales' if tensor.quantization else 'no quantization'}, wants one scale"
    return ""


def _not_all_quantized(view: NodeView) -> str:
    for what, tensor in _tensors(view):
        if tensor.quantization is None or not tensor.quantization.per_tensor:
            return f"{what} has {'several scales' if tensor.quantization else 'no quantization'}, wants one scale"
    return ""


def _quantizations_differ(view: NodeView) -> str:
    first, *others = [tensor.quantization for tensor in (view.inputs[0], *view.outputs)]
    return "" if all(other == first for other in others) else "input 0 and the output differ in scale or zero point"


def _weights_unfit(view: NodeView) -> str:
    weights = view.inputs[1]
    if weights.quantization is None:
        return "the weights have no quantization"
    if any(weights.quantization.zero_points):
        return "the weights have a zero point other than 0"
    if not weights.quantization.per_tensor and weights.quantization.axis != 0:
        return f"the weights are quantized along axis {weights.quantization.axis}, wants 0"
    return ""


def _weight_types(view: NodeView) -> str:
    found = view.inputs[1].dtype
    return "" if found in (DType.int8, DType.int16) else f"the weights are {found.name}, wants int8 or int16"


def _stored_types(view: NodeView) -> str:
    other = next((tensor.dtype.name for _, tensor in _tensors(view) if tensor.dtype not in (DType.int8, DType.int16)), "")
    return f"a tensor is {other}, wants int8 or int16" if other else ""


def _computed_parameters(view: NodeView) -> str:
    computed = [index for index, tensor in enumerate(view.inputs[1:], 1) if tensor is not None and not tensor.is_constant]
    return f"input {computed[0]} is computed at run time, wants a constant" if computed else ""


def _groups(view: NodeView) -> str:
    return "" if view.operator.groups == 1 else f"{view.operator.groups} groups, wants 1"


def _least_memory(view: NodeView) -> str:
    return "" if view.objective != "size" else "it needs scratch, and the build asks for the least memory (--optimize size)"


def _quantized_anywhere(view: NodeView) -> str:
    quantized = [what for what, tensor in _tensors(view) if tensor.quantization is not None]
    return f"{quantized[0]} is quantized" if quantized else ""


CONSTANT_PARAMETERS = Predicate("inputs after the first are constant", _computed_parameters)
QUANTIZED = Predicate("input 0 and output have one scale", _unquantized)
ALL_QUANTIZED = Predicate("every input and output has one scale", _not_all_quantized)
SAME_QUANTIZATION = Predicate("input 0 and output have the same quantization", _quantizations_differ)
BYTES_OR_HALFWORDS = Predicate("int8 or int16 weights", _weight_types)
STORED_BYTES_OR_HALFWORDS = Predicate("int8 or int16 tensors", _stored_types)
SYMMETRIC_WEIGHTS = Predicate("weights have zero point 0", _weights_unfit)
REAL = Predicate("no tensor is quantized", _quantized_anywhere)
ONE_GROUP = Predicate("one group", _groups)
ROOM = Predicate("room for scratch", _least_memory)
