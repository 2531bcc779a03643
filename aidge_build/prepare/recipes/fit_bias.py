# SPDX-License-Identifier: MIT
"""Converts the bias of a quantized linear layer to units of its integer sums, from any units of the file."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels, dequantize, multipliers, requantize
from aidge_build.operators.arithmetic.thresholds import first_reaching
from aidge_build.operators.linear import LinearQuantized

FINEST = 7  # bits of a fraction of the unit: weights without zero point, times 128, fit int16
SAME_UNIT = 2.0**-21  # relative: exporters round sx * sw in float32 or in float64, and the scale that they state once more
SUBNORMAL_STEP = float(numpy.finfo(numpy.float32).smallest_subnormal)  # by which exporters round products below the normal ones
MEANT = 20  # bits of the fraction that float32 could tell from another one
NUDGES = (0, 1, -1, 2, -2)  # in the finest units
MOST_LEVELS = 256  # stored values of an output for which fractions are compared; an output with more values shows every fraction


@dataclass(frozen=True, eq=False)
class Fitted:
    """Weights in int8 or int16, and a bias in int32 in units of both scales, with the meaning of the file's weights and bias."""

    weights: Tensor
    bias: Tensor


def in_same_units(data: Quantization, weights: Quantization, bias: Quantization) -> bool:
    """Whether the bias is stated in units of the products of data and weights."""
    units = _units(data, weights)
    return numpy.allclose(bias.scales, units, rtol=SAME_UNIT, atol=SUBNORMAL_STEP)


def fitted(operator: LinearQuantized, data: Tensor, weights: Tensor, bias: Tensor, output: Tensor) -> Fitted | None:
    """1. A bias that is a whole number of units, except for the rounding of scales, stays one. Another bias becomes a whole
       number if no reachable sum shows the difference: every step from one stored value to the next is compared.
    2. Else the units become 2^7 times smaller, or less if int32 or int16 holds less: the weights are multiplied by this factor,
       their scale is divided by it, and each channel's bias becomes a number of such units that keeps all steps, or the nearest
       number.
    Returns None if the layer cannot be computed in integers: a bias is beyond int32, or is no finite number.
    """
    real = bias.data.astype(numpy.float64) if bias.quantization is None else dequantize(bias.data, bias.quantization)
    exact = real.reshape(-1) / _units(data.quantization, weights.quantization)
    if not (numpy.abs(exact) < INT32_LIMIT).all():
        return None
    whole = numpy.rint(exact)
    exact = numpy.where(numpy.isclose(exact, whole, rtol=SAME_UNIT, atol=0), whole, exact)
    bits = _bits(data, weights, exact)
    found = _chosen(_Layer.of(operator, data, weights, output), exact, bits)
    if not (found % (1 << bits)).any():
        return Fitted(weights, _bias(data, weights, bias, found >> bits))
    finer = _finer(weights, 2**bits)
    return Fitted(finer, _bias(data, finer, bias, found))


def _units(data: Quantization, weights: Quantization) -> numpy.ndarray:
    return numpy.float64(data.scale) * numpy.array(weights.scales, numpy.float64)


def _rows(weights: Tensor) -> numpy.ndarray:
    return centred(weights.data, weights.quantization).reshape(len(weights.data), -1)


def _bits(data: Tensor, weights: Tensor, bias: numpy.ndarray) -> int:
    """Returns the bits of the finest fraction that int16 weights and int32 sums hold."""
    rows, zero_point = _rows(weights), data.quantization.zero_point
    largest = int(largest_accumulators(rows, numpy.ceil(numpy.abs(bias)), zero_point, *data.dtype.range).max()) + 1
    return sum(largest << bits < INT32_LIMIT and DType.int16.holds(rows << bits) for bits in range(1, FINEST + 1))


@dataclass(frozen=True, eq=False)
class _Layer:
    """The data that decide at which sums the output of a layer steps: the sums low..high of each channel (without bias), the
    multipliers, the stored values."""

    low: numpy.ndarray
    high: numpy.ndarray
    factors: numpy.ndarray
    zero_point: int
    levels: numpy.ndarray

    @classmethod
    def of(cls, operator: LinearQuantized, data: Tensor, weights: Tensor, output: Tensor) -> _Layer:
        rows, quantization = _rows(weights), output.quantization
        ends = [rows * (end - data.quantization.zero_point) for end in data.dtype.range]
        ends.append(numpy.zeros_like(rows))  # a tap in a pad adds nothing
        low, high = clamp_levels(operator.minimum, operator.maximum, quantization, output.dtype)
        with numpy.errstate(over="ignore"):
            factors = multipliers(data.quantization.scale, weights.quantization.scales, quantization.scale)
        return cls(
            numpy.minimum.reduce(ends).sum(axis=1),
            numpy.maximum.reduce(ends).sum(axis=1),
            numpy.broadcast_to(factors, len(rows)),
            quantization.zero_point,
            numpy.arange(low, high + 1),
        )

    def steps(self, bias: numpy.ndarray, bits: int, channels: numpy.ndarray) -> numpy.ndarray:
        """Returns the smallest sum that reaches each stored value, with a bias in units of 2^-bits."""
        added, factors = bias[channels, None], (self.factors[channels] / numpy.float32(2**bits))[:, None]
        ends = int(self.levels[0]), int(self.levels[-1])

        def reached(sums: numpy.ndarray) -> numpy.ndarray:
            return requantize((sums << bits) + added, factors, self.zero_point, *ends) >= self.levels[1:]

        return first_reaching(reached, self.low[channels], self.high[channels], len(self.levels) - 1)


def _chosen(layer: _Layer, exact: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns the bias in units of 2^-bits: whole units or a fraction that keep all steps, or else the nearest fraction."""
    whole, nearest = (numpy.rint(exact * 2.0**shift).astype(numpy.int64) << bits - shift for shift in (0, bits))
    odd = numpy.flatnonzero(exact != numpy.rint(exact))
    if not len(odd) or len(layer.levels) > MOST_LEVELS or not numpy.isfinite(layer.factors).all():
        return nearest
    found, meant = nearest.copy(), layer.steps(numpy.rint(exact * 2.0**MEANT).astype(numpy.int64), MEANT, odd)
    for candidate in (whole, *(nearest + nudge for nudge in NUDGES)):
        same = (layer.steps(candidate, bits, odd) == meant).all(axis=1)
        found[odd[same]] = candidate[odd[same]]
        odd, meant = odd[~same], meant[~same]
        if not len(odd):
            break
    return found


def _finer(weights: Tensor, factor: int) -> Tensor:
    """Returns the weights in units that are `factor` times smaller, without zero points."""
    quantization = weights.quantization
    scales = tuple(scale / factor for scale in quantization.scales)
    values = centred(weights.data, quantization) * factor
    return weights.with_(
        name=f"{weights.name}_finer",
        dtype=DType.int16,
        data=values.astype(numpy.int16),
        quantization=replace(quantization, scales=scales, zero_points=(0,) * len(scales)),
    )


def _bias(data: Tensor, weights: Tensor, bias: Tensor, values: numpy.ndarray) -> Tensor:
    units = _units(data.quantization, weights.quantization)
    quantization = Quantization(tuple(map(float, units)), (0,) * len(units), weights.quantization.axis)
    return Tensor(f"{bias.name}_fitted", bias.dims, DType.int32, values.astype(numpy.int32), quantization)
