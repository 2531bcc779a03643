# SPDX-License-Identifier: MIT
"""Removes channels that have the same value for every input of the model, and channels that no node reads."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import KeptChannels, Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import centred
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.view import Reshape
from aidge_build.prepare.recipes.channel_reach import CHANNEL_AXIS, Reach, bias_of, channel_reach, linear_sums
from aidge_build.prepare.recipes.channel_use import ChannelUse
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True, of_quantized=True)
def remove_constant_channels(view: GraphView) -> GraphView:
    """Every output keeps its value, bit for bit: folded constants are added to the bias as exact integers.

    1. A channel with accumulators that all requantize to one value (large biases, clamps, weights of 0) goes if each reader folds
       it. A convolution with pads folds only a constant that equals the zero point: any other one differs at the border.
    2. A channel that only removed channels read goes, too.
    3. Depthwise layers, pools, Add and other operators that keep channels apart drop the same channels on all sides.
    Graph inputs, graph outputs and all tensors of other operators keep all channels.
    """
    reach = channel_reach(view)
    use = ChannelUse(view, reach)
    rewrite = Rewrite(view)
    kept = {name: mask for name in view.tensors if (mask := use.kept(name)) is not None and not mask.all()}
    for name, mask in kept.items():
        tensor = view.tensor(name)
        rewrite.update_tensor(
            name,
            dims=_shortened(tensor.dims, CHANNEL_AXIS, mask),
            kept=KeptChannels(tuple(numpy.flatnonzero(mask).tolist()), len(mask)),
        )
    for node in view.nodes:
        if any(name in kept for name in (*node.inputs, *node.outputs)):
            rewrite.replace_node(node, _reduced(view, rewrite, node, use, reach))
    return rewrite.finish()


def _shortened(dims: tuple[int, ...], axis: int, mask: numpy.ndarray) -> tuple[int, ...]:
    return (*dims[:axis], int(mask.sum()), *dims[axis + 1 :])


def _reduced(view: GraphView, rewrite: Rewrite, node: Node, use: ChannelUse, reach: dict[str, Reach]) -> Node:
    """Returns the node on the channels that are left."""
    if isinstance(node.operator, Conv | FC):
        return _reduced_linear(view, rewrite, node, use, reach)
    mask = use.kept(node.output)
    if isinstance(node.operator, Reshape):
        return node.with_(operator=replace(node.operator, dims=rewrite.tensors[node.output].dims))
    rank = view.tensor(node.output).rank
    names = [name and _reduced_operand(rewrite, view.tensor(name), rank, mask) for name in node.inputs]
    return node.with_(inputs=tuple(names))


def _reduced_operand(rewrite: Rewrite, tensor: Tensor, rank: int, mask: numpy.ndarray) -> str:
    """Returns the name of the operand; a constant with a value for each channel loses the values of removed channels."""
    axis = CHANNEL_AXIS - (rank - tensor.rank)
    if not tensor.is_constant or axis < 0 or tensor.dims[axis] == 1:
        return tensor.name
    return rewrite.add_tensor(constant(f"{tensor.name}_kept", numpy.compress(mask, tensor.data, axis), tensor.quantization))


def _reduced_linear(view: GraphView, rewrite: Rewrite, node: Node, use: ChannelUse, reach: dict[str, Reach]) -> Node:
    """Returns the layer with fewer rows and columns of weights; the bias includes the constant sums of the missing columns.

    Rows of channels that are constant but stay (a reader cannot fold them) become 0, with a bias that gives the constant.
    """
    inputs, (output,) = view.input_tensors(node), view.output_tensors(node)
    data, weights, given, *_ = *inputs, None
    rows, columns = use.kept(output.name), use.kept(data.name)
    values, bias = weights.data[rows], bias_of(inputs, len(weights.data))
    operator = node.operator
    if getattr(operator, "depthwise", False):
        operator = replace(operator, groups=int(rows.sum()))
    else:
        fixed = reach[output.name].is_constant
        if fixed.any():
            bias = numpy.where(fixed, linear_sums(operator, inputs, output, reach[data.name]).low, bias)
        sums = centred(weights.data, weights.quantization).sum(axis=tuple(range(2, weights.rank)))
        always = numpy.where(reach[data.name].is_constant & ~columns, reach[data.name].low - data.quantization.zero_point, 0)
        bias = numpy.where(fixed, bias, bias + sums @ always)
        zeros = weights.quantization.along(weights.quantization.zero_points, weights.rank, weights.data.dtype)
        values = numpy.where(fixed.reshape(-1, *(1,) * (weights.rank - 1)), zeros, weights.data)[rows][:, columns]
    names = [node.input, rewrite.add_tensor(constant(f"{weights.name}_kept", values, _of_rows(weights.quantization, rows)))]
    if bias.any() or given is not None:
        whole = _bias(data, weights, given, f"{node.name}_bias", bias)
        names.append(rewrite.add_tensor(constant(whole.name, whole.data[rows], _of_rows(whole.quantization, rows))))
    return node.with_(operator=operator, inputs=tuple(names))


def _bias(data: Tensor, weights: Tensor, given: Tensor | None, name: str, values: numpy.ndarray) -> Tensor:
    """Returns the bias with these values, for all rows: like the given one, or in units of both scales."""
    if given is not None:
        return given.with_(name=f"{given.name}_kept", data=values.astype(given.data.dtype))
    unit, known = float(data.quantization.scale), weights.quantization
    units = Quantization(tuple(unit * scale for scale in known.scales), (0,) * len(known.scales), known.axis)
    return constant(name, values.astype(numpy.int32), units)


def _of_rows(quantization: Quantization | None, rows: numpy.ndarray) -> Quantization | None:
    """Returns scales and zero points of the output channels that are left."""
    if quantization is None or quantization.per_tensor:
        return quantization
    chosen = numpy.flatnonzero(rows).tolist()
    return Quantization(
        tuple(quantization.scales[row] for row in chosen),
        tuple(quantization.zero_points[row] for row in chosen),
        quantization.axis,
    )
