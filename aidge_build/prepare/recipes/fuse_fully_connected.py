# SPDX-License-Identifier: MIT
"""Turns Gemm, or MatMul and Add, with constant weights and bias into FC."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Add
from aidge_build.operators.matmul import FC, Gemm
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def fuse_fully_connected(view: GraphView) -> GraphView:
    """1. Gemm(X, W, C) with constant W and C, A as it is, and alpha = beta = 1 or float constants. A computed C, as in the steps
    of recurrent layers, is added after the FC.
    2. MatMul(X, W) of a matrix with constant W; an Add of a constant vector after it becomes the bias.
    FC wants W as [outputs, inputs]: the constant is transposed here, with its quantization's axis.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type == "Gemm":
            _fuse_gemm(view, rewrite, node)
        elif node.type == "MatMul":
            _fuse_matmul(view, rewrite, node)
    return rewrite.finish()


def _fuse_gemm(view: GraphView, rewrite: Rewrite, node: Node) -> None:
    operator = node.operator
    data, weights, bias, *_ = *view.input_tensors(node), None
    if operator.transpose_a or not _is_matrix_by_constant(data, weights):
        return
    new_weights = weights if operator.transpose_b else _transposed(weights)
    outputs = new_weights.dims[0]
    added = None
    if bias is not None and not _is_constant_bias(bias, outputs):
        if not bias.dtype.is_float or operator.beta != 1:
            return
        bias, added = None, bias
    if not _is_free_of_factors(operator, bias) and (weights.quantization or (bias is not None and bias.quantization)):
        return
    if operator.alpha != 1:
        new_weights = new_weights.with_(name=f"{weights.name}_scaled", data=(new_weights.data * numpy.float32(operator.alpha)))
    names = [node.input, _named(rewrite, weights, new_weights)]
    if bias is not None:
        names.append(rewrite.add_tensor(_bias(bias, outputs, operator.beta)))
    if added is None:
        rewrite.replace_node(node, node.with_(operator=FC(), inputs=tuple(names)))
        return
    (result,) = view.output_tensors(node)
    product = rewrite.add_tensor(result.with_(name=f"{node.output}_product"))
    rewrite.replace_node(
        node,
        node.with_(name=f"{node.name}_product", operator=FC(), inputs=tuple(names), outputs=(product,)),
        node.with_(operator=Add(), inputs=(product, added.name)),
    )


def _is_matrix_by_constant(data: Tensor, weights: Tensor) -> bool:
    return weights.is_constant and weights.rank == data.rank == 2 and not data.is_constant


def _is_free_of_factors(operator: Gemm, bias: Tensor | None) -> bool:
    return operator.alpha == 1 and (bias is None or operator.beta == 1)


def _is_constant_bias(tensor: Tensor, outputs: int) -> bool:
    return tensor.is_constant and (tensor.elements == 1 or _is_row(tensor, outputs))


def _is_row(tensor: Tensor, outputs: int) -> bool:
    """Whether the tensor has one value for each output, along its last axis."""
    return tensor.elements == outputs and tensor.dims[-1:] == (outputs,)


def _bias(bias: Tensor, outputs: int, beta: float) -> Tensor:
    values = bias.data.reshape(-1)
    values = numpy.ascontiguousarray(numpy.broadcast_to(values, (outputs,)))
    if beta != 1:
        values = (values * numpy.float32(beta)).astype(values.dtype)
    quantization = bias.quantization
    if quantization is not None and not quantization.per_tensor:
        quantization = replace(quantization, axis=0)
    return bias.with_(name=f"{bias.name}_bias", dims=(outputs,), data=values, quantization=quantization)


def _fuse_matmul(view: GraphView, rewrite: Rewrite, node: Node) -> None:
    data, weights = view.input_tensors(node)
    if not _is_matrix_by_constant(data, weights):
        return
    names = [node.input, _named(rewrite, weights, _transposed(weights))]
    add = view.only_consumer(node.output)
    bias = _vector_beside(view, add, node.output, weights.dims[1]) if add is not None and add.type == "Add" else None
    if bias is None:
        rewrite.replace_node(node, node.with_(operator=FC(), inputs=tuple(names)))
        return
    names.append(rewrite.add_tensor(_bias(bias, weights.dims[1], 1.0)))
    operator = FC(minimum=add.operator.minimum, maximum=add.operator.maximum)
    rewrite.replace_node(
        node, node.with_(operator=operator, inputs=tuple(names), outputs=add.outputs, origin=(*node.origin, *add.origin))
    )
    rewrite.remove_node(add)


def _vector_beside(view: GraphView, add: Node, sums: str, outputs: int) -> Tensor | None:
    """Returns the constant vector that `add` adds to `sums`, if it can be a bias.

    Among quantized constants only an int32 vector can be one: an int8 vector next to quantized weights has its own scale.
    """
    other = add.other_input(sums)
    tensor = view.tensor(other)
    if other == sums or not tensor.is_constant or not _is_row(tensor, outputs):
        return None
    return tensor if tensor.quantization is None or tensor.dtype.size_bytes == 4 else None


def _transposed(weights: Tensor) -> Tensor:
    quantization = weights.quantization
    if quantization is not None and not quantization.per_tensor:
        quantization = Quantization(quantization.scales, quantization.zero_points, 1 - quantization.axis)
    return weights.with_(
        name=f"{weights.name}_transposed",
        dims=weights.dims[::-1],
        data=numpy.ascontiguousarray(weights.data.T),
        quantization=quantization,
    )


def _named(rewrite: Rewrite, old: Tensor, new: Tensor) -> str:
    return old.name if new is old else rewrite.add_tensor(new)
