# SPDX-License-Identifier: MIT
"""Operators that the ONNX standard itself defines by a function of others: the body that it gives for a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.sources.onnx_format.model import Function, ModelNode, graphs_of
from aidge_build.sources.onnx_format.nodes import read_function
from aidge_build.sources.onnx_format.standard import find_schema
from aidge_build.sources.onnx_format.types import number_of
from aidge_build.sources.onnx_format.writer import node_bytes


def has_body(full_type: str, opset: int) -> bool:
    """Whether the standard defines the operator of this opset by other operators."""
    schema = _schema(full_type, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def body_of(node: ModelNode, opset: int, inputs: Sequence[Tensor | None]) -> Function | None:
    """Returns the standard's function for a node of this opset, given its inputs' types; None if the standard has none."""
    schema = _schema(node.full_type, opset)
    if schema is None or any(graphs_of(node)):
        return None
    if schema.has_function:
        version = _version(schema.function_opset_versions, opset)
        data = schema.get_function_with_opset_version(version) if version else b""
    elif schema.has_context_dependent_function:
        version = _version(schema.context_dependent_function_opset_versions, opset)
        types = [_type(tensor) for tensor in inputs]
        try:
            data = schema.get_context_dependent_function_with_opset_version(version, node_bytes(node), types) if version else b""
        except Exception as error:  # of C++, with texts of its own
            said = (str(error).splitlines() or [type(error).__name__])[-1]
            raise AidgeError(f"the standard's definition of {node.op_type} does not cover it: {said}", code="OPERATOR") from error
    else:
        return None
    if not data:
        return None
    body = read_function(data)
    defaults = {
        name: onnx_value(rule.default_value)
        for name, rule in schema.attributes.items()
        if rule.default_value.type and name not in body.defaults
    }
    domain = node.domain
    return replace(body, opsets={domain: version, **body.opsets}, defaults={**body.defaults, **defaults})


def onnx_value(attribute: onnx.AttributeProto):
    """The value of an attribute that a schema states."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    return tuple(value) if isinstance(value, list) else value


def _schema(full_type: str, opset: int):
    domain, _, name = full_type.rpartition("::")
    schema = find_schema(name, opset, domain)
    return None if schema is None or schema.deprecated else schema


def _version(versions: Sequence[int], opset: int) -> int:
    """The newest body that this opset may use; 0: none."""
    return max((version for version in versions if version <= opset), default=0)


def _type(tensor: Tensor | None) -> bytes:
    if tensor is None:
        return onnx.TypeProto().SerializeToString()
    return onnx.helper.make_tensor_type_proto(number_of(tensor.dtype), tensor.dims).SerializeToString()
