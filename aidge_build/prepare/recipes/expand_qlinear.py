# SPDX-License-Identifier: MIT
"""Turns operators with quantization inputs into DequantizeLinear, the plain operator, and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Operator
from aidge_build.operators.integer import QLinearConv, QLinearMatMul
from aidge_build.operators.matmul import INT32_TERMS, MatMul
from aidge_build.operators.qlinear import QGemm, QLinear
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.prepare.recipes.recipe import recipe

Operand = tuple[str, str, str]  # values, scale, zero point ("": none)


@recipe(exact=False)
def expand_qlinear(view: GraphView) -> GraphView:
    """1. The com.microsoft operators QLinear... and QGemm. 2. QLinearConv and QLinearMatMul with constant weights.
    3. QLinearMatMul of operands that MatMul multiplies in integers. Other QLinearConv and QLinearMatMul stay, because they are
       computed in integers as they are. Every scale and zero point must be constant.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        operator = node.operator
        inputs = (*node.inputs, *("",) * (9 - len(node.inputs)))
        if isinstance(operator, QLinear):
            _expand(
                view,
                rewrite,
                node,
                operator.inner,
                [_operand(inputs, *places) for places in operator.operands],
                (inputs[operator.result[0]], inputs[operator.result[1]]),
            )
        elif isinstance(operator, QGemm):
            _expand_linear(view, rewrite, node, operator.inner, inputs, inputs[6], 1 if not operator.inner.transpose_b else 0)
        elif isinstance(operator, QLinearConv) and _has_constant_weights(view, node, 0):
            weights = view.tensor(node.inputs[3])
            channels = view.tensor(node.inputs[0]).dims[1], weights.dims[0]
            _expand_linear(view, rewrite, node, operator.conv(channels), (*inputs[:6], inputs[8], *inputs[6:8]), inputs[8], 0)
        elif isinstance(operator, QLinearMatMul) and _has_constant_weights(view, node, 1):
            _expand_linear(view, rewrite, node, MatMul(), (*inputs[:6], "", *inputs[6:8]), "", 1)
        elif isinstance(operator, QLinearMatMul) and _has_single_scales(view, node) and _fits_int32(view, node):
            _expand(view, rewrite, node, MatMul(), [_operand(inputs, 0, 1, 2), _operand(inputs, 3, 4, 5)], (inputs[6], inputs[7]))
    return rewrite.finish()


def _operand(inputs: Sequence[str], values: int, scale: int, zero_point: int) -> Operand:
    return inputs[values], inputs[scale], inputs[zero_point] if zero_point < len(inputs) else ""


def _has_constant_weights(view: GraphView, node: Node, axis: int) -> bool:
    """Whether all but the data is constant, with scales per channel only along `axis` of a matrix or of convolution weights."""
    tensors = [view.tensor(name) for name in node.inputs[:8]]
    return all(tensor.is_constant for tensor in tensors[1:]) and (tensors[4].elements == 1 or tensors[3].rank == 2 or axis == 0)


def _has_single_scales(view: GraphView, node: Node) -> bool:
    return all(view.tensor(name).elements == 1 for place, name in enumerate(node.inputs) if place not in (0, 3))


def _fits_int32(view: GraphView, node: Node) -> bool:
    return view.tensor(node.inputs[0]).dims[-1] <= INT32_TERMS


def _expand(
    view: GraphView,
    rewrite: Rewrite,
    node: Node,
    inner: Operator,
    operands: Sequence[Operand],
    result: tuple[str, str],
    axes: Sequence[int] = (),
) -> None:
    """Replaces the node, unless a scale or zero point is not constant."""
    parameters = [name for _, *names in operands for name in names if name] + [name for name in result if name]
    if not all(rewrite.tensors[name].is_constant for name in parameters):
        return
    nodes, names = [], []
    for place, (values, scale, zero_point) in enumerate(operands):
        tensor = rewrite.tensors[values]
        real = rewrite.add_tensor(Tensor(f"{values}_real", tensor.dims, DType.float32))
        inputs = (values, _number(rewrite, scale), *([_number(rewrite, zero_point)] if zero_point else ()))
        nodes.append(
            Node(f"{node.name}_dequantize_{place}", DequantizeLinear(axes[place] if axes else 0), inputs, (real,), node.origin)
        )
        names.append(real)
    (output,) = view.output_tensors(node)
    real = rewrite.add_tensor(Tensor(f"{output.name}_real", output.dims, DType.float32))
    nodes.append(Node(node.name, inner, tuple(names), (real,), node.origin))
    inputs = (real, _number(rewrite, result[0]), *([_number(rewrite, result[1])] if result[1] else ()))
    nodes.append(Node(f"{node.name}_quantize", QuantizeLinear(0, output.dtype), inputs, node.outputs, node.origin))
    rewrite.replace_node(node, *nodes)


def _number(rewrite: Rewrite, name: str) -> str:
    """Returns the parameter; a list of one number becomes a number."""
    tensor = rewrite.tensors[name]
    if tensor.dims != (1,):
        return name
    return rewrite.add_tensor(constant(f"{name}_number", tensor.data.reshape(())))


def _expand_linear(
    view: GraphView, rewrite: Rewrite, node: Node, inner: Operator, inputs: Sequence[str], bias: str, axis: int
) -> None:
    """Expands data, weights and an int32 bias in units of both scales; `axis` counts the output channels of the weights."""
    scales = [rewrite.tensors[name] for name in (inputs[1], inputs[4])]
    if not all(tensor.is_constant for tensor in scales) or bias and not rewrite.tensors[bias].is_constant:
        return
    weights_zero = inputs[5]
    if rewrite.tensors[weights_zero].elements == 1 != scales[1].elements:
        points = numpy.full(scales[1].dims, rewrite.tensors[weights_zero].data.reshape(()))
        weights_zero = rewrite.add_tensor(constant(f"{weights_zero}_list", points))
    operands = [_operand(inputs, 0, 1, 2), (inputs[3], inputs[4], weights_zero)]
    axes = [0, axis]
    if bias:
        product = scales[0].data.reshape(()) * scales[1].data
        product = product.reshape(()) if product.size == 1 else product
        operands.append((bias, rewrite.add_tensor(constant(f"{bias}_scale", product.astype(numpy.float32))), ""))
        axes.append(rewrite.tensors[bias].rank - 1)
    _expand(view, rewrite, node, inner, operands, (inputs[7], inputs[8]), axes)
