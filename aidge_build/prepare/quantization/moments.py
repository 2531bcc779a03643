# SPDX-License-Identifier: MIT
"""Moments of the data that the weights of linear layers are multiplied by."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy

from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import windows
from aidge_build.prepare.quantization.observe import Progress
from aidge_build.prepare.quantization.samples import count_of

MOST_SAMPLES = 512  # evenly spaced among all samples
MOST_TERMS = 1024  # of one sum: the products of all pairs of them are kept
WINDOWS_PER_TERM = 32  # this number is enough: layers with many windows look at fewer samples

Products = numpy.ndarray  # [group, term, term]: the mean of x_i x_j over windows of samples


def products_of(
    view: GraphView,
    samples: Mapping[str, numpy.ndarray],
    names: Collection[str],
    centred: bool,
    progress: Progress | None = None,
) -> dict[str, Products]:
    """Returns for each of the named linear nodes the second moments of the terms of its sums; about their means if `centred`.

    Nodes with sums of more than MOST_TERMS terms are left out.
    """
    nodes = [node for node in view.nodes if node.name in names and has_products(view, node)]
    count = count_of(samples)
    chosen = numpy.unique(numpy.linspace(0, count - 1, min(count, MOST_SAMPLES)).round().astype(int)) if nodes else ()
    sums: dict[str, list] = {node.name: [0.0, 0.0, 0] for node in nodes}
    strides = {node.name: _stride(view, node, len(chosen)) for node in nodes}
    execution = prepare(view)
    context = execution.context({})
    for done, index in enumerate(chosen):
        execution.forward(context, {name: values[index] for name, values in samples.items()})
        for node in nodes:
            if done % strides[node.name] == 0:
                rows, known = _terms(node, context[node.inputs[0]]), sums[node.name]
                known[0] = known[0] + numpy.swapaxes(rows, 1, 2) @ rows
                known[1] = known[1] + rows.sum(axis=1)
                known[2] += rows.shape[1]
        if progress is not None:
            progress("weighed", done + 1, len(chosen))
    return {name: _moments(products / number, means / number, centred) for name, (products, means, number) in sums.items()}


def _stride(view: GraphView, node: Node, count: int) -> int:
    """Returns the distance between two samples that the node looks at."""
    weights, result = view.tensor(node.inputs[1]), view.tensor(node.output)
    terms = max(1, weights.elements // weights.dims[0])
    return max(1, result.elements // weights.dims[0] * count // (WINDOWS_PER_TERM * terms))


def _moments(products: numpy.ndarray, means: numpy.ndarray, centred: bool) -> Products:
    return products - means[:, :, None] * means[:, None, :] if centred else products


def has_products(view: GraphView, node: Node) -> bool:
    """Whether the terms of the node's sums are known, and not too many."""
    if not isinstance(node.operator, Conv | FC):
        return False
    weights = view.tensor(node.inputs[1])
    return weights.elements // max(weights.dims[0], 1) <= MOST_TERMS


def _terms(node: Node, data: numpy.ndarray) -> numpy.ndarray:
    """Returns the data that the rows of the weights are multiplied by, [group, window, term], in the rows' order."""
    values = data.astype(numpy.float64)
    if not isinstance(node.operator, Conv):
        return values[None]
    window, groups = node.operator.window, node.operator.groups
    patches = windows(values, window, 0)  # [N, C, out..., kernel...]
    rank, channels = window.rank, values.shape[1]
    patches = numpy.moveaxis(patches, 1, 1 + rank)  # [N, out..., C, kernel...]
    rows = patches.reshape(-1, groups, channels // groups * int(numpy.prod(window.kernel)))
    return numpy.swapaxes(rows, 0, 1)
