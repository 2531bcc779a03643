# SPDX-License-Identifier: MIT
"""A copy to row-major in front of a flattening FC folds into the constant weights: the columns are permuted instead."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy

from aidge_build.graph.format import channels_last, row_major, same_bytes
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.prepare.adaptation.formats import Option


def fold_into_weights(view: GraphView, chosen: Mapping[str, Option]) -> GraphView | None:
    """Rewrites [N, C, H, W] stored as NHWC -> Flatten -> FC to Transpose (no bytes) -> Reshape (no bytes) -> FC with permuted
    weights. Returns None if there is no such place; otherwise formats must be chosen again for the new graph.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        order = _stored_order(view, chosen, node) if foldable(view, node) else None
        if order is None:
            continue
        readers = view.consumers(node.output)
        source, result = view.tensor(node.inputs[0]), view.tensor(node.output)
        columns = numpy.arange(math.prod(source.dims[1:])).reshape(source.dims[1:])
        columns = columns.transpose([axis - 1 for axis in order[1:]]).reshape(-1)
        moved = rewrite.add_tensor(source.with_(name=f"{source.name}_moved", dims=tuple(source.dims[axis] for axis in order)))
        flat = rewrite.add_tensor(result.with_(name=f"{result.name}_moved"))
        rewrite.replace_node(
            node,
            Node(f"{node.name}_transpose", Transpose(order), (source.name,), (moved,), node.origin),
            Node(node.name, Reshape(result.dims), (moved,), (flat,), node.origin),
        )
        for reader in readers:
            weights = view.tensor(reader.inputs[1])
            name = rewrite.add_tensor(
                weights.with_(name=f"{weights.name}_moved", data=numpy.ascontiguousarray(weights.data[:, columns]))
            )
            rewrite.replace_node(reader, reader.with_(inputs=(flat, name, *reader.inputs[2:])))
    return rewrite.finish() if rewrite.changed else None


def foldable(view: GraphView, node: Node) -> bool:
    """Whether the node flattens a computed tensor, except for the batch, and only fully connected layers read it."""
    if node.type not in ("Flatten", "Reshape") or view.is_output(node.output):
        return False
    source, result = view.tensor(node.inputs[0]), view.tensor(node.output)
    flattens = view.producer(source.name) is not None and result.rank == 2 and source.dims[:1] == result.dims[:1]
    return flattens and all(_takes_columns(view, reader, node) for reader in view.consumers(result.name))


def fold_option(view: GraphView, node: Node) -> Option:
    """Returns the option that flattens channels-last data without moving a byte: right once the readers' weights are permuted."""
    return Option(None, ((0, channels_last(view.tensor(node.inputs[0]).rank)),), (row_major(2),))


def _stored_order(view: GraphView, chosen: Mapping[str, Option], node: Node) -> tuple[int, ...] | None:
    """Returns the storage order of the node's input if a copy is needed first, else None."""
    source = view.tensor(node.inputs[0])
    producer = view.producer(source.name)
    form = chosen[producer.name].outputs[producer.outputs.index(source.name)]
    return None if form.order[0] != 0 or same_bytes(source.dims, form, row_major(source.rank)) else form.order


def _takes_columns(view: GraphView, reader: Node, node: Node) -> bool:
    _, *others = reader.inputs
    if reader.type != "FC" or node.output in others:
        return False
    weights = view.tensor(reader.inputs[1])
    return weights.is_constant and (weights.quantization is None or weights.quantization.axis in (None, 0))
