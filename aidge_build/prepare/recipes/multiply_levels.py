# SPDX-License-Identifier: MIT
"""Lets products with weights in blocks multiply int8 levels of their data, as an accuracy_level of 4 in the file does."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView
from aidge_build.operators.matmul_nbits import INT8_LEVEL, MatMulNBits


def multiply_levels(view: GraphView) -> GraphView:
    """Returns the graph with such products; it means other numbers, so only an option asks for it."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, MatMulNBits) and not node.operator.multiplies_int8:
            rewrite.replace_node(node, replace(node, operator=replace(node.operator, accuracy_level=INT8_LEVEL)))
    return rewrite.finish()
