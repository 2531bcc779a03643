# SPDX-License-Identifier: MIT
"""The values that each channel of each quantized tensor can have, for any input of the model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip
from aidge_build.operators.arithmetic.contracts import Requantization
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels
from aidge_build.operators.base import Operator
from aidge_build.operators.binary import Add, Max, Min, Mul, Sub
from aidge_build.operators.conv import Conv
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.matmul import FC
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling, GlobalMaxPooling, MaxPooling, MaxPoolingIndices
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.view import Transpose

CHANNEL_AXIS = 1
MOST_ELEMENTS = 1 << 22  # of a tensor on which an operator is evaluated; for a larger tensor every value counts as possible

# No output of these operators falls when an input rises.
_RISING = (Add, Max, Min, Clip, AvgPooling, MaxPooling, GlobalAveragePooling, GlobalMaxPooling, Concat)
# An output of these operators moves in one direction when one input rises and the others stay.
_STRAIGHT = (Sub, Mul)


@dataclass(frozen=True, eq=False)
class Reach:
    """Every stored value of a channel is in low..high, both included; int64 [channels]."""

    low: numpy.ndarray
    high: numpy.ndarray

    @property
    def is_constant(self) -> numpy.ndarray:
        """Channels that have one value only."""
        return self.low == self.high


@dataclass(frozen=True, eq=False)
class Sums:
    """Every accumulator of an output channel of a linear layer is in low..high; int64 [channels]."""

    low: numpy.ndarray
    high: numpy.ndarray


def has_channels(tensor: Tensor | None) -> bool:
    """Whether the tensor is computed, quantized with one scale, and has an axis of channels."""
    return (
        tensor is not None
        and not tensor.is_constant
        and tensor.rank > CHANNEL_AXIS
        and tensor.elements > 0
        and tensor.quantization is not None
        and tensor.quantization.per_tensor
    )


def is_by_channel(operator: Operator) -> bool:
    """Whether channel c of the output depends only on channel c of the inputs (Concat: on one channel of one input)."""
    return isinstance(operator, (*_RISING, *_STRAIGHT, ElementWise)) and not isinstance(operator, MaxPoolingIndices)


def keeps_order(operator: Operator) -> bool:
    """Whether the operator only changes the dims: the elements keep their row-major order."""
    return operator.views and not isinstance(operator, Transpose)


def channel_reach(view: GraphView) -> dict[str, Reach]:
    """Returns the reach of every computed, quantized tensor: all values of the type for graph inputs and unknown operators."""
    found: dict[str, Reach] = {}
    for name in view.inputs:
        if has_channels(view.tensor(name)):
            found[name] = everything(view.tensor(name))
    for node in view.nodes:
        for tensor in view.output_tensors(node):
            if has_channels(tensor):
                found[tensor.name] = _reach(view, node, tensor, found)
    return found


def everything(tensor: Tensor) -> Reach:
    """Returns all values of the tensor's type for every channel."""
    low, high = tensor.dtype.range
    count = tensor.dims[CHANNEL_AXIS]
    return Reach(numpy.full(count, low, numpy.int64), numpy.full(count, high, numpy.int64))


def _reach(view: GraphView, node: Node, output: Tensor, found: Mapping[str, Reach]) -> Reach:
    inputs = view.input_tensors(node)
    computed = [tensor for tensor in inputs if tensor is not None and not tensor.is_constant]
    if not computed or not all(tensor.name in found for tensor in computed):
        return everything(output)
    data, *_ = computed
    if isinstance(node.operator, Conv | FC):
        sums = linear_sums(node.operator, inputs, output, found[data.name]) if has_constant_weights(inputs) else None
        if sums is not None:
            return Reach(*(stored(node.operator, inputs, output, ends) for ends in (sums.low, sums.high)))
    elif isinstance(node.operator, ElementWise):
        return _reach_of_table(node, data, output, found[data.name])
    elif is_by_channel(node.operator):
        return _reach_of_corners(node, inputs, output, found)
    elif keeps_order(node.operator) and output.quantization == data.quantization:
        return _reach_of_view(data, output, found[data.name])
    return everything(output)


def has_constant_weights(inputs: tuple[Tensor | None, ...]) -> bool:
    """Whether weights and bias are constants; next to quantized data they are quantized, too (`check_rewrite`)."""
    return all(tensor is None or tensor.is_constant for tensor in inputs[1:])


