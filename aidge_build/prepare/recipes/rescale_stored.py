# SPDX-License-Identifier: MIT
"""Turns DequantizeLinear and QuantizeLinear in a row into one operator, if one side has 16 bits: no float is stored."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators.activation import Clip
from aidge_build.prepare.recipes.recipe import recipe

_HALFWORDS = (DType.int16, DType.uint16)
_TYPES = (DType.int8, DType.uint8, *_HALFWORDS)


@recipe(exact=True)
def rescale_stored(view: GraphView) -> GraphView:
    """The operator is a Clip without bounds, which gives the same real numbers another scale; mostly for int16 inputs and outputs
    of the graph around int8 layers. Between bytes there are tables (`tabulate`)."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        before = view.producer(node.input) if node.type == "QuantizeLinear" else None
        if before is None or before.type != "DequantizeLinear":
            continue
        source, result = view.tensor(before.input), view.tensor(node.output)
        is_wide = source.dtype in _HALFWORDS or result.dtype in _HALFWORDS
        if is_wide and not source.is_constant and _is_stored(source) and _is_stored(result):
            origin = (*before.origin, *node.origin)
            rewrite.replace_node(node, node.with_(operator=Clip(), inputs=(source.name,), origin=origin))
    return rewrite.finish()


def _is_stored(tensor: Tensor) -> bool:
    return tensor.dtype in _TYPES and tensor.quantization is not None and tensor.quantization.per_tensor
