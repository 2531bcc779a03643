# SPDX-License-Identifier: MIT
"""Rewrites an operator on stored values to compute on real values: DequantizeLinear, the operator, QuantizeLinear."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.quantize import ANY_AXIS, DequantizeLinear, QuantizeLinear


def on_plain_integers(view: GraphView, node: Node) -> bool:
    """Whether no tensor of the node has a quantization, so that the operator's numbers are stored values, too.

    ONNX files write such nodes between QuantizeLinear and DequantizeLinear. Tensors of .tflite files have a quantization from
    the importer on: the pad value, the bounds of a Clip, ... are then real numbers already.
    """
    tensors = (*view.input_tensors(node), *view.output_tensors(node))
    return all(tensor is None or tensor.quantization is None for tensor in tensors)


def between_reals(view: GraphView, rewrite: Rewrite, node: Node, parameters: tuple[str, ...]) -> list[Node]:
    """Returns the nodes that replace `node`; `parameters` names the scale, and perhaps the zero point, of all its tensors."""
    (result,) = view.output_tensors(node)
    reals = [rewrite.add_tensor(Tensor(f"{name}_real", view.tensor(name).dims, DType.float32)) for name in node.inputs]
    real = rewrite.add_tensor(Tensor(f"{result.name}_real", result.dims, DType.float32))
    return [
        *(
            Node(f"{node.name}_dequantize_{index}", DequantizeLinear(ANY_AXIS), (name, *parameters), (made,), node.origin)
            for index, (name, made) in enumerate(zip(node.inputs, reals))
        ),
        node.with_(inputs=tuple(reals), outputs=(real,)),
        Node(f"{node.name}_quantize", QuantizeLinear(ANY_AXIS, result.dtype), (real, *parameters), (result.name,), node.origin),
    ]
