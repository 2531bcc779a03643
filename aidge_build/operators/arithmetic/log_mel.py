# SPDX-License-Identifier: MIT
"""The fixed-point audio front end: int16 samples to logarithms of the power in bands, by integers of 32 and 64 bits alone.

docs/frontend.md states each step; the C of kernels/kit/log_mel.h computes the same numbers. Arrays have one frame per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

LENGTHS = tuple(1 << power for power in range(6, 13))  # of the transform
UNIT = 1 << 15  # one, for a window and for a root of unity
STEPS = 1 << 10  # of a logarithm, for each factor of two
SEGMENTS = 32  # straight lines of the logarithm between two powers of two
MANTISSA = 16  # bits below the highest bit that the logarithm reads
LARGEST_MULTIPLIER = (1 << 14) - 1


@dataclass(frozen=True)
class Levels:
    """The quantization of a logarithm with `STEPS` to a factor of two: (logarithm * multiplier + offset) >> shift, within low and
    high. `floor` is added to the power in every band."""

    multiplier: int
    offset: int
    shift: int
    low: int
    high: int
    floor: int = 1


def spare_bits(length: int) -> int:
    """Returns the fraction bits of windowed 16-bit samples with which the transform stays within int32."""
    return 15 - int(math.log2(length))


def fixed_turns(count: int, steps: numpy.ndarray) -> numpy.ndarray:
    """Returns cos and -sin of 2 pi step / count in units of 2^-15, at most 32767; int64 [..., 2]."""
    angles = -2 * numpy.pi / count * (steps % count)
    waves = numpy.stack([numpy.cos(angles), numpy.sin(angles)], -1)
    return numpy.clip(numpy.rint(UNIT * waves), 1 - UNIT, UNIT - 1).astype(numpy.int64)


def log_mel(pcm: numpy.ndarray, window: numpy.ndarray, filters: numpy.ndarray, length: int, levels: Levels) -> numpy.ndarray:
    """Returns the stored values [frames, bands] of frames of samples [frames, taps]; filters: [bands, length // 2 + 1], 0 to
    65535."""
    real, imaginary = spectrum(pcm, window, length)
    power, exponent = powers(real, imaginary)
    bands = power.astype(numpy.uint64) @ filters.T.astype(numpy.uint64)
    logarithms = log_power(bands, exponent[:, None], levels.floor)
    return numpy.clip((logarithms * levels.multiplier + levels.offset) >> levels.shift, levels.low, levels.high)


def spectrum(pcm: numpy.ndarray, window: numpy.ndarray, length: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the real and imaginary parts of the spectrum of windowed samples, [frames, length // 2 + 1], with `spare_bits`
    fraction bits."""
    lost = 15 - spare_bits(length)
    windowed = (pcm.astype(numpy.int64) * window.astype(numpy.int64) + (1 << (lost - 1))) >> lost
    values = numpy.zeros((len(pcm), length), numpy.int64)
    values[:, : windowed.shape[1]] = windowed
    return _taken_apart(*_transform(values[:, ::2], values[:, 1::2]))


def times(values: numpy.ndarray, factors: numpy.ndarray) -> numpy.ndarray:
    """Returns floor(value * factor / 2^16): half of the product with a factor in units of 2^-15."""
    return (values * factors) >> 16


def half_product(real: numpy.ndarray, imaginary: numpy.ndarray, turns: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns half of the product of complex numbers with turns [..., 2]; each of its four partial products is rounded down."""
    cosine, sine = turns[..., 0], turns[..., 1]
    return times(real, cosine) - times(imaginary, sine), times(real, sine) + times(imaginary, cosine)


def _transform(real: numpy.ndarray, imaginary: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the complex transform along the last axis, by passes of radix 4 and, for an odd power of two, a last pass of radix
    2."""
    points = real.shape[-1]
    if points == 1:
        return real, imaginary
    radix = 2 if _is_odd_power(points) else 4
    length = points // radix
    # Decimation in time: the legs are the transforms of every radix-th point.
    legs = [_transform(real[..., leg::radix], imaginary[..., leg::radix]) for leg in range(radix)]
    (a_real, a_imaginary), *others = legs
    if length == 1:
        turned = others
    else:
        halves = (half_product(*leg, fixed_turns(points, numpy.arange(length) * number)) for number, leg in enumerate(others, 1))
        turned = [(2 * half_real, 2 * half_imaginary) for half_real, half_imaginary in halves]
    if radix == 2:
        ((b_real, b_imaginary),) = turned
        return _joined(a_real + b_real, a_real - b_real), _joined(a_imaginary + b_imaginary, a_imaginary - b_imaginary)
    (b_real, b_imaginary), (c_real, c_imaginary), (d_real, d_imaginary) = turned
    sums = a_real + c_real, a_imaginary + c_imaginary
    gaps = a_real - c_real, a_imaginary - c_imaginary
    odds = b_real + d_real, b_imaginary + d_imaginary
    turns = b_imaginary - d_imaginary, d_real - b_real  # -i (b - d)
    found = [
        _joined(total + odd, gap + turn, total - odd, gap - turn)
        for total, odd, gap, turn in zip(sums, odds, gaps, turns, strict=True)
    ]
    return found[0], found[1]


def _is_odd_power(points: int) -> bool:
    return bool(points.bit_length() % 2 == 0)


def _joined(*legs: numpy.ndarray) -> numpy.ndarray:
    return numpy.concatenate(legs, -1)


def _taken_apart(real: numpy.ndarray, imaginary: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the spectrum of real values, given the transform of half as many complex points, each made of two neighbouring
    values."""
    points = real.shape[-1]
    low = numpy.arange(1, (points + 1) // 2)
    high = points - low
    even = (real[:, low] + real[:, high]) >> 1, (imaginary[:, low] - imaginary[:, high]) >> 1
    gap = real[:, low] - real[:, high], imaginary[:, low] + imaginary[:, high]
    odd = half_product(*gap, fixed_turns(2 * points, low + points // 2))  # -i exp(-pi i low / points)
    parts = numpy.zeros((2, len(real), points + 1), numpy.int64)
    parts[0, :, 0], parts[0, :, points] = real[:, 0] + imaginary[:, 0], real[:, 0] - imaginary[:, 0]
    parts[:, :, points // 2] = real[:, points // 2], -imaginary[:, points // 2]
    parts[:, :, low] = even[0] + odd[0], even[1] + odd[1]
    parts[:, :, high] = even[0] - odd[0], odd[1] - even[1]
    return parts[0], parts[1]


def bit_lengths(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the bit length of each of these unsigned numbers."""
    bits = numpy.zeros(values.shape, numpy.int64)
    rest = values.astype(numpy.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        above = rest >= numpy.uint64(1) << numpy.uint64(step)
        bits += step * above
        rest = numpy.where(above, rest >> numpy.uint64(step), rest)
    return bits + (rest > 0)


def powers(real: numpy.ndarray, imaginary: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns re^2 + im^2 of each frame in 31 bits, and the exponent of each frame: a unit is 2^exponent."""
    magnitudes = numpy.bitwise_or.reduce(
        numpy.where(real < 0, ~real, real) | numpy.where(imaginary < 0, ~imaginary, imaginary), 1
    )
    bits = bit_lengths(magnitudes)
    lift = (31 - bits)[:, None]
    # Squares of 31 bits and a sign: their sum has 64 bits without one.
    squares = ((real << lift) ** 2).astype(numpy.uint64) + ((imaginary << lift) ** 2).astype(numpy.uint64)
    return (squares >> numpy.uint64(32)).astype(numpy.int64), 2 * bits - 30


def log_power(bands: numpy.ndarray, exponent: numpy.ndarray, floor: int) -> numpy.ndarray:
    """Returns log2(bands * 2^exponent + floor) in steps of 1 / STEPS, rounded down."""
    small, large = numpy.maximum(-exponent, 0).astype(numpy.uint64), numpy.maximum(exponent, 0)
    sums = (bands >> small) + numpy.maximum(numpy.uint64(floor) >> large.astype(numpy.uint64), numpy.uint64(1))
    bits = bit_lengths(sums)
    left = numpy.maximum(MANTISSA + 1 - bits, 0).astype(numpy.uint64)
    right = numpy.maximum(bits - MANTISSA - 1, 0).astype(numpy.uint64)
    mantissa = (((sums << left) >> right) & numpy.uint64((1 << MANTISSA) - 1)).astype(numpy.int64)
    segment, rest = mantissa >> 11, mantissa & 2047
    table = logarithms()
    part = table[segment] + (((table[segment + 1] - table[segment]) * rest) >> 11)
    return (bits - 1 + large) * STEPS + (part >> 6)


def logarithms() -> numpy.ndarray:
    """Returns log2(1 + i / SEGMENTS) in units of 2^-16, for i from 0 to SEGMENTS."""
    return numpy.rint(numpy.log2(1 + numpy.arange(SEGMENTS + 1) / SEGMENTS) * (1 << 16)).astype(numpy.int64)
