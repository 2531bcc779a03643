# SPDX-License-Identifier: MIT
"""Moves a Slice in front of the Transpose before it: fewer elements are turned, and two Transposes around it meet."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.view import Transpose
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def cut_first(view: GraphView) -> GraphView:
    """Transpose, Slice become Slice, Transpose, and then two Transposes in a row become one; a Transpose stays for its other
    readers. Scales along an axis are not moved.
    """
    return _joined(_cut(view))


def _cut(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    for node in view.nodes:
        turn = view.producer(node.input) if isinstance(node.operator, Slice) else None
        if turn is None or not isinstance(turn.operator, Transpose):
            continue
        source, result = view.tensor(turn.input), view.tensor(node.output)
        if source.quantization is not None and not source.quantization.per_tensor:
            continue
        axes = turn.operator.permutation
        starts, counts, steps = (
            _before(axes, each) for each in (node.operator.starts, node.operator.counts, node.operator.steps)
        )
        cut = rewrite.add_tensor(result.with_(name=f"{result.name}_cut", dims=counts, format=None))
        rewrite.replace_node(
            node,
            node.with_(operator=Slice(starts, counts, steps), inputs=(turn.input,), outputs=(cut,)),
            turn.with_(inputs=(cut,), outputs=node.outputs, origin=node.origin),
        )
    return rewrite.finish()


def _joined(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    for node in view.nodes:
        before = view.producer(node.input) if isinstance(node.operator, Transpose) else None
        if before is not None and isinstance(before.operator, Transpose):
            axes = before.operator.permutation
            both = Transpose(tuple(axes[axis] for axis in node.operator.permutation))
            rewrite.replace_node(node, node.with_(operator=both, inputs=before.inputs))
    return rewrite.finish()


def _before(axes: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
    """Returns values of the axes after a Transpose in the order of the axes before it."""
    return tuple(values[axes.index(axis)] for axis in range(len(axes)))
