# SPDX-License-Identifier: MIT
"""The float graph as it is best quantized: nothing is computed for nothing, biases and scalings are inside their layers."""

from __future__ import annotations

from aidge_build.errors import AidgeError
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView
from aidge_build.recipes.check import checked
from aidge_build.recipes.flatten_products import flatten_products
from aidge_build.recipes.fuse_batch_norm import fuse_batch_norm
from aidge_build.recipes.fuse_fully_connected import fuse_fully_connected
from aidge_build.recipes.fuse_pad import fuse_pad
from aidge_build.recipes.recipe import Recipe, recipe
from aidge_build.recipes.remove_identities import remove_identities
from aidge_build.reference.evaluate import evaluate


@recipe(exact=True)
def dequantized_weights(view: GraphView) -> GraphView:
    """DequantizeLinear of a constant is a float constant: such a model stores its weights small and computes in float."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "DequantizeLinear" or view.is_output(node.outputs[0]):
            continue
        inputs = view.input_tensors(node)
        if all(tensor is None or tensor.is_constant for tensor in inputs):
            values = [None if tensor is None else tensor.data for tensor in inputs]
            (real,) = evaluate(node.operator, values, inputs, view.output_tensors(node))
            rewrite.redirect(node.outputs[0], rewrite.add_tensor(constant(f"{node.outputs[0]}_real", real)))
            rewrite.remove_node(node)
    return rewrite.finish()


PREPARATIONS: tuple[Recipe, ...] = (
    dequantized_weights,
    remove_identities,
    flatten_products,
    fuse_pad,
    fuse_fully_connected,
    fuse_batch_norm,
)


def prepared(view: GraphView) -> GraphView:
    """The graph after these recipes; AidgeError where it is quantized already."""
    for one in PREPARATIONS:
        view = checked(one, view)
    quantizers = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
    found = next((node for node in view.nodes if node.type in quantizers or node.type.startswith("QLinear")), None)
    if found is not None:
        raise AidgeError(
            "the model is quantized already",
            where=found.where(),
            code="QUANTIZATION",
            hint="give the float model, or build this one as it is",
        )
    return view
