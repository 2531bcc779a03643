# SPDX-License-Identifier: MIT
"""LabelEncoder and CategoryMapper of all opsets as keys, values, and the value of any other key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.sources.onnx_format.model import ML, AttributeValue, ModelNode
from aidge_build.sources.onnx_format.tensors import text_array

MAPPINGS = (f"{ML}::LabelEncoder", f"{ML}::CategoryMapper")
OPSET = 4  # of ai.onnx.ml, which `mapping_node` writes
_TYPES = {"float": numpy.float32, "int64": numpy.int64}
_DEFAULTS = {"float": -0.0, "int64": -1, "string": "_Unused"}


@dataclass(frozen=True, eq=False)
class Mapping:
    """`values[i]` for the key `keys[i]`, `default` (one element) for any other; arrays of objects hold text."""

    keys: numpy.ndarray
    values: numpy.ndarray
    default: numpy.ndarray


def is_text(value: AttributeValue | None) -> bool:
    """Whether the value of an attribute or initialiser is a tensor of text."""
    return isinstance(value, numpy.ndarray) and value.dtype == object


def mapping_of(node: ModelNode, opset: int, of_text: bool) -> Mapping:
    """Returns the mapping of a LabelEncoder or a CategoryMapper; `of_text`: whether its input is text. AidgeError if lists do not
    fit.

    Before opset 4 of ai.onnx.ml NaN equals no key.
    """
    given = node.attributes
    if node.op_type == "CategoryMapper" or "classes_strings" in given:
        words = _listed(given, "cats_strings" if node.op_type == "CategoryMapper" else "classes_strings", "string")
        numbers = _listed(given, "cats_int64s", "int64") if "cats_int64s" in given else numpy.arange(len(words))
        keys, values = (words, numbers) if of_text else (numbers, words)
        kind = "int64" if of_text else "string"
        default = _array(f"default_{kind}", kind, (given.get(f"default_{kind}", _DEFAULTS[kind]),))
    else:
        keys, _ = _side(given, "keys")
        values, kind = _side(given, "values")
        default = _default(given, kind, values)
    if len(keys) != len(values) or len(default) != 1:
        raise AidgeError(
            f"it has {len(keys)} keys, {len(values)} values and {len(default)} defaults", where=node.where(), code="MODEL"
        )
    if opset < OPSET and not is_text(keys):
        keys, values = keys[keys == keys], values[keys == keys]
    return Mapping(keys, values, default)


def mapping_node(node: ModelNode, mapping: Mapping) -> ModelNode:
    """The node as a LabelEncoder of this mapping."""
    attributes = {"keys_tensor": mapping.keys, "values_tensor": mapping.values, "default_tensor": mapping.default}
    return ModelNode(node.index, "LabelEncoder", ML, node.name, node.inputs, node.outputs, attributes, OPSET)


def _side(given, side: str) -> tuple[numpy.ndarray, str]:
    for kind in ("int64", "float", "string"):
        listed = given.get(f"{side}_{kind}s", ())
        if not isinstance(listed, tuple) or listed:
            return _array(f"{side}_{kind}s", kind, listed), kind
    found = given.get(f"{side}_tensor")
    if isinstance(found, numpy.ndarray):
        return found.reshape(-1), "tensor"
    raise AidgeError(f"it has no {side}", code="MODEL")


def _default(given, kind: str, values: numpy.ndarray) -> numpy.ndarray:
    if kind == "tensor":
        found = given.get("default_tensor")
        if isinstance(found, numpy.ndarray):
            if is_text(found) != is_text(values):
                raise AidgeError("default_tensor and values are of different kinds", code="MODEL")
            return found.reshape(-1)
        kind = "string" if is_text(values) else "float" if values.dtype.kind == "f" else "int64"
    default = _array(f"default_{kind}", kind, (given.get(f"default_{kind}", _DEFAULTS[kind]),))
    return default if is_text(values) else default.astype(values.dtype)


def _listed(given, name: str, kind: str) -> numpy.ndarray:
    """The attribute of this name, a list."""
    return _array(name, kind, given.get(name, ()))


def _array(name: str, kind: str, values) -> numpy.ndarray:
    wanted = {"string": str, "float": float, "int64": int}[kind]
    if not isinstance(values, tuple) or not all(type(value) is wanted for value in values):
        raise AidgeError(f"attribute '{name}' is {str(values)[:60]!r}, wants {kind}s", code="MODEL")
    return text_array(values) if kind == "string" else numpy.array(values, _TYPES[kind])
