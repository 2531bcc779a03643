# SPDX-License-Identifier: MIT
"""The ONNX standard's signature of an operator as plain values: its inputs, outputs, attributes, and the types that it takes."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format.model import ML
from aidge_build.sources.onnx_format.standard import find_schema
from aidge_build.sources.onnx_format.types import ONNX_TYPE_NAMES

_KINDS = {
    onnx.defs.OpSchema.FormalParameterOption.Single: "single",
    onnx.defs.OpSchema.FormalParameterOption.Optional: "optional",
    onnx.defs.OpSchema.FormalParameterOption.Variadic: "variadic",
}
_OURS = {name: dtype for dtype, name in ONNX_TYPE_NAMES.items()}


@dataclass(frozen=True)
class Parameter:
    """An input or output: kind single, optional or variadic; `dtypes` are the types of aidge_build that the standard allows."""

    name: str
    kind: str
    dtypes: tuple[DType, ...]


@dataclass(frozen=True)
class AttributeRule:
    """An attribute: its ONNX kind (INT, FLOATS, ...), whether it must be given, and its default if the standard states one."""

    name: str
    kind: str
    required: bool
    default: object = None


@dataclass(frozen=True)
class NodeSignature:
    """An operator; `since` is the opset that brought this form. `open`: its attributes are not all known."""

    since: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: tuple[AttributeRule, ...]
    open: bool = False


def signature_of(full_type: str, opset: int) -> NodeSignature | None:
    """The signature of "Conv" in this opset, or in the newest where this has none; None for other domains and withdrawn
    operators."""
    found = (_schema(full_type, opset), _schema(full_type, onnx.defs.onnx_opset_version()))
    in_use = (one for one in found if one is not None and (one.domain == ML or not one.deprecated))
    schema = next(in_use, None)
    if schema is None:
        return None
    attributes = tuple(_rule(schema.attributes[name]) for name in sorted(schema.attributes))
    inputs, outputs = (tuple(map(_parameter, formal)) for formal in (schema.inputs, schema.outputs))
    return NodeSignature(schema.since_version, inputs, outputs, attributes)


def _schema(full_type: str, opset: int):
    domain, _, operator = full_type.rpartition("::")
    return find_schema(operator, opset, domain)


def _parameter(formal) -> Parameter:
    allowed = {_OURS[name] for name in formal.types if name in _OURS}
    return Parameter(formal.name, _KINDS[formal.option], tuple(dtype for dtype in DType if dtype in allowed))


def _rule(attribute) -> AttributeRule:
    default = onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.type else None
    if isinstance(default, bytes):
        default = default.decode()
    default = tuple(default) if isinstance(default, list) else default
    return AttributeRule(attribute.name, attribute.type.name, attribute.required, default)
