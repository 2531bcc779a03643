# SPDX-License-Identifier: MIT
"""Softmax of 8-bit values under the contract `double`, as TensorFlow Lite computes it: in float32, with a table.

e[k] = float32(exp(float32(-s_x) * k)) of k = largest value of the row - value
y    = floor(float32(e[k] * float32(1 / float32(S * s_y))) + 1/2)        S: the sum of e[k] in order, in float32
"""

from __future__ import annotations

from decimal import Decimal

import numpy

LEVELS = 256


def exponential_table(scale: numpy.float32) -> numpy.ndarray:
    """Returns exp(-scale * k) for k = 0..255, of the float32 product, evaluated with 40 digits and rounded once to float32."""
    products = -numpy.float32(scale) * numpy.arange(LEVELS, dtype=numpy.float32)
    return numpy.array([float(Decimal(float(product)).exp()) for product in products], numpy.float32)


def float_softmax(rows: numpy.ndarray, input_scale: numpy.float32, output_scale: numpy.float32) -> numpy.ndarray:
    """The stored values less the zero point of the output, of rows along the last axis; int64."""
    terms = exponential_table(input_scale)[rows.max(axis=-1, keepdims=True).astype(numpy.int64) - rows]
    sums = numpy.add.accumulate(terms, axis=-1, dtype=numpy.float32)[..., -1:]
    factors = numpy.float32(1) / (sums * numpy.float32(output_scale))
    return (terms * factors + numpy.float32(0.5)).astype(numpy.int64)
