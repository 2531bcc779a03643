# SPDX-License-Identifier: MIT
"""Finds float functions that a file writes in several nodes: one pass over the tensor instead of two to five."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Operator
from aidge_build.operators.smooth import Gelu, Swish
from aidge_build.prepare.recipes.recipe import recipe

CLOSE = 1e-6  # relative, of the constants in place of the root of 2
ARGUMENT = math.sqrt(2 / math.pi) * numpy.array([0, 1, 0, 0.044715])  # of tanh in a Gelu, the constant coefficient first
STEPS = 5  # nodes that write this argument, one after the other

Found = tuple[Operator, str, list[Node]]  # the function, its input, and its nodes, the last one last


@recipe(exact=False)
def name_curves(view: GraphView) -> GraphView:
    """1. x / 2 * (1 + erf(x / sqrt(2))), its products in any order: Gelu. 2. The same with tanh of a polynomial: Gelu by
    tanh. 3. x * Sigmoid(a * x): Swish. The floats are not quantized, and no tensor in between has another reader: all other
    chains are tables or steps already."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        found = FINDERS[node.type](view, node) if node.type in FINDERS else None
        if found is None:
            continue
        operator, source, members = found
        *inner, last = members
        if not all(_is_real(view, name) for member in members for name in member.outputs) or _clamps(members):
            continue
        if not all(_is_within(view, member, members) for member in inner):
            continue
        origin = tuple(dict.fromkeys(part for member in members for part in member.origin))
        rewrite.replace_node(last, last.with_(operator=operator, inputs=(source,), origin=origin))
    return rewrite.finish()


def _swish(view: GraphView, sigmoid: Node) -> Found | None:
    product, scaled = _reader(view, sigmoid, "Mul"), view.producer(sigmoid.input)
    if product is None:
        return None
    source = _other(product, sigmoid.output)
    if source == sigmoid.input:
        return Swish(1.0), source, [sigmoid, product]
    if scaled is None or scaled.type != "Mul" or source not in scaled.inputs:
        return None
    factor = _other_number(view, scaled, source)
    return (Swish(factor), source, [scaled, sigmoid, product]) if factor else None


def _gelu(view: GraphView, erf: Node) -> Found | None:
    scaled = view.producer(erf.input)
    if scaled is None:
        return None
    source = _times(view, scaled, math.sqrt(0.5))
    return None if source is None else _half_of_one_more(view, Gelu(), source, [scaled, erf])


def _gelu_by_tanh(view: GraphView, tanh: Node) -> Found | None:
    """Finds the Gelu of a tanh with the argument sqrt(2 / pi) * (x + 0.044715 x^3), written in any way."""
    for source in _before(view, tanh.input, STEPS):
        members: dict[str, Node] = {}
        found = _polynomial(view, tanh.input, source, members)
        if found is not None and len(found) == 4 and numpy.allclose(found, ARGUMENT, rtol=CLOSE, atol=0):
            ordered = [node for node in view.nodes if node.name in members]
            return _half_of_one_more(view, Gelu(with_tanh=True), source, [*ordered, tanh])
    return None


def _before(view: GraphView, name: str, steps: int) -> tuple[str, ...]:
    """Returns the tensors from which this one comes through at most `steps` nodes, the farthest first."""
    node = view.producer(name)
    if steps == 0 or node is None or node.type not in ("Mul", "Add", "Pow"):
        return ()
    earlier = [found for part in node.inputs for found in _before(view, part, steps - 1)]
    return tuple(dict.fromkeys((*earlier, *(part for part in node.inputs if view.tensor(part).data is None))))


def _polynomial(view: GraphView, name: str, source: str, members: dict[str, Node]) -> numpy.ndarray | None:
    """Returns a tensor as a polynomial of `source`: its coefficients, the constant first. The nodes join `members`."""
    if name == source:
        return numpy.array([0.0, 1.0])
    number = _number(view, name)
    if number is not None:
        return numpy.array([number])
    node = view.producer(name)
    if node is None or node.type not in ("Mul", "Add", "Pow"):
        return None
    members[node.name] = node
    first, second = (_polynomial(view, part, source, members) for part in node.inputs)
    if first is None or second is None or len(first) > 4:
        return None
    if node.type == "Pow":
        power = second[0]
        return numpy.polynomial.polynomial.polypow(first, int(power)) if len(second) == 1 and power in (2, 3) else None
    join = numpy.polynomial.polynomial.polymul if node.type == "Mul" else numpy.polynomial.polynomial.polyadd
    return numpy.asarray(join(first, second))


def _half_of_one_more(view: GraphView, operator: Operator, source: str, members: list[Node]) -> Found | None:
    """Finds the nodes after the last member, f: x / 2 * (1 + f), with the products in any order."""
    plus = _reader(view, members[-1], "Add")
    if plus is None or _other_number(view, plus, members[-1].output) != 1:
        return None
    members = [*members, plus]
    last = plus
    is_halved = has_source = False
    while not (is_halved and has_source):
        product = _reader(view, last, "Mul")
        if product is None:
            return None
        other = _other(product, last.output)
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
    return operator, source, members


FINDERS = {"Erf": _gelu, "Tanh": _gelu_by_tanh, "Sigmoid": _swish}


def _times(view: GraphView, node: Node, factor: float) -> str | None:
    """Returns the tensor that a product or quotient multiplies by this number."""
    if node.type not in ("Mul", "Div"):
        return None
    for place, name in enumerate(node.inputs):
        number = _number(view, name)
        if number and (node.type == "Mul" or place == 1):
            real = number if node.type == "Mul" else 1 / number
            return node.inputs[1 - place] if math.isclose(real, factor, rel_tol=CLOSE) else None
    return None


def _reader(view: GraphView, node: Node, kind: str = "") -> Node | None:
    """Returns the only reader of the only output, if its operator has this type or no type is asked for."""
    (name,) = node.outputs
    readers = view.consumers(name)
    is_only = len(readers) == 1 and name not in view.outputs
    return readers[0] if is_only and kind in ("", readers[0].type) else None


def _is_within(view: GraphView, node: Node, members: list[Node]) -> bool:
    """Whether only `members` read the outputs of the node."""
    names = {member.name for member in members}
    return all(name not in view.outputs and all(reader.name in names for reader in view.consumers(name)) for name in node.outputs)


def _other(node: Node, name: str) -> str:
    first, second = node.inputs
    return second if first == name else first


def _other_number(view: GraphView, node: Node, name: str) -> float | None:
    return _number(view, _other(node, name))


def _number(view: GraphView, name: str) -> float | None:
    """Returns the value of a constant of one element."""
    data = view.tensor(name).data
    return None if data is None or numpy.size(data) != 1 else float(numpy.reshape(data, ()))


def _is_real(view: GraphView, name: str) -> bool:
    tensor = view.tensor(name)
    return tensor.dtype is DType.float32 and tensor.quantization is None


def _clamps(members: list[Node]) -> bool:
    """Whether an activation is fused into one of the nodes."""
    bounds = [(getattr(node.operator, "minimum", -math.inf), getattr(node.operator, "maximum", math.inf)) for node in members]
    return any(bound != (-math.inf, math.inf) for bound in bounds)
