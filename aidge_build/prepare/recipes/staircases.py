# SPDX-License-Identifier: MIT
"""Replaces operators that compute an int8 value from one float of a layer by the floats at which the int8 value changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.staircase import steps_of
from aidge_build.operators.dynamic import DynamicLayer
from aidge_build.operators.staircase import Staircase
from aidge_build.prepare.recipes.recipe import recipe
from aidge_build.prepare.recipes.tabulate import between, is_read_elsewhere, results_of, sources_of

FEWEST_VALUES = 64  # for fewer values the functions are called: the keys take 1 KB and more


@recipe(exact=False, of_quantized=True)
def staircases(view: GraphView) -> GraphView:
    """1. The operators are HardSwish, SiLU, GELU or other functions of one element on the float result of a layer of stored bytes
    (`scale_sums`), up to a QuantizeLinear to int8. 2. There are at least FEWEST_VALUES elements, and more operators than the
    QuantizeLinear alone. 3. The function has steps, and not too many.

    Between two steps the value is the result of the nodes. If their rounding errors make the value change several times at a
    step, it changes once here.
    """
    rewrite = Rewrite(view)
    layers = [output for node in view.nodes if isinstance(node.operator, DynamicLayer) for output in node.outputs]
    sources = sources_of(view, layers)
    for name, source in sources.items():
        if source not in layers or not is_read_elsewhere(view, sources, name) or view.tensor(name).elements < FEWEST_VALUES:
            continue
        stored = view.tensor(name).quantization
        if view.tensor(name).dtype is not DType.int8:  # uint8 outputs of the graph: signed_tensors made all other tensors int8
            continue
        if stored is not None and stored.rounding != Quantization.rounding:  # other contracts state what each operator means
            continue
        nodes = between(view, sources, name)
        operator = _staircase(view, nodes, source, name) if len(nodes) > 1 else None
        if operator is not None:
            origin = tuple(dict.fromkeys(part for node in nodes for part in node.origin))
            rewrite.replace_node(nodes[-1], nodes[-1].with_(operator=operator, inputs=(source,), origin=origin))
    return rewrite.finish()


def _staircase(view: GraphView, nodes: Sequence[Node], source: str, name: str) -> Staircase | None:
    def function(numbers: numpy.ndarray) -> numpy.ndarray:
        return results_of(view, nodes, source, name, numbers).astype(numpy.int64)

    found = steps_of(function)
    if found is None:
        return None
    keys, levels = found
    return Staircase(tuple(keys.tolist()), tuple(levels.tolist()))
