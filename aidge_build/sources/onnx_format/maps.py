# SPDX-License-Identifier: MIT
"""Maps become tensors while a file is read: the keys are the names of the columns.

A ZipMap, which gives a sequence of maps, passes its input on; a DictVectorizer takes its columns instead of a map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format.model import ML, ModelNode, OnnxModel, ValueInfo


def without_maps(model: OnnxModel) -> OnnxModel:
    """The model with a tensor in the place of each map; AidgeError where a map is no output of a ZipMap, and no input of a
    DictVectorizer."""
    inputs = {value.name: value for value in model.inputs}
    outputs = {value.name: value for value in model.outputs}
    nodes = []
    for node in model.nodes:
        if node.full_type == f"{ML}::ZipMap":
            value = _map(node.outputs, outputs, node)
            names = _keys(node, "classlabels_strings", "classlabels_int64s")
            plain = "classlabels_int64s" in node.attributes and names == tuple(map(str, range(len(names))))
            outputs[value.name] = replace(value, holds="numbers", names=() if plain else names)
            node = replace(node, op_type="Identity", domain="", attributes={}, opset=13)
        elif node.full_type == f"{ML}::DictVectorizer":
            value = _map(node.inputs, inputs, node)
            names = _keys(node, "string_vocabulary", "int64_vocabulary")
            inputs[value.name] = replace(value, holds="numbers", names=names, dims=(1, len(names)))
            node = replace(node, op_type="Identity", domain="", attributes={}, opset=13)
        nodes.append(node)
    for side, values in (("input", inputs), ("output", outputs)):
        for value in values.values():
            if value.holds in ("map", "maps"):
                raise AidgeError(
                    f"graph {side} '{value.name}': its type is {'map' if value.holds == 'map' else 'sequence'}, which only the "
                    "output of a ZipMap and the input of a DictVectorizer may have",
                    code="TYPE",
                )
    return replace(model, nodes=tuple(nodes), inputs=tuple(inputs.values()), outputs=tuple(outputs.values()))


def _map(names: tuple[str, ...], values: Mapping[str, ValueInfo], node: ModelNode) -> ValueInfo:
    found = values.get(names[0]) if len(names) == 1 else None
    if found is None or found.holds not in ("map", "maps") and found.dtype is not DType.any:
        raise AidgeError("maps are supported as inputs and outputs of the graph only", where=node.where(), code="TYPE")
    return found


def _keys(node: ModelNode, words: str, integers: str) -> tuple[str, ...]:
    found = node.attributes.get(words, node.attributes.get(integers))
    if not isinstance(found, tuple) or not found:
        raise AidgeError(f"it has neither {words} nor {integers}", where=node.where(), code="MODEL")
    return tuple(map(str, found))
