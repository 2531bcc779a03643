# SPDX-License-Identifier: MIT
"""Layers by the names that users have for them: their own in the model's file, and the short ones that tables print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import NAME_TO_LOOK_AT, layer_symbols, no_layer, readable_names
from aidge_build.build.imported import import_model
from aidge_build.build.request import CompileRequest
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.quantization.layers import Layer, layers_of
from aidge_build.prepare.quantization.prepare import prepared
from aidge_build.sources.formats.onnx.importer import import_with_sources


def symbols_of(nodes: Iterable[Node]) -> dict[str, str]:
    """The names of the layers' functions in C, by the nodes' names, in a model that no firmware names."""
    pairs = [(node.name, node.type) for node in nodes]
    return {name: symbol for (name, _), symbol in zip(pairs, layer_symbols(NAME_TO_LOOK_AT, pairs), strict=True)}


def nodes_called(word: str, view: GraphView) -> tuple[Node, ...]:
    """The nodes that a user means by a word: their own name, a printed one, a node of the file that is part of them, or a tensor
    that they write. () if there are none."""
    symbols = symbols_of(view.nodes)
    read = readable_names(symbols, NAME_TO_LOOK_AT)
    for names in (
        lambda node: (node.name,),
        lambda node: (read[node.name], symbols[node.name].removeprefix(f"{NAME_TO_LOOK_AT}_")),
        lambda node: (*node.origin, *node.outputs),
    ):
        found = tuple(node for node in view.nodes if word in names(node))
        if found:
            return found
    return ()


def printed_names(view: GraphView) -> list[str]:
    """The names of all layers as tables print them, in order."""
    return list(readable_names(symbols_of(view.nodes), NAME_TO_LOOK_AT).values())


def with_own_names(scheme: Scheme, request: CompileRequest, samples: Mapping[str, numpy.ndarray]) -> Scheme:
    """The scheme with layers of the float model in place of the names that tables print, of the float model or of the int8 one.

    Raises AidgeError (USAGE) for a name without a layer, and for one that means different layers in these two models.
    """
    if not scheme.layers:
        return scheme
    view = prepared(import_with_sources(request.model, request.file_name, request.operators, request.bind, request.external).view)
    layers = layers_of(view, Scheme()).layers
    own = {*view.inputs, *(name for layer in layers for name in layer.names)}
    printed = [name for name in scheme.layers if name not in own]
    if not printed:
        return scheme
    settled = {name: kind for name, kind in scheme.layers.items() if name in own}
    views = _both(replace(scheme, layers=settled, least_sqnr=-math.inf), request, samples)
    for name in printed:
        for layer in _meant(name, views, layers):
            settled.setdefault(layer.names[0], scheme.layers[name])
    return replace(scheme, layers=settled)


def _both(scheme: Scheme, request: CompileRequest, samples: Mapping[str, numpy.ndarray]) -> tuple[GraphView, GraphView]:
    """The graphs of the float model and of the quantized one: the names that are printed count the layers of either."""
    model = quantize(
        request.model,
        samples,
        scheme,
        name=request.file_name,
        operators=request.operators,
        bind=request.bind,
        external=request.external,
    )
    return import_model(request)[0], import_model(replace(request, model=model, external={}, bind={}))[0]


def _meant(word: str, views: Iterable[GraphView], layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """The layers that the word means in one of the graphs, and in no other graph different ones."""
    found = []
    for view in views:
        names = {name for node in nodes_called(word, view) for name in (node.name, *node.origin, *node.outputs)}
        found.append(tuple(layer for layer in layers if names.intersection(layer.names)))
    different = list(dict.fromkeys(filter(None, found)))
    if not different:
        raise no_layer(word, [name for view in views for name in printed_names(view)], "--layer-types")
    if len(different) > 1:
        first, second = (" and ".join(repr(layer.names[0]) for layer in each) for each in different)
        raise AidgeError(
            f"layer '{word}' is {first} in the float model, and {second} in the int8 model",
            where="--layer-types",
            hint="name it by its node",
            code="USAGE",
        )
    return different[0]
