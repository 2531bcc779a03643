# SPDX-License-Identifier: MIT
"""Lets BatchNormalization and PReLU between DequantizeLinear and QuantizeLinear read and write the stored values."""

from __future__ import annotations

from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import PReLU
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True, of_quantized=True)
def normalize_stored(view: GraphView) -> GraphView:
    """1. The operator's parameters for each channel are constants, which stay floats. 2. Data and result have one scale each. 3.
    The result goes to one QuantizeLinear alone. 4. The contract is `onnx`: there an operator means what these three nodes do.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        before, after = view.producer(node.input) if node.inputs else None, view.only_consumer(node.output)
        if not isinstance(node.operator, BatchNormalization | PReLU) or before is None or after is None:
            continue
        if before.type != "DequantizeLinear" or after.type != "QuantizeLinear":
            continue
        (source, *_), (result,) = before.inputs, after.outputs
        if not all(view.tensor(name).is_constant for name in node.inputs[1:]):
            continue
        if is_stored_by(view, before, source) and is_stored_by(view, after, result):
            rewrite.replace_node(node, node.with_(inputs=(source, *node.inputs[1:]), outputs=after.outputs))
            rewrite.remove_node(after)
    return rewrite.finish()


def is_stored_by(view: GraphView, node: Node, name: str) -> bool:
    """Whether the tensor has one scale, the same as this QuantizeLinear or DequantizeLinear, under the contract `onnx`."""
    known = view.tensor(name).quantization
    is_plain = known is not None and known.per_tensor and known.rounding == Quantization.rounding
    return is_plain and known == linear_quantization(view, node)
