# SPDX-License-Identifier: MIT
"""Nodes of opset 6 in the words of opset 7: named broadcasting, test switches, one slope per channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.sources.onnx_format import ModelNode, means_the_same

OLD, NEW = 6, 7
_NAMED_BROADCAST = ("Add", "And", "Div", "Equal", "Gemm", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
_TEST_SWITCH = ("BatchNormalization", "Dropout")
_MORE_ATTRIBUTES = ("AveragePool",)  # the newer one has another attribute; its default is the old meaning


def modern(node: ModelNode, tensors: Mapping[str, Tensor]) -> tuple[ModelNode, Tensor | None]:
    """The node as opset 7 writes it, and a reshaped constant that its input 1 then is."""
    attributes = dict(node.attributes)
    if node.op_type in _NAMED_BROADCAST:
        dims = _broadcast_dims(node, bool(attributes.pop("broadcast", 0)), attributes.pop("axis", None), tensors)
    elif node.op_type in _TEST_SWITCH:
        if not attributes.pop("is_test", 0):
            raise AidgeError("it is in training mode (is_test is 0)", code="OPERATOR", hint="export the model in evaluation mode")
        dims = None
    elif node.op_type == "PRelu":
        dims = _slope_dims(*(tensors[name] for name in node.inputs))
    elif node.op_type in _MORE_ATTRIBUTES or means_the_same(node.op_type, OLD, NEW):
        dims = None
    else:
        raise AidgeError(
            f"{node.op_type} of opset {OLD} is not supported",
            code="VERSION",
            hint="convert the model: onnx.version_converter.convert_version(model, 17)",
        )
    if dims is None or dims == tensors[node.inputs[1]].dims:
        return replace(node, attributes=attributes), None
    second = tensors[node.inputs[1]]
    if not second.is_constant:
        raise AidgeError(
            f"input 1 ('{second.name}') is spread over inner axes and computed at run time; in opset {OLD} it must be constant",
            code="OPERATOR",
            hint="convert the model: onnx.version_converter.convert_version(model, 17)",
        )
    name = f"{second.name}_spread"
    while name in tensors:
        name += "_"
    made = constant(name, second.data.reshape(dims))
    return replace(node, attributes=attributes, inputs=(node.inputs[0], name, *node.inputs[2:])), made


def _broadcast_dims(node: ModelNode, broadcasts: bool, axis: Any, tensors: Mapping[str, Tensor]) -> tuple[int, ...] | None:
    """The dims that input 1 needs so that numpy's rule does what the attributes say; None: its own."""
    if node.op_type == "Gemm":
        return None
    first, second = (tensors[name] for name in node.inputs)
    if not broadcasts:
        if first.dims != second.dims:
            raise AidgeError(
                f"the inputs have the dims {list(first.dims)} and {list(second.dims)}, and broadcast is 0", code="OPERATOR"
            )
        return None
    if axis is None:
        return None
    axis += first.rank if axis < 0 else 0
    behind = first.rank - axis - second.rank
    if behind < 0 or axis < 0:
        raise AidgeError(
            f"axis {axis}: an input of rank {second.rank} does not fit into an input of rank {first.rank}", code="OPERATOR"
        )
    return (*second.dims, *(1,) * behind)


def _slope_dims(data: Tensor, slope: Tensor) -> tuple[int, ...] | None:
    """One slope for each channel, whatever the rank."""
    return (slope.elements, *(1,) * (data.rank - 2)) if slope.elements > 1 and data.rank > 2 and slope.rank == 1 else None
