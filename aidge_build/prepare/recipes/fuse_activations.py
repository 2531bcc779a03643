# SPDX-License-Identifier: MIT
"""Fuses a ReLU or Clip into the operator before it, if that operator can clamp."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Activated
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def fuse_activations(view: GraphView) -> GraphView:
    """1. ReLU: clamp to [0, inf). 2. Clip: clamp to its bounds.

    Quantized tensors need the same quantization on both sides: quantize and clamp then commute.
    """
    changed = True
    while changed:
        rewrite = Rewrite(view)
        taken: set[str] = set()  # readers of what this round changed
        for node in view.nodes:
            bounds = bounds_of(node)
            if bounds is None or node.name in taken:
                continue
            source, *_ = node.inputs
            behind = view.producer(source)
            if behind is None or not _fusable(view, behind, node):
                continue
            low, high = bounds
            operator = replace(
                behind.operator, minimum=max(behind.operator.minimum, low), maximum=min(behind.operator.maximum, high)
            )
            rewrite.replace_node(
                behind, behind.with_(operator=operator, outputs=node.outputs, origin=(*behind.origin, *node.origin))
            )
            rewrite.remove_node(node)
            taken.update(reader.name for reader in view.consumers(node.output))
        changed, view = rewrite.changed, rewrite.finish()
    return view


def bounds_of(node: Node) -> tuple[float, float] | None:
    """Returns the least and the largest real value that a ReLU or Clip leaves; None for other nodes and bad bounds."""
    if node.type == "ReLU":
        return 0.0, numpy.inf
    if node.type == "Clip" and node.operator.minimum <= node.operator.maximum:
        return node.operator.minimum, node.operator.maximum
    return None


def _fusable(view: GraphView, behind: Node, node: Node) -> bool:
    if not isinstance(behind.operator, Activated) or len(behind.outputs) != 1 or view.only_consumer(behind.output) is not node:
        return False
    low, high = bounds_of(node)
    if max(behind.operator.minimum, low) > min(behind.operator.maximum, high):
        return False
    (source,), (result,) = view.output_tensors(behind), view.output_tensors(node)
    return source.dtype is result.dtype and source.quantization == result.quantization
