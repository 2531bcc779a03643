# SPDX-License-Identifier: MIT
"""DequantizeLinear and QuantizeLinear in a row become one operator, where one side is a type of 16 bits: no float is stored."""

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
    """int16 inputs and outputs of the graph around an int8 core, mostly: Clip without bounds, which gives the same real numbers
    another scale. Between bytes there are tables (`tabulate`)."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        before = view.producer(node.inputs[0]) if node.type == "QuantizeLinear" else None
        if before is None or before.type != "DequantizeLinear":
            continue
        source, result = view.tensor(before.inputs[0]), view.tensor(node.outputs[0])
        is_wide = source.dtype in _HALFWORDS or result.dtype in _HALFWORDS
        if is_wide and not source.is_constant and _is_stored(source) and _is_stored(result):
            origin = (*before.origin, *node.origin)
            rewrite.replace_node(node, node.with_(operator=Clip(), inputs=(source.name,), origin=origin))
    return rewrite.finish()


def _is_stored(tensor: Tensor) -> bool:
    return tensor.dtype in _TYPES and tensor.quantization is not None and tensor.quantization.per_tensor