def linear_sums(operator: Conv | FC, inputs: tuple[Tensor | None, ...], output: Tensor, data: Reach) -> Sums | None:
    """Returns the accumulators of a linear layer; None if int32 or the multipliers' float32 might not hold them."""
    tensor, weights, *rest = inputs
    rows = centred(weights.data, weights.quantization)
    bias = bias_of(inputs, len(rows))
    zero_point, groups = tensor.quantization.zero_point, getattr(operator, "groups", 1)
    largest = largest_accumulators(rows.reshape(len(rows), -1), bias, zero_point, *tensor.dtype.range).max()
    if largest >= INT32_LIMIT or not _requantization(operator, inputs, output).is_finite:
        return None
    low, high = data.low - zero_point, data.high - zero_point
    if isinstance(operator, Conv) and operator.window.has_pads:  # a tap in the pad adds nothing
        low, high = numpy.minimum(low, 0), numpy.maximum(high, 0)
    taps = rows.reshape(groups, len(rows) // groups, rows.shape[1], -1)
    rising, falling = numpy.maximum(taps, 0).sum(axis=3), numpy.minimum(taps, 0).sum(axis=3)
    low, high = low.reshape(groups, -1, 1), high.reshape(groups, -1, 1)
    return Sums(bias + (rising @ low + falling @ high).reshape(-1), bias + (rising @ high + falling @ low).reshape(-1))


def bias_of(inputs: tuple[Tensor | None, ...], count: int) -> numpy.ndarray:
    """Returns the bias of a linear layer in int64, or zeros."""
    given = inputs[2] if len(inputs) > 2 else None
    return numpy.zeros(count, numpy.int64) if given is None else given.data.astype(numpy.int64)


def stored(operator: Conv | FC, inputs: tuple[Tensor | None, ...], output: Tensor, sums: numpy.ndarray) -> numpy.ndarray:
    """Returns the stored value of one accumulator per output channel."""
    clamp = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
    return _requantization(operator, inputs, output).levels(sums, 0, output.quantization.zero_point, *clamp)


def _requantization(operator: Conv | FC, inputs: tuple[Tensor | None, ...], output: Tensor) -> Requantization:
    with numpy.errstate(over="ignore"):
        return operator.requantization(inputs, output)


def _reach_of_table(node: Node, data: Tensor, output: Tensor, reach: Reach) -> Reach:
    """Returns the reach of an operator that maps each element by itself, from all stored values between both ends."""
    if data.dtype not in (DType.int8, DType.uint8):
        return everything(output)
    levels = data.dtype.values
    shaped = data.with_(dims=levels.shape), output.with_(dims=levels.shape)
    table = evaluate(node.operator, [levels], shaped[:1], shaped[1:])[0].astype(numpy.int64)
    ends = [table[(low <= levels) & (levels <= high)] for low, high in zip(reach.low, reach.high)]
    return Reach(numpy.array([end.min() for end in ends]), numpy.array([end.max() for end in ends]))


def _reach_of_corners(node: Node, inputs: tuple[Tensor | None, ...], output: Tensor, found: Mapping[str, Reach]) -> Reach:
    """Returns the reach from the results with every channel at its lowest or its highest value in all places: no result is
    outside.

    A tensor that is read twice counts as two: the square of x has the bounds of a product of any two values.
    """
    if max(tensor.elements for tensor in (output, *inputs) if tensor is not None) > MOST_ELEMENTS:
        return everything(output)
    moving = [index for index, tensor in enumerate(inputs) if tensor is not None and not tensor.is_constant]
    together = [(is_high,) * len(moving) for is_high in (False, True)]
    corners = itertools.product((False, True), repeat=len(moving)) if isinstance(node.operator, _STRAIGHT) else together
    axes = tuple(axis for axis in range(output.rank) if axis != CHANNEL_AXIS)
    lows, highs = [], []
    for corner in corners:
        is_high = dict(zip(moving, corner))
        values = [
            _image(tensor, found[tensor.name], is_high[index]) if index in is_high else None if tensor is None else tensor.data
            for index, tensor in enumerate(inputs)
        ]
        (result,) = evaluate(node.operator, values, inputs, (output,))
        lows.append(result.min(axis=axes).astype(numpy.int64))
        highs.append(result.max(axis=axes).astype(numpy.int64))
    return Reach(numpy.minimum.reduce(lows), numpy.maximum.reduce(highs))


def _image(tensor: Tensor, reach: Reach, is_high: bool) -> numpy.ndarray:
    ends = reach.high if is_high else reach.low
    return numpy.broadcast_to(ends.reshape(-1, *(1,) * (tensor.rank - 2)), tensor.dims).astype(tensor.dtype.numpy)


def _reach_of_view(data: Tensor, output: Tensor, reach: Reach) -> Reach:
    """Returns the reach of channels that a view splits or joins; all values if it does anything else."""
    parts, joined = split_and_joined(data, output)
    if parts > 1 or joined == parts == 1:
        return Reach(numpy.repeat(reach.low, parts), numpy.repeat(reach.high, parts))
    if joined > 1:
        return Reach(reach.low.reshape(-1, joined).min(axis=1), reach.high.reshape(-1, joined).max(axis=1))
    return everything(output)


def split_and_joined(data: Tensor, output: Tensor) -> tuple[int, int]:
    """Returns into how many channels a view splits each channel, and how many it joins; (0, 0) if it does neither.

    The elements stay in row-major order and the first axis stays: then each channel of the side with fewer channels holds
    neighbouring channels of the other side.
    """
    before, after = data.dims[CHANNEL_AXIS], output.dims[CHANNEL_AXIS]
    if data.dims[0] != output.dims[0]:
        return 0, 0
    if after % before == 0:
        return after // before, 1
    return (1, before // after) if before % after == 0 else (0, 0)
