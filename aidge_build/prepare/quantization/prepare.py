# SPDX-License-Identifier: MIT
"""Prepares the float graph for quantization: without useless nodes, and with biases and scalings inside their layers."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.pool import GlobalAveragePooling
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.operators.window import Window
from aidge_build.prepare.quantization.transposes import move_transposes
from aidge_build.prepare.recipes.check import checked
from aidge_build.prepare.recipes.flatten_products import flatten_products
from aidge_build.prepare.recipes.fuse_batch_norm import fuse_batch_norm
from aidge_build.prepare.recipes.fuse_fully_connected import fuse_fully_connected
from aidge_build.prepare.recipes.fuse_pad import fuse_pad
from aidge_build.prepare.recipes.fuse_scalings import fuse_scalings
from aidge_build.prepare.recipes.recipe import Recipe, recipe
from aidge_build.prepare.recipes.remove_identities import remove_identities
from aidge_build.sources.onnx_format import OnnxModel


@recipe(exact=True)
def dequantized_weights(view: GraphView) -> GraphView:
    """Turns DequantizeLinear of a constant into a float constant: such a model stores small weights and computes in float."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "DequantizeLinear" or view.is_output(node.output):
            continue
        inputs = view.input_tensors(node)
        if all(tensor is None or tensor.is_constant for tensor in inputs):
            values = [None if tensor is None else tensor.data for tensor in inputs]
            (real,) = evaluate(node.operator, values, inputs, view.output_tensors(node))
            rewrite.redirect(node.output, rewrite.add_tensor(constant(f"{node.output}_real", real)))
            rewrite.remove_node(node)
    return rewrite.finish()


@recipe(exact=False)
def mean_as_pooling(view: GraphView) -> GraphView:
    """Replaces ReduceMean over all axes but batch and channels by GlobalAveragePool, which has integers."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if not isinstance(node.operator, ReduceMean):
            continue
        data, transpose = view.tensor(node.inputs[0]), view.producer(node.inputs[0])
        order, source = tuple(range(data.rank)), data
        if transpose is not None and isinstance(transpose.operator, Transpose):
            order, source = transpose.operator.permutation, view.tensor(transpose.inputs[0])
        reduced = {axis % data.rank for axis in node.operator.axes}
        if data.rank < 3 or [order[axis] for axis in range(data.rank) if axis not in reduced] != [0, 1]:
            continue
        (result,) = view.output_tensors(node)
        dims = (*source.dims[:2], *(1,) * (data.rank - 2))
        pooled = rewrite.add_tensor(Tensor(f"{result.name}_pooled", dims, result.dtype))
        rewrite.replace_node(
            node,
            node.with_(operator=GlobalAveragePooling(), inputs=(source.name,), outputs=(pooled,)),
            Node(f"{node.name}_reshape", Reshape(result.dims), (pooled,), node.outputs, node.origin),
        )
    return rewrite.finish()


@recipe(exact=False)
def batch_norm_as_convolution(view: GraphView) -> GraphView:
    """Turns a BatchNormalization that is part of no layer into a depthwise convolution of one tap, which integers compute."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        data, *parameters = view.input_tensors(node)
        if not isinstance(node.operator, BatchNormalization) or data is None or data.rank < 3 or data.dtype is not DType.float32:
            continue
        values = [numpy.asarray(tensor.data, numpy.float64) for tensor in parameters if tensor is not None and tensor.is_constant]
        if len(values) != 4:
            continue
        gamma, beta, mean, variance = values
        factors = gamma / numpy.sqrt(variance + node.operator.epsilon)
        channels, ones, zeros = len(gamma), (1,) * (data.rank - 2), (0,) * (data.rank - 2)
        names = (
            rewrite.add_tensor(constant(f"{node.output}_factors", factors.reshape(-1, 1, *ones).astype(numpy.float32))),
            rewrite.add_tensor(constant(f"{node.output}_summands", (beta - mean * factors).astype(numpy.float32))),
        )
        operator = Conv(window=Window(ones, ones, ones, zeros, zeros), groups=channels, depthwise=channels > 1)
        rewrite.replace_node(node, node.with_(operator=operator, inputs=(node.inputs[0], *names)))
    return rewrite.finish()


@recipe(exact=True)
def with_biases(view: GraphView) -> GraphView:
    """Adds a bias of zeros to convolutions and FC without a bias, which bias correction then changes."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, Conv | FC) and len(node.inputs) == 2 and view.tensor(node.inputs[1]).is_constant:
            zeros = numpy.zeros(view.tensor(node.inputs[1]).dims[0], numpy.float32)
            bias = rewrite.add_tensor(constant(f"{node.output}_bias", zeros))
            rewrite.replace_node(node, node.with_(inputs=(*node.inputs, bias)))
    return rewrite.finish()


PREPARATIONS: tuple[Recipe, ...] = (
    dequantized_weights,
    remove_identities,
    move_transposes,
    remove_identities,
    mean_as_pooling,
    flatten_products,
    fuse_pad,
    fuse_fully_connected,
    fuse_batch_norm,
    fuse_scalings,
    fuse_batch_norm,
    batch_norm_as_convolution,
)


def is_quantizer(name: str) -> bool:
    """Whether an operator of this name is in quantized models only."""
    return name in ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear") or name.startswith("QLinear")


def is_float(model: OnnxModel) -> bool:
    """Whether layers with weights compute in float32, so that they can be quantized; weights may be stored as integers."""
    computed = [node for node in model.nodes if not (node.inputs and node.inputs[0] in model.initializers)]
    return (
        any(value.dtype is DType.float32 for value in model.inputs)
        and not any(is_quantizer(node.op_type) for node in computed)
        and any(node.op_type in ("Conv", "ConvTranspose", "Gemm", "MatMul") for node in computed)
    )


def prepared(view: GraphView) -> GraphView:
    """Returns the graph after these recipes; AidgeError if it is quantized already."""
    for one in PREPARATIONS:
        view = checked(one, view)
    found = next((node for node in view.nodes if is_quantizer(node.type)), None)
    if found is not None:
        raise AidgeError(
            "the model is quantized already",
            where=found.where(),
            code="QUANTIZATION",
            hint="give the float model, or build this one as it is",
        )
    return view
