# SPDX-License-Identifier: MIT
"""DequantizeLinear of a constant becomes a constant tensor that carries its quantization."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node

QUANTIZED_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.int32)


def quantize_constants(view: GraphView) -> GraphView:
    """The constant keeps its integers; scale and zero point become a property of the tensor that readers see."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "DequantizeLinear" or node.outputs[0] in view.outputs:
            continue
        source = view.tensor(node.inputs[0])
        quantization = linear_quantization(view, node)
        if not source.is_constant or quantization is None or source.dtype not in QUANTIZED_TYPES:
            continue
        name = rewrite.add_tensor(Tensor(f"{node.outputs[0]}_quantized", source.dims, source.dtype, source.data, quantization))
        rewrite.redirect(node.outputs[0], name)
        rewrite.remove_node(node)
    return rewrite.finish()


def linear_quantization(view: GraphView, node: Node) -> Quantization | None:
    """The quantization that a QuantizeLinear or DequantizeLinear node states; None when it is not constant or is blocked."""
    tensors = view.input_tensors(node)
    scale, zero_point = tensors[1], tensors[2] if len(tensors) > 2 else None
    if not scale.is_constant or (zero_point is not None and not zero_point.is_constant) or scale.rank > 1:
        return None
    scales = tuple(float(value) for value in scale.data.reshape(-1))
    points = tuple(int(value) for value in zero_point.data.reshape(-1)) if zero_point is not None else (0,) * len(scales)
    rank = tensors[0].rank
    if scale.rank == 0 or len(scales) == 1:
        return Quantization(scales, points[:1])
    return Quantization(scales, points, node.operator.axis % rank)
