# SPDX-License-Identifier: MIT
"""Computes operators that move elements of quantized constants: the results are constants, and each element keeps its scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.base import as_tuple
from aidge_build.operators.kinds import Moved

MOST_GROWTH = 4  # times the elements of the constants: beyond this, the elements are copied at run time


def moved_constants(node: Node, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """Returns the outputs of a Slice, Concat, Split, Gather, Tile or Pad of quantized constants, as constants. () for other
    nodes, and if the outputs have more than `MOST_GROWTH` times the elements of the constants.
    """
    operator, sources = node.operator, _sources(node, inputs)
    if not sources:
        return ()
    rest = [None if tensor is None else tensor.data for tensor in inputs[len(sources) :]]
    reals = [dequantize_linear(tensor.data, tensor.quantization) for tensor in sources]
    ends = numpy.cumsum([tensor.elements for tensor in sources])
    numbers = [
        numpy.arange(end - tensor.elements + 1, end + 1, dtype=numpy.float64).reshape(tensor.dims)
        for tensor, end in zip(sources, ends)
    ]
    results = as_tuple(operator.forward(*reals, *rest))
    if sum(real.size for real in results) > MOST_GROWTH * ends[-1]:
        return ()
    places = (each.astype(numpy.intp) for each in operator.number_places(*numbers, *rest))
    made = (_stated(sources, each, real) for each, real in zip(places, results))
    return tuple(tensor.with_(name=f"{name}_stored") for name, tensor in zip(node.outputs, made))


def _sources(node: Node, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    """Returns the quantized constants with elements that the node moves; none if it does anything else."""
    if not isinstance(node.operator, Moved) or not all(tensor is None or tensor.is_constant for tensor in inputs):
        return []
    sources = [tensor for tensor in (inputs if node.operator.joins else inputs[:1]) if tensor is not None]
    is_quantized = all(tensor.quantization is not None for tensor in sources)
    return sources if is_quantized and len({tensor.dtype for tensor in sources}) == 1 else []


def _stated(sources: Sequence[Tensor], places: numpy.ndarray, real: numpy.ndarray) -> Tensor:
    """Returns the elements at these places, counted through all sources from 1, as one constant; place 0 is no element.

    The constant is stored if one scale, or scales along an axis, give exactly the `real` values; else it is `real`.
    """
    levels = numpy.concatenate([tensor.data.reshape(-1) for tensor in sources])
    each = [_of_elements(tensor) for tensor in sources]
    known, taken = places > 0, numpy.maximum(places, 1) - 1
    scales, points = (numpy.concatenate(parts)[taken] for parts in zip(*each))
    for axis in (None, *range(places.ndim)):
        quantization = _along(axis, known, scales, points)
        if quantization is not None:
            zeros = quantization.along(quantization.zero_points, places.ndim, levels.dtype)
            data = numpy.where(known, levels[taken], zeros)
            if numpy.array_equal(dequantize_linear(data, quantization), real):
                return Tensor("", data.shape, sources[0].dtype, data, quantization)
    return Tensor("", real.shape, DType.float32, real)


def _of_elements(tensor: Tensor) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the scale and the zero point of each element, in order."""
    known = tensor.quantization
    parts = (known.along(values, tensor.rank, None) for values in (known.scales, known.zero_points))
    scales, points = (numpy.broadcast_to(part, tensor.dims).reshape(-1) for part in parts)
    return scales, points


def _along(axis: int | None, known: numpy.ndarray, scales: numpy.ndarray, points: numpy.ndarray) -> Quantization | None:
    """Returns the quantization of elements that differs along this axis alone; None if it differs otherwise."""
    valid, scales, points = (
        values.reshape(1, -1) if axis is None else numpy.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        for values in (known, scales, points)
    )
    first = valid.argmax(axis=1)[:, None]
    own_scales, own_points = numpy.take_along_axis(scales, first, 1), numpy.take_along_axis(points, first, 1)
    if numpy.any(valid & ((scales != own_scales) | (points != own_points))):
        return None
    return Quantization(tuple(own_scales.ravel().tolist()), tuple(map(int, own_points.ravel())), axis)
