# SPDX-License-Identifier: MIT
"""x * relu6(x + 3) / 6 of 8-bit values under the contract `double`, in 16 bits, as TensorFlow Lite's reference kernel has it."""

from __future__ import annotations

import numpy

from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multiplier, shifted

HIGH_BITS = 7  # by which inputs are shifted to the left
HALF = 3.0 / 32768  # the scale of the clamped factor
_LOW, _HIGH = -32768, 32767


def hard_swish(values: numpy.ndarray, input_scale: float, output_scale: float) -> numpy.ndarray:
    """Returns stored results less their zero point, for stored values less their zero point; int64, before the clamp."""
    scale, data = float(input_scale) / (1 << HIGH_BITS), values.astype(numpy.int64) << HIGH_BITS
    multiplier, exponent = _short(fixed_multiplier(scale / float(output_scale)))
    factor, factor_exponent = _short(fixed_multiplier(scale / HALF))
    result = _high_product(data, multiplier)
    if factor_exponent > 0:
        data = numpy.clip(data << (factor_exponent - 1), _LOW, _HIGH)
    share = _high_product(data, factor)
    if factor_exponent > 0:
        share = numpy.clip(share << 1, _LOW, _HIGH)
    elif factor_exponent < 0:
        share = shifted(share, -factor_exponent)
    share = (share + (1 << 15)) >> 1  # -1..1 becomes 0..1
    product = numpy.clip(_towards_zero(share * result, 1 << 15), _LOW, _HIGH)
    return shifted(product, -exponent)


def _short(factor: tuple[int, int]) -> tuple[int, int]:
    """The multiplier in 16 bits."""
    multiplier, exponent = factor
    return (_HIGH if multiplier >= _HIGH << 16 else (multiplier + (1 << 15)) >> 16), exponent


def _high_product(values: numpy.ndarray, multiplier: int) -> numpy.ndarray:
    """The high half of 2 * value * multiplier, rounded to nearest, in 16 bits."""
    products = values * multiplier
    return numpy.clip(_towards_zero(products + numpy.where(products >= 0, 1 << 14, 1 - (1 << 14)), 1 << 15), _LOW, _HIGH)


def _towards_zero(values: numpy.ndarray, divisor: int) -> numpy.ndarray:
    return numpy.sign(values) * (numpy.abs(values) // divisor)
