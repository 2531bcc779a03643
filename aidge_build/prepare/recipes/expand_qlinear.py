# SPDX-License-Identifier: MIT
"""Turns operators with quantization inputs into DequantizeLinear, the plain operator, and QuantizeLinear."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Operator
from aidge_build.operators.integer import QLinearConv, QLinearMatMul
from aidge_build.operators.matmul import INT32_TERMS, MatMul
from aidge_build.operators.qlinear import QGemm, QLinear
from aidge_build.operators.quantize import ANY_AXIS, DequantizeLinear, QuantizeLinear
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
            *operands, bias, scale, zero_point = inputs
            axis = 0 if operator.inner.transpose_b else 1
            _expand_linear(view, rewrite, node, operator.inner, operands, bias, (scale, zero_point), axis)
        elif isinstance(operator, QLinearConv) and _has_constant_weights(view, node, 0):
            *operands, scale, zero_point, bias = inputs
            channels = view.tensor(node.input).dims[1], view.tensor(node.inputs[3]).dims[0]
            _expand_linear(view, rewrite, node, operator.conv(channels), operands, bias, (scale, zero_point), 0)
        elif isinstance(operator, QLinearMatMul) and _has_constant_weights(view, node, 1):
            *operands, scale, zero_point, _ = inputs
            _expand_linear(view, rewrite, node, MatMul(), operands, "", (scale, zero_point), 1)
        elif isinstance(operator, QLinearMatMul) and _has_single_scales(view, node) and _fits_int32(view, node):
            _expand(view, rewrite, node, MatMul(), [_operand(inputs, 0, 1, 2), _operand(inputs, 3, 4, 5)], (inputs[6], inputs[7]))
    return rewrite.finish()


def _operand(inputs: Sequence[str], values: int, scale: int, zero_point: int) -> Operand:
    return inputs[values], inputs[scale], inputs[zero_point] if zero_point < len(inputs) else ""


def _has_constant_weights(view: GraphView, node: Node, axis: int) -> bool:
    """Whether all but the data is constant, with scales per channel only along `axis` of a matrix or of convolution weights."""
    weights, scale = (view.tensor(name) for name in node.inputs[3:5])
    constants = all(view.tensor(name).is_constant for name in node.inputs[1:] if name)
    return constants and (scale.elements == 1 or weights.rank == 2 or axis == 0)


def _has_single_scales(view: GraphView, node: Node) -> bool:
    return all(view.tensor(name).elements == 1 for place, name in enumerate(node.inputs) if place not in (0, 3))


def _fits_int32(view: GraphView, node: Node) -> bool:
    return view.tensor(node.input).dims[-1] <= INT32_TERMS


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
        dequantize = DequantizeLinear(axes[place] if axes else ANY_AXIS)
        inputs = (values, *_numbers(rewrite, scale, zero_point))
        nodes.append(Node(f"{node.name}_dequantize_{place}", dequantize, inputs, (real,), node.origin))
        names.append(real)
    (output,) = view.output_tensors(node)
    real = rewrite.add_tensor(Tensor(f"{output.name}_real", output.dims, DType.float32))
    nodes.append(Node(node.name, inner, tuple(names), (real,), node.origin))
    inputs = (real, *_numbers(rewrite, *result))
    nodes.append(Node(f"{node.name}_quantize", QuantizeLinear(ANY_AXIS, output.dtype), inputs, node.outputs, node.origin))
    rewrite.replace_node(node, *nodes)


def _numbers(rewrite: Rewrite, scale: str, zero_point: str) -> Iterator[str]:
    """Yields the parameters that are given; a list of one number becomes a number."""
    for name in filter(None, (scale, zero_point)):
        tensor = rewrite.tensors[name]
        is_list = tensor.dims == (1,)
        yield rewrite.add_tensor(constant(f"{name}_number", tensor.data.reshape(()))) if is_list else name


def _expand_linear(
    view: GraphView,
    rewrite: Rewrite,
    node: Node,
    inner: Operator,
    inputs: Sequence[str],
    bias: str,
    result: tuple[str, str],
    axis: int,
) -> None:
    """Expands data, weights and an int32 bias in units of both scales; `axis` counts the output channels of the weights."""
    data, data_scale, data_zero, weights, weights_scale, weights_zero = inputs
    constants = (rewrite.tensors[name] for name in (data_scale, weights_scale, weights_zero, bias) if name)
    if not all(tensor.is_constant for tensor in constants):
        return
    scale, zero_point = _of_equal_dims(rewrite, [rewrite.tensors[name] for name in (weights_scale, weights_zero)])
    operands, axes = [(data, data_scale, data_zero), (weights, scale, zero_point)], [ANY_AXIS, axis]
    if bias:
        product = rewrite.tensors[data_scale].data.reshape(()) * rewrite.tensors[scale].data
        product = product.reshape(()) if product.size == 1 else product
        operands.append((bias, rewrite.add_tensor(constant(f"{bias}_scale", product.astype(numpy.float32))), ""))
        axes.append(rewrite.tensors[bias].rank - 1)
    _expand(view, rewrite, node, inner, operands, result, axes)


def _of_equal_dims(rewrite: Rewrite, parameters: Sequence[Tensor]) -> list[str]:
    """Returns the names of scale and zero point, both one number or both a list."""
    dims = max((tensor.dims for tensor in parameters), key=math.prod)
    lists = [
        tensor if tensor.dims == dims else constant(f"{tensor.name}_list", numpy.full(dims, tensor.data.reshape(())))
        for tensor in parameters
    ]
    return [one.name if one in parameters else rewrite.add_tensor(one) for one in lists]
