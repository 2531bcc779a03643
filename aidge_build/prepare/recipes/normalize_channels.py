# SPDX-License-Identifier: MIT
"""Turns sums and products by channel, between DequantizeLinear and QuantizeLinear, into a BatchNormalization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.channel_lines import channel_lines
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Div, Mul, Sub
from aidge_build.operators.view import Transpose
from aidge_build.prepare.recipes.fuse_scalings import Scaling, channel_scaling
from aidge_build.prepare.recipes.normalize_stored import is_stored_by
from aidge_build.prepare.recipes.recipe import recipe
from aidge_build.prepare.recipes.scaled_layer import real_values

_BYTES = (DType.int8, DType.uint8)
_PARAMETERS = ("scale", "bias", "mean", "variance")
_NORMALIZATION = BatchNormalization(epsilon=0.0)


@recipe(exact=True, of_quantized=True)
def normalize_channels(view: GraphView) -> GraphView:
    """Graphs often subtract a mean from each channel of an image and divide by a deviation, with two operators on floats or more.

    1. Only one operator reads each float between. 2. The constants differ along axis 1, or along the last axis, and then the
       channels are moved to axis 1 first; with one number for all channels the operators are a table (`tabulate`). 3. All 256
       values of every channel keep their stored result, and integers compute the results (`channel_lines`). 4. As in
       `normalize_stored`: bytes with one scale each, under the contract `onnx`.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        chain = _chain(view, node) if node.type == "QuantizeLinear" else []
        if len(chain) < 3 or not (is_stored_by(view, chain[0], chain[0].input) and is_stored_by(view, node, node.output)):
            continue
        rank = view.tensor(node.output).rank
        layers = ((axis, _layer(view, chain, axis)) for axis in dict.fromkeys((1, rank - 1)) if axis)
        axis, layer = next(((axis, layer) for axis, layer in layers if layer is not None), (0, ()))
        if layer:
            names = tuple(rewrite.add_tensor(constant(f"{node.name}_{name}", one)) for name, one in zip(_PARAMETERS, layer))
            rewrite.replace_node(node, *_normalization(view, rewrite, chain, names, axis))
    return rewrite.finish()


def _chain(view: GraphView, last: Node) -> list[Node]:
    """Returns the nodes from a DequantizeLinear through sums and products to the QuantizeLinear `last`; or nothing."""
    found, name = [last], last.input
    while view.only_consumer(name) is not None and (node := view.producer(name)) is not None:
        found.append(node)
        if node.type == "DequantizeLinear":
            return found[::-1] if view.tensor(node.input).dtype in _BYTES else []
        computed = [one.name for one in view.input_tensors(node) if one is not None and not one.is_constant]
        if not isinstance(node.operator, Add | Sub | Mul | Div) or node.operator.clamps or len(computed) != 1:
            break
        (name,) = computed
    return []


def _layer(view: GraphView, chain: Sequence[Node], axis: int) -> Sequence[numpy.ndarray] | None:
    """Returns scale, bias, mean and variance of each channel that give every byte the same result; None if there are none."""
    whole = _composed(view, chain, axis)
    if whole is None or all((values == values[0]).all() for values in whole) or not whole[0].all():
        return None
    (factors, summands), zeros = whole, numpy.zeros(len(whole[0]))
    wanted = _results(view, chain, len(zeros))
    for values in ((factors, zeros, -summands / factors, zeros + 1), (factors, summands, zeros, zeros + 1)):
        layer = tuple(one.astype(numpy.float32) for one in values)
        if numpy.array_equal(_results(view, (chain[0], chain[1], chain[-1]), len(zeros), layer), wanted):
            return layer if channel_lines(wanted) is not None else None
    return None


def _normalization(view: GraphView, rewrite: Rewrite, chain: Sequence[Node], names: Sequence[str], axis: int) -> tuple[Node, ...]:
    """Returns the layer with these constants, between Transposes that move the channels to axis 1 if they are elsewhere."""
    source, (result,) = view.tensor(chain[0].input), view.output_tensors(chain[-1])
    origin = tuple(dict.fromkeys(part for node in chain for part in node.origin))
    node = chain[-1].with_(operator=_NORMALIZATION, inputs=(source.name, *names), origin=origin)
    if axis == 1:
        return (node,)
    order = (0, axis, *range(1, axis))
    moved = [
        rewrite.add_tensor(tensor.with_(name=f"{tensor.name}_{node.name}", dims=tuple(tensor.dims[place] for place in order)))
        for tensor in (source, result)
    ]
    return (
        Node(f"{node.name}_channels", Transpose(order), (source.name,), (moved[0],), origin),
        node.with_(inputs=(moved[0], *names), outputs=(moved[1],)),
        Node(f"{node.name}_places", Transpose((0, *range(2, axis + 1), 1)), (moved[1],), node.outputs, origin),
    )


def _composed(view: GraphView, chain: Sequence[Node], axis: int) -> Scaling | None:
    """Returns the factor and the summand of each channel over all operators between, in float64."""
    before, *scalings, _ = chain
    (data,) = view.output_tensors(before)
    factors, summands = numpy.ones(data.dims[axis]), numpy.zeros(data.dims[axis])
    for node in scalings:
        own = channel_scaling(view, node, data, axis)
        if own is None:
            return None
        factors, summands = factors * own[0], summands * own[0] + own[1]
        (data,) = view.output_tensors(node)
    return factors, summands


def _results(view: GraphView, nodes: Sequence[Node], channels: int, layer: Sequence[numpy.ndarray] = ()) -> numpy.ndarray:
    """Returns the stored results [channels, 256] of all bytes, uint8 less 128; `layer` holds the constants of the normalization
    that replaces the second node."""
    first, *_ = nodes
    levels = view.tensor(first.input).dtype.values
    values = numpy.broadcast_to(levels, (1, channels, len(levels)))
    for node in nodes:
        if layer and node is nodes[1]:
            operator, given = _NORMALIZATION, [values, *layer]
        else:
            operator, given = node.operator, [_beside(tensor, values) for tensor in view.input_tensors(node)]
        (found,) = operator.evaluated(*given)
        values = found.astype(view.output_tensors(node)[0].dtype.numpy)
    return (values[0].astype(numpy.int16) - (values.dtype == numpy.uint8) * 128).astype(numpy.int8)


def _beside(tensor: Tensor | None, values: numpy.ndarray) -> numpy.ndarray | None:
    """Returns a constant in the shape that broadcasts to [1, channels, 256], or else the `values`."""
    if tensor is None or not tensor.is_constant:
        return None if tensor is None else values
    known = tensor.data if tensor.quantization is None else real_values(tensor).astype(numpy.float32)
    return known.reshape(()) if known.size == 1 else known.reshape(1, -1, 1)
