# SPDX-License-Identifier: MIT
"""Lines about the parts of a model's file that no layer computes, for a user who looks for a node."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from aidge_build.sources.formats.onnx.order import unique_names
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, read_model
from aidge_build.sources.source_format import ModelFile


def left_out(file: ModelFile, origins: Collection[str]) -> Iterator[str]:
    """Yields a line for each node and initialiser that is not needed, and for each node that no layer comes from.

    `origins` are the names of the nodes that layers come from.
    """
    model = read_model(file.data, file.name, file.external)
    needed = _needed(model)
    names = unique_names(model.nodes)
    for node in model.nodes:
        if node.index not in needed:
            yield f"left out: {node.where()}: no output needs it"
        elif (node.name or names[node.index]) not in origins:
            yield f"left out: {node.where()}: evaluated while generating, or only another name for its input"
    read = {tensor for node in model.nodes if node.index in needed for tensor in node.reads}
    read |= {value.name for value in model.outputs}
    for tensor in sorted(set(model.initializers) - read):
        yield f"left out: initialiser '{tensor}': nothing that is needed reads it"


def _needed(model: OnnxModel) -> set[int]:
    """The nodes from which data reaches an output, by index."""
    producers: dict[str, ModelNode] = {output: node for node in model.nodes for output in node.outputs if output}
    waiting = [value.name for value in model.outputs]
    found: set[int] = set()
    while waiting:
        node = producers.get(waiting.pop())
        if node is not None and node.index not in found:
            found.add(node.index)
            waiting += node.reads
    return found
