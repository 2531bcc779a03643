# SPDX-License-Identifier: MIT
"""Replaces NaN by a number in one pass: exporters write it after each softmax with a mask."""

from __future__ import annotations

import math

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.features import Imputer
from aidge_build.operators.listed import Listed
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def fill_undefined(view: GraphView) -> GraphView:
    """Where(IsNaN(x), c, x) with one float c becomes Imputer(x)."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type == "Where" and _fills(view, node):
            number = float(view.tensor(node.inputs[1]).data.reshape(-1)[0])
            operator = Imputer(Listed((number,)), math.nan)
            rewrite.replace_node(node, node.with_(operator=operator, inputs=node.inputs[2:]))
    return rewrite.finish()


def _fills(view: GraphView, node: Node) -> bool:
    condition, number, data = (view.tensor(name) for name in node.inputs)
    asks = view.producer(condition.name)
    if asks is None or asks.type != "IsNaN" or asks.input != data.name or not number.is_constant or number.elements != 1:
        return False
    return data.rank > 0 and view.tensor(node.output).dims == data.dims and data.quantization is None and data.dtype.is_float
