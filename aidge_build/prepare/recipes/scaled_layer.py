# SPDX-License-Identifier: MIT
"""Folds a factor and a summand of each channel into the weights and the bias of a convolution or FC."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import dequantize

_STORED = (DType.int8, DType.int16)


def scaled_layer(view: GraphView, layer: Node, factors: numpy.ndarray, summands: numpy.ndarray) -> tuple[Tensor, Tensor] | None:
    """Returns weights and bias of a layer with the result y * factors + summands, in float64 and rounded once; quantized weights
    keep their integers, up to the sign, and get other scales. None if weights or bias are not constant, or quantized otherwise.
    """
    _, weights, bias, *_ = *view.input_tensors(layer), None
    if any(tensor is not None and not tensor.is_constant for tensor in (weights, bias)):
        return None
    if bias is not None and bias.quantization is None and not bias.dtype.is_float:
        return None
    scaled = _scaled(weights, factors)
    known = numpy.zeros(1) if bias is None else real_values(bias)
    dtype = weights.dtype.numpy if weights.quantization is None else numpy.float32
    added = known.reshape(-1) * factors + summands
    return None if scaled is None else (scaled, constant(f"{layer.output}_bias", added.astype(dtype)))


def real_values(tensor: Tensor) -> numpy.ndarray:
    """Returns the real values of a constant, in float64."""
    if tensor.quantization is None:
        return tensor.data.astype(numpy.float64)
    return dequantize(tensor.data, tensor.quantization).astype(numpy.float64)


def _scaled(weights: Tensor, factors: numpy.ndarray) -> Tensor | None:
    rows = factors.reshape(-1, *(1,) * (weights.rank - 1))
    if weights.quantization is None:
        if not weights.dtype.is_float or (factors == 1).all():
            return weights if weights.dtype.is_float else None
        return constant(f"{weights.name}_scaled", (weights.data.astype(numpy.float64) * rows).astype(weights.dtype.numpy))
    quantization = weights.quantization
    if any(quantization.zero_points) or quantization.axis not in (None, 0) or weights.dtype not in _STORED:
        return None
    if (factors == 1).all():
        return weights
    stored = weights.data.astype(numpy.int64) * numpy.sign(rows).astype(numpy.int64)
    scales = (numpy.array(quantization.scales) * numpy.where(factors == 0, 1, numpy.abs(factors))).astype(numpy.float32)
    if stored.max(initial=0) > weights.dtype.range[1] or not (numpy.isfinite(scales) & (scales > 0)).all():
        return None
    kept = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0, quantization.rounding)
    return Tensor(f"{weights.name}_scaled", weights.dims, weights.dtype, stored.astype(weights.dtype.numpy), kept)
