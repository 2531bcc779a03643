# SPDX-License-Identifier: MIT
"""Names the normalization that decoders write out in six nodes: RMSNormalization."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.normalize import RMSNormalization
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def name_root_mean_squares(view: GraphView) -> GraphView:
    """x / sqrt(mean(x^2) + e) * w, or x * (1 / sqrt(...)) * w, with the mean over the last axis and w of its length. x^2 is Pow
    or Mul, and the root is Sqrt, Reciprocal(Sqrt) or 1 / Sqrt. Nobody reads a value between.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "Mul" or node.operator.clamps:
            continue
        for weights, name in (node.inputs, node.inputs[::-1]):
            source = _normalized(view, name)
            if source is not None and _is_last_axis(view.tensor(weights), view.tensor(source[0])):
                operator = RMSNormalization(view.tensor(source[0]).rank - 1, source[1])
                rewrite.replace_node(node, node.with_(operator=operator, inputs=(source[0], weights)))
                break
    return rewrite.finish()


def _is_last_axis(weights: Tensor, data: Tensor) -> bool:
    return weights.is_constant and weights.dims == data.dims[-1:] and data.dtype.is_float and data.quantization is None


def _normalized(view: GraphView, name: str) -> tuple[str, float] | None:
    """Returns x and e if the tensor is x / sqrt(mean(x^2) + e) and only one node reads it."""
    node = _only(view, name, "Mul", "Div")
    if node is None:
        return None
    if node.type == "Div":
        return _with_root(view, node.input, node.inputs[1])
    for data, factor in (node.inputs, node.inputs[::-1]):
        inverse = _only(view, factor, "Div", "Reciprocal")
        if inverse is None:
            continue
        if inverse.type == "Div" and not _is_number(view.tensor(inverse.input), 1.0):
            continue
        found = _with_root(view, data, inverse.inputs[-1])
        if found is not None:
            return found
    return None


def _with_root(view: GraphView, data: str, root: str) -> tuple[str, float] | None:
    """Returns x and e if the root is sqrt(mean(x^2) + e) of the data x."""
    square_root = _only(view, root, "Sqrt")
    total = _only(view, square_root.input, "Add") if square_root is not None else None
    if total is None:
        return None
    for mean_name, small in (total.inputs, total.inputs[::-1]):
        mean = _only(view, mean_name, "ReduceMean")
        epsilon = view.tensor(small)
        if mean is None or epsilon.data is None or epsilon.elements != 1 or not mean.operator.keep:
            continue
        if tuple(mean.operator.axes) == (view.tensor(data).rank - 1,) and _squares(view, mean.input, data):
            return data, float(epsilon.data.reshape(-1)[0])
    return None


def _squares(view: GraphView, name: str, data: str) -> bool:
    node = _only(view, name, "Mul", "Pow")
    if node is None or node.input != data:
        return False
    return node.inputs[1] == data if node.type == "Mul" else _is_number(view.tensor(node.inputs[1]), 2.0)


def _is_number(tensor: Tensor, number: float) -> bool:
    return tensor.data is not None and tensor.elements == 1 and float(tensor.data.reshape(-1)[0]) == number


def _only(view: GraphView, name: str, *types: str) -> Node | None:
    """Returns the node of one of these types that computes the tensor for one reader."""
    node = view.producer(name)
    fits = node is not None and node.type in types and view.only_consumer(name) is not None
    return node if fits and not getattr(node.operator, "clamps", False) else None
