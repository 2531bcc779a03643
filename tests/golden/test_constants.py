# SPDX-License-Identifier: MIT
"""The integers that proofs find: they stand in generated C, which stays as it is until somebody decides otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.arithmetic.affine import FIRST, SECOND, proved_affine
from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.fixed_point import exact_ratio, rescales
from aidge_build.operators.arithmetic.halfword_sums import BITS, HalfwordSum, halfword_sum
from aidge_build.operators.arithmetic.products import float_product
from aidge_build.operators.arithmetic.ranges import largest_accumulators, require_int32
from aidge_build.operators.arithmetic.requantize import multipliers
from aidge_build.operators.arithmetic.softmax import quantized_softmax, softmax_table
from aidge_build.operators.arithmetic.thresholds import high_form, low_form, rounding_constant, staircase


def sums() -> Iterator[str]:
    """Factors of int8 sums, with near and far scales, ties, and meanings that no factors give."""
    for seed in range(40):
        random = numpy.random.default_rng(seed)
        spread = (0.7, 3.0, 6.0, 12.0)[seed % 4]
        scales = [numpy.float32(scale) for scale in 0.1 * numpy.exp2(random.uniform(-spread, spread, 3))]
        if seed % 5 == 0:
            scales = [
                numpy.float32(scale) for scale in ((1, 1, 2), (0.75, 0.75, 4.5), (0.5, 2, 3), (1, 3, 1), (1, 0, 7))[seed // 5 % 5]
            ]
        points = tuple(int(point) for point in random.integers(-128, 128, 3))
        ratios = exact_ratio(scales[0], scales[2]), exact_ratio(scales[1], scales[2])
        real = float(ratios[0]) * (FIRST - points[0]) + float(ratios[1]) * (SECOND - points[1])
        meaning = numpy.clip(numpy.rint(real).astype(numpy.int64) + points[2], -128, 127)
        try:
            found = proved_affine(ratios, points, -128, 127, meaning)
            yield f"{seed}: {found} {'narrow' if found.is_narrow else 'wide'}"
        except AidgeError as error:
            yield f"{seed}: {error}"
        yield f"{seed}: {halfword_sum(ratios, points, meaning)}"


def edges() -> Iterator[str]:
    """Where the constants stop to fit their words."""
    for first in ((1 << 31) - 1, 1 << 31):
        yield f"factor {first} {HalfwordSum(first, 0, 0).fits} {HalfwordSum(0, -first, 0).fits}"
    room = (1 << 31) - (128 << BITS)
    for offset in (room - 1, room):
        yield f"offset {offset} {HalfwordSum(0, 1, offset).fits} {HalfwordSum(2, 0, -offset + 1).fits}"
    for ratio in (
        Fraction(1, 3),
        Fraction(2**40 + 1, 2**30),
        Fraction(16777215, 2**149),
        Fraction(1, 36),
        Fraction(2**57),
        Fraction(1),
    ):
        for largest in (0, 1, 255, 255 * 4096, (1 << 31) - 1):
            yield f"{ratio} of {largest}: {'; '.join(f'{found} {found!r}' for found in rescales(ratio, largest))}"
    for weights, bias in (
        ([[127, -128], [1, 1]], [-5, 7]),
        ([[127] * 66000], [0]),
        ([[127] * 50000, [1] * 50000], [1 << 30, (1 << 31) - 1]),
    ):
        for point in (-128, 0, 127):
            rows = numpy.array(weights, numpy.int8), numpy.array(bias, numpy.int32), point, -128, 127
            try:
                require_int32(*rows)
                yield f"{largest_accumulators(*rows).tolist()} fits"
            except AidgeError as error:
                yield str(error)


def lines() -> Iterator[str]:
    """Straight lines through staircases: the multipliers that two instructions take."""
    for seed, point in ((0, -128), (1, 0), (2, 127), (3, -5)):
        random = numpy.random.default_rng(seed)
        factors = numpy.exp(random.uniform(numpy.log(5e-4), numpy.log(2e-2), 12)).astype(numpy.float32)
        factors[:4] = 2.0**-7, 2.0**-9, 3 * 2.0**-10, 0.0
        low = -random.integers(10, 40_000, 12)
        stairs = staircase(FloatFactors(factors), point, low, low + random.integers(0, 40_000, 12))
        yield f"{seed}: steps {stairs.steps[:, ::37].tolist()} of {stairs.of([1, 4]).low.tolist()}"
        for shift in (2, 4):
            form, plain = low_form(stairs, shift), low_form(stairs, shift, is_tuned=False)
            yield f"{seed}: low {form.multipliers.tolist()} {form.extras.tolist()} {form.constants.tolist()}"
            yield f"{seed}: plain {plain.multipliers.tolist()} {plain.extras.tolist()} {plain.constants.tolist()}"
            applied = form.apply(5, numpy.arange(-900, 900, 150), shift)
            yield f"{seed}: rounding {rounding_constant(point, shift)} applied {applied.tolist()}"
        for shift, scale, added in ((12, 256, 0), (10, 64, 0), (12, 256, 128)):
            found = high_form(stairs, shift, scale, added)
            yield f"{seed}: high {found.multipliers.tolist()} {found.offsets.tolist()}"
            yield f"{seed}: applied {found.apply(5, numpy.arange(-900, 900, 150), shift, scale).tolist()}"


def moved_lines() -> Iterator[str]:
    """Channels whose line must be moved by a fraction of an accumulator step."""
    factors = numpy.linspace(0.003, 0.012, 24).astype(numpy.float32)
    stairs = staircase(FloatFactors(factors), -128, numpy.full(24, -60_000), numpy.full(24, 60_000))
    form = low_form(stairs, 4)
    yield f"low {form.multipliers.tolist()} {form.extras.tolist()} {form.constants.tolist()}"
    for added in (0, 128):
        found = high_form(stairs, 12, added=added)
        yield f"high {found.multipliers.tolist()} {found.offsets.tolist()}"


def tables() -> Iterator[str]:
    """Exponentials, and what rows become; multipliers of layers and products."""
    for scale, result, length in (
        (0.1, 1 / 256, 10),
        (0.25, 0.0039, 1000),
        (0.01, 3.0, 100_000),
        (0.5, 1 / 128, 2),
        (0.1, 1e-12, 10),
        (0.1, 1e-8, 10),
    ):
        try:
            table = softmax_table(scale, result, length)
        except AidgeError as error:
            yield str(error)
            continue
        shown = *table.exponentials[:6], table.exponentials[100], table.exponentials[-1]
        yield f"{table.fraction_bits} {table.shift} {table.factor} {shown}"
        row = numpy.random.default_rng(length).integers(-128, 128, (3, 8))
        yield f"{quantized_softmax(row, table, -128, -128, 127).tolist()} {quantized_softmax(row, table, 5, 0, 20).tolist()}"
    for seed in range(20):
        random = numpy.random.default_rng(seed)
        a, b, y = (numpy.float32(scale) for scale in 0.05 * numpy.exp2(random.uniform(-4, 4, 3)))
        yield f"{seed}: multipliers {multipliers(a, [b, b / 3, b * 7], y).tolist()}"
        points = [int(point) for point in random.integers(-128, 128, 3)]
        quantizations = [per_tensor(float(scale), point) for scale, point in zip((a, b, y), points, strict=True)]
        real = float(a) * (FIRST - points[0]) * float(b) * (SECOND - points[1]) / float(y)
        meaning = numpy.clip(numpy.rint(real) + points[2], -128, 127).astype(numpy.int64)
        yield f"{seed}: product {float_product(*quantizations, (-128, 127), meaning)}"


@pytest.mark.parametrize("what", [sums, edges, lines, moved_lines, tables], ids=lambda what: what.__name__)
def test_the_numbers_are_as_they_were(golden, what):
    golden(f"constants_{what.__name__}", {f"{what.__name__}.txt": ("\n".join(what()) + "\n").encode()})
