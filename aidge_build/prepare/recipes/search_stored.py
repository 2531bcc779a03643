# SPDX-License-Identifier: MIT
"""Searches the index of an extreme element among stored values: DequantizeLinear keeps their order."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.search import ArgMax
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def search_stored(view: GraphView) -> GraphView:
    """1. The node is an ArgMax or ArgMin of the result of a DequantizeLinear with one scale. 2. The real values rise with the
    8-bit values: they do if none overflows and the scale is a normal number.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        before = view.producer(node.input) if isinstance(node.operator, ArgMax) else None
        if before is None or before.type != "DequantizeLinear" or view.tensor(before.input).dtype.size_bytes != 1:
            continue
        if _keeps_order(linear_quantization(view, before), view.tensor(before.input).dtype):
            rewrite.replace_node(node, node.with_(inputs=before.inputs[:1]))
    return rewrite.finish()


def _keeps_order(stated: Quantization | None, dtype: DType) -> bool:
    if stated is None or not stated.per_tensor:
        return False
    with numpy.errstate(over="ignore", invalid="ignore"):
        reals = dequantize_linear(dtype.values, stated)
    return bool((reals[1:] > reals[:-1]).all())
