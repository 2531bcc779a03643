# SPDX-License-Identifier: MIT
"""Turns DequantizeLinear of a constant into a constant tensor with its quantization."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.recipes.recipe import recipe

QUANTIZED_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.int32)


@recipe(exact=False)
def quantize_constants(view: GraphView) -> GraphView:
    """The constant keeps its integers; scale and zero point become a property of the tensor that readers see."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "DequantizeLinear" or view.is_output(node.output):
            continue
        source = view.tensor(node.input)
        quantization = linear_quantization(view, node)
        if not source.is_constant or quantization is None or source.dtype not in QUANTIZED_TYPES:
            continue
        name = rewrite.add_tensor(Tensor(f"{node.output}_quantized", source.dims, source.dtype, source.data, quantization))
        rewrite.redirect(node.output, name)
    return rewrite.finish()


def linear_quantization(view: GraphView, node: Node) -> Quantization | None:
    """Returns the quantization of a QuantizeLinear or DequantizeLinear node; None if it is not constant or a scale is 0."""
    _, scale, *zero_point = view.input_tensors(node)
    if not scale.is_constant or not scale.data.all() or not all(tensor is None or tensor.is_constant for tensor in zero_point):
        return None
    return node.operator.quantization(scale, zero_point[0] if zero_point else None)
