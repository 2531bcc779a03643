# SPDX-License-Identifier: MIT
"""Float functions that a file writes in several nodes get their name: one pass over the tensor instead of two to five."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Operator
from aidge_build.operators.smooth import Gelu, Swish
from aidge_build.recipes.recipe import recipe

CLOSE = 1e-6  # relative, of what stands for the root of 2


@recipe(exact=False)
def name_curves(view: GraphView) -> GraphView:
    """1. x / 2 * (1 + erf(x / sqrt(2))), its products in any order: Gelu. 2. x * Sigmoid(x): Swish. Only floats that nobody
    quantizes, and nothing in between has another reader: all other chains are tables or steps already."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        found = _gelu(view, node) if node.type == "Erf" else _swish(view, node) if node.type == "Sigmoid" else None
        if found is None:
            continue
        operator, source, members = found
        *inner, last = members
        if not all(_is_real(view, name) for member in members for name in member.outputs) or _clamps(members):
            continue
        for member in inner:
            rewrite.remove_node(member)
        origin = tuple(dict.fromkeys(part for member in members for part in member.origin))
        rewrite.replace_node(last, last.with_(operator=operator, inputs=(source,), origin=origin))
    return rewrite.finish()


def _swish(view: GraphView, sigmoid: Node) -> tuple[Operator, str, list[Node]] | None:
    source, product = sigmoid.inputs[0], _reader(view, sigmoid)
    if product is None or product.type != "Mul" or sorted(product.inputs) != sorted((source, sigmoid.outputs[0])):
        return None
    return Swish(1.0), source, [sigmoid, product]


def _gelu(view: GraphView, erf: Node) -> tuple[Operator, str, list[Node]] | None:
    scaled, plus = view.producer(erf.inputs[0]), _reader(view, erf)
    if scaled is None or _reader(view, scaled) is not erf or plus is None or plus.type != "Add":
        return None
    found = _times(view, scaled, math.sqrt(0.5))
    if found is None or _other_number(view, plus, erf.outputs[0]) != 1:
        return None
    members, source, last = [scaled, erf, plus], found, plus
    is_halved = has_source = False
    while not (is_halved and has_source):
        product = _reader(view, last)
        if product is None or product.type != "Mul":
            return None
        other = _other(product, last.outputs[0])
        before = view.producer(other)
        if not is_halved and _number(view, other) == 0.5:
            is_halved = True
        elif not has_source and other == source:
            has_source = True
        elif not (is_halved or has_source) and before is not None and _reader(view, before) is product:
            if _times(view, before, 0.5) != source:
                return None
            members.append(before)
            is_halved = has_source = True
        else:
            return None
        members.append(product)
        last = product
    return Gelu(), source, members


def _times(view: GraphView, node: Node, factor: float) -> str | None:
    """What a product or quotient multiplies with this number."""
    if node.type not in ("Mul", "Div"):
        return None
    for place, name in enumerate(node.inputs):
        number = _number(view, name)
        if number and (node.type == "Mul" or place == 1):
            real = number if node.type == "Mul" else 1 / number
            return node.inputs[1 - place] if math.isclose(real, factor, rel_tol=CLOSE) else None
    return None


def _reader(view: GraphView, node: Node) -> Node | None:
    """The only reader of the only output."""
    (name,) = node.outputs
    readers = view.consumers(name)
    return readers[0] if len(readers) == 1 and name not in view.outputs else None


def _other(node: Node, name: str) -> str:
    first, second = node.inputs
    return second if first == name else first


def _other_number(view: GraphView, node: Node, name: str) -> float | None:
    return _number(view, _other(node, name))


def _number(view: GraphView, name: str) -> float | None:
    """A constant of one element."""
    data = view.tensor(name).data
    return None if data is None or numpy.size(data) != 1 else float(numpy.reshape(data, ()))


def _is_real(view: GraphView, name: str) -> bool:
    tensor = view.tensor(name)
    return tensor.dtype is DType.float32 and tensor.quantization is None


def _clamps(members: list[Node]) -> bool:
    """Whether an activation is fused into one of them."""
    bounds = [(getattr(node.operator, "minimum", -math.inf), getattr(node.operator, "maximum", math.inf)) for node in members]
    return any(bound != (-math.inf, math.inf) for bound in bounds)
