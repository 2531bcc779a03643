# SPDX-License-Identifier: MIT
"""float16 as float32: every number of a half has the same value there, and kernels compute in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy
import onnx

from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format.model import Function, ModelNode, OnnxModel, SubGraph, ValueInfo

HALF, SINGLE = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
# Attributes that name an element type: of Cast, of what makes tensors, of windows, and of what computes in another precision.
_TYPES = ("to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "stash_type")


def in_single_precision(model: OnnxModel) -> OnnxModel:
    """The model with float32 for float16: constants, inputs and outputs, attributes, also in sub-graphs and functions."""
    return replace(
        model,
        nodes=_nodes(model.nodes),
        initializers=_constants(model.initializers),
        inputs=tuple(map(_declared, model.inputs)),
        outputs=tuple(map(_declared, model.outputs)),
        functions={key: _function(function) for key, function in model.functions.items()},
    )


def halves_of(model: OnnxModel) -> tuple[str, ...]:
    """The inputs and outputs of float16; an initializer is no input."""
    values = (*model.inputs, *model.outputs)
    return tuple(value.name for value in values if value.dtype is DType.float16 and value.name not in model.initializers)


def _nodes(nodes: tuple[ModelNode, ...]) -> tuple[ModelNode, ...]:
    return tuple(replace(node, attributes=_attributes(node.attributes)) if node.attributes else node for node in nodes)


def _attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _attribute(name, value) for name, value in attributes.items()}


def _attribute(name: str, value: Any) -> Any:
    if isinstance(value, SubGraph):
        return replace(value, nodes=_nodes(value.nodes), initializers=_constants(value.initializers))
    if isinstance(value, numpy.ndarray):
        return _wide(value)
    return SINGLE if name in _TYPES and value == HALF else value


def _constants(values: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    return {name: _wide(value) for name, value in values.items()}


def _wide(values: numpy.ndarray) -> numpy.ndarray:
    return values.astype(numpy.float32) if values.dtype == numpy.float16 else values


def _declared(value: ValueInfo) -> ValueInfo:
    return replace(value, dtype=DType.float32) if value.dtype is DType.float16 else value


def _function(function: Function) -> Function:
    return replace(function, nodes=_nodes(function.nodes), defaults=_attributes(function.defaults))
