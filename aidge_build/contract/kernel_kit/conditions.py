# SPDX-License-Identifier: MIT
"""Named conditions that the specs of several libraries share."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor


def _first(view: NodeView, is_meant: Callable[[Tensor], bool], count: int | None = None) -> tuple[str, Tensor] | None:
    """Returns the name for messages and the tensor of the node's first such tensor (among its first `count` inputs and
    outputs)."""
    for side, tensors in (("input", view.inputs[:count]), ("output", view.outputs[:count])):
        for index, tensor in enumerate(tensors):
            if tensor is not None and is_meant(tensor):
                return f"{side} {index}", tensor
    return None


def _unquantized(view: NodeView) -> str:
    return _scales_unfit(view, 1)


def _not_all_quantized(view: NodeView) -> str:
    return _scales_unfit(view)


def _scales_unfit(view: NodeView, count: int | None = None) -> str:
    """Returns why one of the first `count` inputs and outputs, or of all, has not one scale; "" if none."""
    found = _first(view, lambda tensor: tensor.quantization is None or not tensor.quantization.per_tensor, count)
    if found is None:
        return ""
    what, tensor = found
    return f"{what} has {'several scales' if tensor.quantization else 'no quantization'}, wants one scale"


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
    found = _first(view, lambda tensor: tensor.dtype not in (DType.int8, DType.int16))
    return f"a tensor is {found[1].dtype.name}, wants int8 or int16" if found else ""


def _computed_parameters(view: NodeView) -> str:
    computed = [index for index, tensor in enumerate(view.inputs[1:], 1) if tensor is not None and not tensor.is_constant]
    return f"input {computed[0]} is computed at run time, wants a constant" if computed else ""


def _groups(view: NodeView) -> str:
    groups = getattr(view.operator, "groups", 1)
    return "" if groups == 1 else f"{groups} groups, wants 1"


def _least_memory(view: NodeView) -> str:
    return "" if view.objective != "size" else "it needs scratch, and the build asks for the least memory (--optimize size)"


def _quantized_anywhere(view: NodeView) -> str:
    found = _first(view, lambda tensor: tensor.quantization is not None)
    return f"{found[0]} is quantized" if found else ""


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
