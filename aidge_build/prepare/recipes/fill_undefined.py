# SPDX-License-Identifier: MIT
"""Looks for NaN once in each row of a softmax: exporters fill NaN element by element where a mask may leave out a whole row."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.softmax import Softmax, ZeroedRows
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def fill_undefined(view: GraphView) -> GraphView:
    """Where(IsNaN(x), 0, x) of a float softmax x along one axis becomes ZeroedRows(x)."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        softmax = view.producer(node.inputs[2]) if node.type == "Where" else None
        if softmax is None or not isinstance(softmax.operator, Softmax) or softmax.operator.until_end:
            continue
        if _fills(view, node):
            operator = ZeroedRows(softmax.operator.axis)
            rewrite.replace_node(node, node.with_(operator=operator, inputs=node.inputs[2:]))
    return rewrite.finish()


def _fills(view: GraphView, node: Node) -> bool:
    condition, number, data = (view.tensor(name) for name in node.inputs)
    asks = view.producer(condition.name)
    if asks is None or asks.type != "IsNaN" or asks.input != data.name or number.data is None or number.data.any():
        return False
    return view.tensor(node.output).dims == data.dims and data.quantization is None and data.dtype.is_float
