# SPDX-License-Identifier: MIT
"""Turns fake quantization that an exporter wrote as arithmetic into QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip
from aidge_build.operators.quantize import ANY_AXIS, DequantizeLinear, QuantizeLinear
from aidge_build.prepare.recipes.recipe import recipe

NEAR = 2.0**-23  # relative: how far the factor may be from the reciprocal of the scale, both of float32
_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16)


@recipe(exact=False)
def name_fake_quantization(view: GraphView) -> GraphView:
    """The pattern is Mul or Div by the scale, Round, Add of the zero point, Clip (or Max and Min) to the lowest and the highest
    quantized value, Sub of the zero point, Mul by the scale, as torch.onnx.export(dynamo=True) writes a fake quantization. A zero
    point of 0 may be left out. The smallest type that holds the values is taken; if it holds more values, a Clip of the real
    numbers follows.

    The rewrite is exact with Div, and with a scale that is a power of two. Else the product with the reciprocal of the scale and
    the quotient may differ in the last bit of float32, which matters only next to the middle between two quantized values.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        found = _found(view, node) if node.type == "Mul" else None
        if found is None:
            continue
        dims, name = view.tensor(node.output).dims, node.name
        scale = rewrite.add_tensor(constant(f"{name}_scale", numpy.array(found.scale, numpy.float32)))
        point = rewrite.add_tensor(constant(f"{name}_zero_point", numpy.array(found.point, found.dtype.numpy)))
        stored = rewrite.add_tensor(Tensor(f"{name}_stored", dims, found.dtype))
        made = [
            Node(f"{name}_quantize", QuantizeLinear(ANY_AXIS, found.dtype), (found.source, scale, point), (stored,), node.origin)
        ]
        reals = [(level - found.point) * found.scale for level in (found.low, found.high)]
        read = node.with_(operator=DequantizeLinear(ANY_AXIS), inputs=(stored, scale, point))
        if (found.low, found.high) != found.dtype.range:
            real = rewrite.add_tensor(Tensor(f"{name}_real", dims, DType.float32))
            read = read.with_(outputs=(real,))
            clip = Clip(minimum=float(reals[0]), maximum=float(reals[1]))
            made += [read, Node(f"{name}_clip", clip, (real,), node.outputs, node.origin)]
        else:
            made.append(read)
        rewrite.replace_node(node, *made)
    return rewrite.finish()


@dataclass(frozen=True)
class _Fake:
    source: str
    scale: numpy.float32
    point: int
    low: int
    high: int
    dtype: DType


def _found(view: GraphView, last: Node) -> _Fake | None:
    """Returns the fake quantization that ends with this product."""
    scale, name = _number(view, last)
    if scale is None or scale <= 0:
        return None
    point, name = _step(view, name, "Sub")
    levels, name = _clamp(view, name)
    added, name = _step(view, name, "Add")
    rounded = view.producer(name)
    if rounded is None or rounded.type != "Round" or point != added or not point.is_integer():
        return None
    first, dtype = view.producer(rounded.input), _type_of(levels)
    if first is None or dtype is None:
        return None
    factor, source = _number(view, first)
    if factor is None or not _is_by(first, factor, scale) or not dtype.holds(numpy.array(point)):
        return None
    return _Fake(source, scale, int(point), int(levels[0]), int(levels[1]), dtype)


def _type_of(levels: tuple[float, float]) -> DType | None:
    """Returns the first type that holds these bounds; None if there is none, or if the bounds are no whole numbers."""
    are_whole = all(level.is_integer() for level in levels)
    return next((one for one in _TYPES if are_whole and one.holds(numpy.array(levels))), None)


def _is_by(node: Node, factor: numpy.float32, scale: numpy.float32) -> bool:
    if node.type == "Div":
        return bool(factor == scale)
    return node.type == "Mul" and abs(float(factor) * float(scale) - 1) <= NEAR


def _clamp(view: GraphView, name: str) -> tuple[tuple[float, float], str]:
    """Returns the lowest and the highest result of a Clip, or of a Max and a Min in any order, and the name of the data."""
    node = view.producer(name)
    if node is not None and node.type == "Clip":
        return (node.operator.minimum, node.operator.maximum), node.input
    bounds = {"Max": -math.inf, "Min": math.inf}
    while node is not None and node.type in bounds and math.isinf(bounds[node.type]):
        number, source = _number(view, node)
        if number is None:
            break
        bounds[node.type], name = float(number), source
        node = view.producer(name)
    return (bounds["Max"], bounds["Min"]), name


def _step(view: GraphView, name: str, kind: str) -> tuple[float, str]:
    """Returns the number that a node of this type adds or subtracts, and the other operand; 0 without such a node."""
    node = view.producer(name)
    if node is None or node.type != kind:
        return 0.0, name
    number, source = _number(view, node)
    return (0.0, name) if number is None else (float(number), source)


def _number(view: GraphView, node: Node) -> tuple[numpy.float32 | None, str]:
    """Returns the single float32 number that an operator of two inputs combines with its data, and the name of the data."""
    if len(node.inputs) != 2 or not all(node.inputs):
        return None, ""
    first, second = map(view.tensor, node.inputs)
    if first.is_constant and node.type in ("Add", "Mul", "Max", "Min"):
        first, second = second, first
    is_number = second.is_constant and second.elements == 1 and second.dtype is DType.float32 and second.quantization is None
    if first.is_constant or not is_number or first.rank < second.rank or getattr(node.operator, "clamps", False):
        return None, ""
    return numpy.float32(second.data.item()), first.name
