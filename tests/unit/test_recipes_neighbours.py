# SPDX-License-Identifier: MIT
"""Graphs that differ in one attribute from a graph that recipes rewrite: whatever the recipes make of them means the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.check import check_graph
from aidge_build.prepare.recipes.meaning import require_same_meaning
from tests.golden.recipe_cases import CASES
from tests.golden.recipe_spellings import SPELLINGS
from tests.golden.test_recipe_texts import imported


def with_scales_of_channels(view: GraphView) -> Iterator[GraphView]:
    """One QuantizeLinear or DequantizeLinear has a scale for each index of axis 1."""
    for node in view.nodes:
        if node.type in ("QuantizeLinear", "DequantizeLinear"):
            data, scale, *points = view.input_tensors(node)
            if data.rank > 1 and scale.is_constant and scale.elements == 1:
                rewrite, count = Rewrite(view), data.dims[1]
                scales = numpy.linspace(1, 1.5, count, dtype=numpy.float32) * scale.data.reshape(())
                lists = [constant("scales", scales)]
                lists += [constant("points", numpy.full(count, point.data.reshape(()))) for point in points if point is not None]
                names = [rewrite.add_tensor(one) for one in lists]
                operator = node.operator.__class__(1, *([node.operator.dtype] if node.type == "QuantizeLinear" else []))
                rewrite.replace_node(node, node.with_(operator=operator, inputs=(node.input, *names)))
                yield rewrite.finish()


def with_another_output(view: GraphView) -> Iterator[GraphView]:
    """One result in between that depends on the inputs is an output of the graph, too."""
    moving = set(view.inputs)
    for node in view.nodes:
        if not moving.isdisjoint(node.inputs):
            moving.update(node.outputs)
    for name in sorted(moving.difference(view.inputs, view.outputs)):
        yield GraphView(view.name, view.nodes, view.tensors, view.inputs, (*view.outputs, name))


def with_a_clamp(view: GraphView) -> Iterator[GraphView]:
    """An activation is part of one operator."""
    for node in view.nodes:
        if hasattr(node.operator, "minimum") and not node.operator.clamps and view.tensor(node.output).dtype is DType.float32:
            rewrite = Rewrite(view)
            rewrite.replace_node(node, node.with_(operator=replace(node.operator, minimum=-0.5, maximum=0.75)))
            yield rewrite.finish()


def with_a_computed_operand(view: GraphView) -> Iterator[GraphView]:
    """A constant of several numbers is an input of the graph."""
    for name, tensor in view.tensors.items():
        if tensor.is_constant and tensor.elements > 1 and not view.is_output(name):
            tensors = {**view.tensors, name: tensor.with_(data=None)}
            made = GraphView(view.name, view.nodes, tensors, (*view.inputs, name), view.outputs)
            if is_right(made):
                yield made


def is_right(view: GraphView) -> bool:
    try:
        check_graph(view, "neighbour")
    except AidgeError:
        return False
    return True


KINDS = {kind.__name__: kind for kind in (with_scales_of_channels, with_another_output, with_a_clamp, with_a_computed_operand)}
NAMES = sorted({**CASES, **SPELLINGS})


@cache
def small_graph(name: str) -> GraphView:
    return imported(*{**CASES, **SPELLINGS}[name])


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_of_small_graphs_keep_their_meaning(kind):
    """One neighbour of each graph; which one it is, its name decides."""
    for name in NAMES:
        neighbours = [*KINDS[kind](small_graph(name))]
        if neighbours:
            before = neighbours[sum(name.encode()) % len(neighbours)]
            require_same_meaning(before, simplify(before), name, exact=False, levels=1)
