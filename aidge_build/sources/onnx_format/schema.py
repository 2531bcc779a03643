# SPDX-License-Identifier: MIT
"""The ONNX standard's own rules for a node: counts and types of inputs, attributes, outputs.

They are checked for every node of the default domain and of ai.onnx.ml, so that operators only check what no schema can say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format.model import ML, ModelNode
from aidge_build.sources.onnx_format.standard import find_schema
from aidge_build.sources.onnx_format.types import ONNX_TYPE_NAMES

_VARIADIC = onnx.defs.OpSchema.FormalParameterOption.Variadic
_SINGLE = onnx.defs.OpSchema.FormalParameterOption.Single
_NOT_NEEDED = (("Resize", 1), ("Resize", 2))  # opset 11 asks for roi and scales, which not every form reads
_KIND = {
    "INT": int,
    "FLOAT": float,
    "STRING": str,
    "INTS": int,
    "FLOATS": float,
    "STRINGS": str,
}


def check_node(node: ModelNode, opset: int, types: Sequence[DType | None]) -> None:
    """Refuses a node that the schema of its opset forbids; `types` are the element types of its inputs.

    Domains that the package onnx has no schema for are not checked.
    """
    if node.domain not in ("", ML):
        return
    rules = _rules_of(node.op_type, opset, node.domain)
    if rules is None:
        raise _refusal(f"opset {opset}{' of ' * bool(node.domain)}{node.domain} has no operator {node.op_type}")
    if rules.is_withdrawn and not node.domain:  # trees in the words of ai.onnx.ml 3 are still written
        raise _refusal(f"operator {node.op_type} is withdrawn in opset {opset}")
    _check_attributes(node, rules.attributes)
    _check_count(node, "inputs", len(node.inputs), rules.input_counts)
    for index, (name, parameter) in enumerate(zip(node.inputs, rules.inputs)):
        if not name and parameter.option == _SINGLE and (node.op_type, index) not in _NOT_NEEDED:
            raise _refusal(f"input {index} ({parameter.name}) is not given")
    _check_count(node, "outputs", len(node.outputs), rules.output_counts)
    _check_types(node, rules.inputs, types)


class _Parameter(NamedTuple):
    name: str
    option: onnx.defs.OpSchema.FormalParameterOption
    types: frozenset[str]
    type_word: str
    is_homogeneous: bool


class _Rules(NamedTuple):
    """The rules of a schema, kept because the package makes all of it again for each question. `attributes` has, by name and in
    the schema's order, the kind and whether the attribute must be given; counts are the least and the most."""

    is_withdrawn: bool
    attributes: dict[str, tuple[str, bool]]
    inputs: tuple[_Parameter, ...]
    input_counts: tuple[int, int]
    output_counts: tuple[int, int]


@cache
def _rules_of(operator: str, opset: int, domain: str) -> _Rules | None:
    schema: Any = find_schema(operator, opset, domain)
    if schema is None:
        return None
    return _Rules(
        schema.deprecated,
        {name: (one.type.name, one.required) for name, one in sorted(schema.attributes.items())},
        tuple(_Parameter(one.name, one.option, frozenset(one.types), one.type_str, one.is_homogeneous) for one in schema.inputs),
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
    )


def _check_count(node: ModelNode, what: str, count: int, counts: tuple[int, int]) -> None:
    least, most = counts
    if not least <= count <= most:
        raise _refusal(f"{count} {what}; {node.op_type} has {least}" + ("" if least == most else f" to {most}"))


def has_schema(full_type: str, opset: int) -> bool:
    """Whether the standard has the operator in this opset."""
    domain, _, name = full_type.rpartition("::")
    return (
        onnx.defs.has(name, domain) and opset >= onnx.defs.get_schema(name, onnx.defs.onnx_opset_version(), domain).since_version
    )


def means_the_same(operator: str, opset: int, other: int) -> bool:
    """Whether the operator of the default domain has one definition in both opsets."""
    first, second = find_schema(operator, opset), find_schema(operator, other)
    return first is not None and second is not None and first.since_version == second.since_version


def _check_attributes(node: ModelNode, known: Mapping[str, tuple[str, bool]]) -> None:
    for name in sorted(node.attributes):
        if name not in known:
            raise _refusal(f"unknown attribute '{name}'", f"{node.op_type} of this opset has: {', '.join(known) or 'none'}")
        kind, _ = known[name]
        value = node.attributes[name]
        wanted = _KIND.get(kind)
        items = value if isinstance(value, tuple) else (value,)
        if wanted is not None and (isinstance(value, tuple) != kind.endswith("S") or not all(type(i) is wanted for i in items)):
            raise _refusal(f"attribute '{name}' is {_shown(value)}, wants {kind}")
        if kind == "TENSOR" and not hasattr(value, "dtype"):
            raise _refusal(f"attribute '{name}' is {_shown(value)}, wants TENSOR")
    for name, (_, is_required) in known.items():
        if is_required and name not in node.attributes:
            raise _refusal(f"the required attribute '{name}' is missing")


def _shown(value) -> str:
    return f"{type(value).__name__} {str(value)[:60]!r}"


def _check_types(node: ModelNode, inputs: Sequence[_Parameter], types: Sequence[DType | None]) -> None:
    bound: dict[str, tuple[str, DType]] = {}
    for index, (name, dtype) in enumerate(zip(node.inputs, types)):
        parameter = inputs[min(index, len(inputs) - 1)]
        if dtype is None:
            continue
        if ONNX_TYPE_NAMES[dtype] not in parameter.types:
            raise _refusal(f"input {index} ('{name}') is {dtype.name}, {node.op_type} wants {_listed(parameter.types)}")
        if parameter.option == _VARIADIC and not parameter.is_homogeneous:
            continue
        first, other = bound.setdefault(parameter.type_word, (name, dtype))
        if other is not dtype:
            raise _refusal(
                f"input {index} ('{name}') is {dtype.name}, but '{first}' is {other.name}",
                "both must have the same type: insert a Cast",
            )


def _listed(types) -> str:
    ours = {name: dtype for dtype, name in ONNX_TYPE_NAMES.items()}
    return " or ".join(dtype.name for dtype in DType if dtype in {ours[name] for name in types if name in ours}) or "another kind"


def _refusal(what: str, hint: str = "") -> AidgeError:
    return AidgeError(what, hint=hint, code="SCHEMA")
