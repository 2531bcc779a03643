# SPDX-License-Identifier: MIT
"""Fast Fourier transforms in place, by passes of small radices over points in the order of reversed digits.

A pass of radix r combines sub-transforms of L points each into sub-transforms of r * L points (decimation in time): J. W. Cooley
and J. W. Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965. Real frames of an even length are
transformed as half as many complex points, and taken apart afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

WRITTEN_OUT = (4, 2, 3, 5)  # radices with a pass of their own; any other prime has one of as many steps as its square
MOST_POINTS = 1 << 16  # places are stored in 16 bits


def radices(points: int) -> tuple[int, ...]:
    """The radix of each pass: fours first, for the first pass multiplies by nothing, then the other primes."""
    found = []
    for radix in (*WRITTEN_OUT, *range(7, points + 1, 2)):
        while points % radix == 0 and points > 1:
            found.append(radix)
            points //= radix
    return tuple(found)


def reversed_digits(passes: Sequence[int]) -> numpy.ndarray:
    """Returns the index of the point at each place, so that every pass reads adjacent points, int64."""
    order = numpy.zeros(1, numpy.int64)
    for radix in passes:
        order = (order * radix + numpy.arange(radix)[:, None]).reshape(-1)
    return order


def turns(count: int, steps: numpy.ndarray) -> numpy.ndarray:
    """Returns exp(-2 pi i step / count) in float64."""
    return numpy.exp(-2j * numpy.pi / count * (steps % count))


def roots_of(passes: Sequence[int]) -> numpy.ndarray:
    """Returns the complex twiddle factors in the order in which the passes read them: for each place, the factors of legs 1, 2,
    ... A first pass of radix 4 reads none. A pass for a prime other than 2, 3 and 5 first reads the roots of unity of its
    radix."""
    found, length = [], 1
    for radix in passes:
        if radix not in WRITTEN_OUT:
            found.append(turns(radix, numpy.arange(radix)))
        if length > 1 or radix != 4:
            found.append(turns(length * radix, numpy.arange(length)[:, None] * numpy.arange(1, radix)).reshape(-1))
        length *= radix
    return numpy.concatenate(found) if found else numpy.zeros(0, complex)


def halves_apart(points: int) -> numpy.ndarray:
    """Returns the factors -i/2 exp(-pi i k / points), k from 1 to (points - 1) // 2. They turn the spectrum of `points` complex
    values into the spectrum of 2 * points real values."""
    return -0.5j * turns(2 * points, numpy.arange(1, (points + 1) // 2))


def parts(values: numpy.ndarray) -> numpy.ndarray:
    """Returns complex numbers as float32, real and imaginary parts alternating; one zero if there are no numbers."""
    stacked = numpy.stack([values.real, values.imag], -1).reshape(-1).astype(numpy.float32)
    return stacked if stacked.size else numpy.zeros(1, numpy.float32)
