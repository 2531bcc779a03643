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

CLOSE = 1e-6  # relative, of the constants
ARGUMENT = math.sqrt(2 / math.pi) * numpy.array([0, 1, 0, 0.044715])  # of tanh in a Gelu, the constant coefficient first
_OF_POLYNOMIALS = ("Mul", "Add", "Pow")
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
        if not all(_is_plain(view, member) for member in members):
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
    source = product.other_input(sigmoid.output)
    if source == sigmoid.input:
        return Swish(1.0), source, [sigmoid, product]
    if scaled is None or scaled.type != "Mul" or source not in scaled.inputs:
        return None
    factor = _number(view, scaled.other_input(source))
    return (Swish(factor), source, [scaled, sigmoid, product]) if factor else None


def _gelu(view: GraphView, erf: Node) -> Found | None:
    scaled = view.producer(erf.input)
    if scaled is None:
        return None
    source = _times(view, scaled, math.sqrt(0.5))
    return None if source is None else _half_of_one_more(view, Gelu(), source, [scaled, erf])


def _gelu_by_tanh(view: GraphView, tanh: Node) -> Found | None:
    """Finds the Gelu of a tanh with the argument sqrt(2 / pi) * (x + 0.044715 x^3), written in any way."""
    for source in _before(view, tanh.input):
        members: dict[str, Node] = {}
        found = _polynomial(view, tanh.input, source, members)
        if found is not None and len(found) == 4 and numpy.allclose(found, ARGUMENT, rtol=CLOSE, atol=0):
            ordered = [node for node in view.nodes if node.name in members]
            return _half_of_one_more(view, Gelu(with_tanh=True), source, [*ordered, tanh])
    return None


def _before(view: GraphView, name: str) -> tuple[str, ...]:
    """Returns the tensors from which this one comes through at most STEPS nodes, the farthest first."""
    found, latest = [], [name]
    for _ in range(STEPS):
        nodes = [node for node in map(view.producer, latest) if node is not None and node.type in _OF_POLYNOMIALS]
        latest = [part for node in nodes for part in node.inputs if not view.tensor(part).is_constant]
        found += latest
    return tuple(dict.fromkeys(reversed(found)))


def _polynomial(view: GraphView, name: str, source: str, members: dict[str, Node]) -> numpy.ndarray | None:
    """Returns a tensor as a polynomial of `source`: its coefficients, the constant first. The nodes join `members`."""
    if name == source:
        return numpy.array([0.0, 1.0])
    number = _number(view, name)
    if number is not None:
        return numpy.array([number])
    node = view.producer(name)
    if node is None or node.type not in _OF_POLYNOMIALS:
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
    if plus is None or not _is_number(view, plus.other_input(members[-1].output), 1):
        return None
    members = [*members, plus]
    last = plus
    is_halved = has_source = False
    while not (is_halved and has_source):
        product = _reader(view, last, "Mul")
        if product is None:
            return None
        other = product.other_input(last.output)
        before = view.producer(other)
        if not is_halved and _is_number(view, other, 0.5):
            is_halved = True
        elif not has_source and other == source:
            has_source = True
        elif not (is_halved or has_source) and before is not None and _times(view, before, 0.5) == source:
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
    first, second = node.inputs
    if node.type == "Div":
        return first if _is_number(view, second, 1 / factor) else None
    if _is_number(view, first, factor):
        return second
    return first if _is_number(view, second, factor) else None


def _reader(view: GraphView, node: Node, kind: str) -> Node | None:
    """Returns the only reader of the only output, if its operator has this type."""
    (name,) = node.outputs
    reader = view.only_consumer(name)
    return reader if reader is not None and reader.type == kind else None


def _is_within(view: GraphView, node: Node, members: list[Node]) -> bool:
    """Whether only `members` read the outputs of the node."""
    names = {member.name for member in members}
    return all(name not in view.outputs and all(reader.name in names for reader in view.consumers(name)) for name in node.outputs)


def _is_number(view: GraphView, name: str, wanted: float) -> bool:
    number = _number(view, name)
    return number is not None and math.isclose(number, wanted, rel_tol=CLOSE)


def _number(view: GraphView, name: str) -> float | None:
    """Returns the value of a constant of one element."""
    data = view.tensor(name).data
    return None if data is None or numpy.size(data) != 1 else float(numpy.reshape(data, ()))


def _is_plain(view: GraphView, node: Node) -> bool:
    """Whether the node computes in float32, without an activation that is fused into it."""
    return view.tensor(node.output).dtype is DType.float32 and not getattr(node.operator, "clamps", False)
