# SPDX-License-Identifier: MIT
"""Places between pixels as integers of 10 bits, for RESIZE_BILINEAR under the contract `double`, as TensorFlow Lite has them."""

from __future__ import annotations

import numpy

BITS = 10  # fraction bits of places and of weights
_ONE = 1 << BITS


def fixed_places(size: int, made: int, coordinates: str) -> numpy.ndarray:
    """Returns for each of `made` places the pixels of `size` on both sides, and the share of the second pixel in 2^-10; int64
    [made, 3].

    The step between places is rounded to 10 bits. With half_pixel a share may be negative if both pixels are the first pixel.
    """
    corners = coordinates == "align_corners" and made > 1
    pixels, steps = (size - 1, made - 1) if corners else (size, made)
    step = (_ONE * pixels + steps // 2) // steps
    places = numpy.arange(made, dtype=numpy.int64) * step
    if coordinates == "half_pixel":
        places += step // 2 - _ONE // 2
    first = numpy.maximum(_towards_zero(places), 0)
    second = numpy.minimum(_towards_zero(places + _ONE - 1), size - 1)
    return numpy.stack([first, second, places - _ONE * first], axis=1)


def rounded_away(values: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns value / 2^bits, rounded to nearest, ties away from zero; int64, bits >= 1."""
    return numpy.sign(values) * ((numpy.abs(values) + (1 << (bits - 1))) >> bits)


def _towards_zero(values: numpy.ndarray) -> numpy.ndarray:
    return numpy.sign(values) * (numpy.abs(values) >> BITS)
