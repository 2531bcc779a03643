# SPDX-License-Identifier: MIT
"""Adds nodes before and after a model, in its own file: everything else in the file stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import onnx

from aidge_build.sources.onnx_format.model import OnnxModel
from aidge_build.sources.onnx_format.names import STATES, states_text
from aidge_build.sources.onnx_format.reader import read_model
from aidge_build.sources.onnx_format.writer import write_model


def names_in(data: bytes) -> set[str]:
    """Every name of a tensor and of a node that a model's file holds."""
    found: set[str] = set()
    graphs = [onnx.ModelProto.FromString(data).graph]
    while graphs:
        graph = graphs.pop()
        found |= {value.name for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info)}
        for node in graph.node:
            found |= {node.name, *node.input, *node.output}
            graphs += [graph for attribute in node.attribute for graph in (attribute.g, *attribute.graphs) if graph.node]
    return found


def joined(
    data: bytes, part: OnnxModel, before: Mapping[str, str], behind: Mapping[str, str], kept: Collection[str] = ()
) -> bytes:
    """Returns the model of `data` with the nodes of `part`: `before` maps outputs of the part to the inputs of the model that
    they become, `behind` maps outputs of the model to inputs of the part; these outputs only stay outputs if `kept` has them.

    The part's other inputs come before the model's inputs, its other outputs before the model's outputs. No name of the part may
    be a name of the model.
    """
    model, added = onnx.ModelProto.FromString(data), onnx.ModelProto.FromString(write_model(part))
    graph, more = model.graph, added.graph
    new = dict(before) | {ours: theirs for theirs, ours in behind.items()}
    for node in more.node:
        _replace(node.input, [new.get(name, name) for name in node.input])
        _replace(node.output, [new.get(name, name) for name in node.output])
    _replace(graph.input, [*_without(more.input, new), *_without(graph.input, before.values())])
    _replace(graph.output, [*_without(more.output, new), *_without(graph.output, set(behind) - set(kept))])
    _replace(graph.node, [*more.node, *graph.node] if before else [*graph.node, *more.node])
    graph.initializer.extend(more.initializer)
    known = {"", *(entry.domain for entry in model.opset_import)}
    model.opset_import.extend(entry for entry in added.opset_import if entry.domain not in known)
    _add_states(model, data, part.states)
    return model.SerializeToString(deterministic=True)


def _without(values: Iterable[onnx.ValueInfoProto], names: Collection[str]) -> list[onnx.ValueInfoProto]:
    return [value for value in values if value.name not in names]


def _add_states(model: onnx.ModelProto, data: bytes, more: Mapping[str, str]) -> None:
    """Writes the states of the model's file `data` and more of them."""
    states = {**read_model(data, "", {}).states, **more} if model.metadata_props else more
    _replace(model.metadata_props, [entry for entry in model.metadata_props if entry.key != STATES])
    if states:
        model.metadata_props.add(key=STATES, value=states_text(states))


def _replace(field, values: Iterable) -> None:
    kept = list(values)
    kept = [value if isinstance(value, str) else type(value).FromString(value.SerializeToString()) for value in kept]
    del field[:]
    field.extend(kept)
