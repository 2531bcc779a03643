# SPDX-License-Identifier: MIT
"""Layers of float32 in the order of a kernel's own operations: the values that its C computes, to the last bit (`Call.steps`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.curves import ElementCurve
from aidge_build.contract.kernel_kit.float_functions import Function
from aidge_build.contract.kernel_kit.float_steps import FloatUnit

Values = numpy.ndarray


@dataclass(frozen=True)
class NormalizedRows:
    """LayerNormalization and RMSNormalization. `lanes`: of the sums; `fuses_bias`: whether the last product and the bias are one
    operation."""

    unit: FloatUnit
    axis: int
    epsilon: float
    has_mean: bool
    lanes: int = 1
    fuses_bias: bool = True

    def forward(self, data: Values, scale: Values, bias: Values | None = None) -> tuple[Values, ...]:
        """Returns the result."""
        length = math.prod(data.shape[self.axis :])
        rows, count = data.reshape(-1, length), numpy.float32(length)
        unit, mean = self.unit, numpy.zeros((len(data.reshape(-1, length)), 1), numpy.float32)
        if self.has_mean:
            mean[:, 0] = unit.in_lanes(self.lanes, length, lambda sums, at: sums + rows[:, at]) / count
        parts = unit.kept(rows - mean)
        squares = unit.in_lanes(self.lanes, length, lambda sums, at: unit.multiply_add(parts[:, at], parts[:, at], sums))
        inverse = numpy.float32(1) / numpy.sqrt(squares / count + numpy.float32(self.epsilon))
        normal = unit.kept(parts * inverse[:, None])
        factors = scale.reshape(-1)
        if bias is None:
            return (unit.kept(normal * factors).reshape(data.shape),)
        if self.fuses_bias:
            return (unit.multiply_add(normal, factors, bias.reshape(-1)).reshape(data.shape),)
        return (unit.kept(unit.kept(normal * factors) + bias.reshape(-1)).reshape(data.shape),)


@dataclass(frozen=True)
class Products:
    """Products of matrices. `first` and `second` are the places of the operands, and `permutation` the axes of the second one as
    the product reads them."""

    unit: FloatUnit
    first: int = 0
    second: int = 1
    permutation: Sequence[int] | None = None
    lanes: int = 1

    def forward(self, *values: Values) -> tuple[Values, ...]:
        """Returns the result."""
        first, second = values[self.first], values[self.second]
        second = second if self.permutation is None else second.transpose(self.permutation)
        unit, inner = self.unit, first.shape[-1]

        def add(sums: Values, at: int) -> Values:
            return unit.multiply_add(first[..., :, at, None], second[..., at, None, :], sums)

        return (unit.in_lanes(self.lanes, inner, add),)


@dataclass(frozen=True)
class SeenProducts(Products):
    """Products with the rows of a cache up to the position that the value at the place `position` is; `inner` as of
    `SeenMatMul`."""

    position: int = 2
    inner: bool = False

    def forward(self, *values: Values) -> tuple[Values, ...]:
        """Returns the result: rows that are not seen add nothing, or are 0."""
        first, place = values[self.first], int(values[self.position].reshape(()))
        if self.inner:
            others = numpy.where(_seen(first.shape[-1], place), first, numpy.float32(0))
            return super().forward(*values[: self.first], others, *values[self.first + 1 :])
        (result,) = super().forward(*values)
        return (numpy.where(_seen(result.shape[-1], place), result, numpy.float32(0)),)


def _seen(rows: int, place: int) -> numpy.ndarray:
    return numpy.arange(rows) < (place + 1 if 0 <= place < rows else rows)


@dataclass(frozen=True)
class SoftmaxRows:
    """Softmax along the axes from the first to before the last one. `exponential`: of numbers up to 0; `lanes`: of the sum;
    `divides`: by the sum, else times its reciprocal."""

    unit: FloatUnit
    axes: tuple[int, int]
    exponential: Function
    lanes: int = 1
    divides: bool = False

    def forward(self, data: Values) -> tuple[Values, ...]:
        """Returns the result."""
        first, last = self.axes
        length, inner = math.prod(data.shape[first:last]), math.prod(data.shape[last:])
        rows = data.reshape(-1, length, inner)
        unit, below = self.unit, rows - rows.max(1, keepdims=True)
        powers = unit.kept(self.exponential(unit, below))
        total = unit.in_lanes(self.lanes, length, lambda sums, at: sums + powers[:, at])[:, None]
        found = powers / total if self.divides else unit.kept(powers * (numpy.float32(1) / total))
        return (found.reshape(data.shape),)


@dataclass(frozen=True)
class FloatCurve:
    """A quotient of polynomials (`ElementCurve`). With `reciprocal` it is a product with a reciprocal, which begins with
    `reciprocal` less the bits of a float."""

    unit: FloatUnit
    curve: ElementCurve
    reciprocal: int = 0

    def forward(self, data: Values) -> tuple[Values, ...]:
        """Returns the result."""
        numbers, terms, unit = self.curve.numbers, self.curve.terms, self.unit
        shift, limit = numbers[2 * terms - 1 :]
        x = numpy.where(numpy.abs(data) > limit, numpy.copysign(limit, data), data)
        square = unit.kept(x * x)
        over = unit.kept(unit.polynomial(numbers[:terms], square) * x)
        under = unit.polynomial(numbers[terms : 2 * terms - 1], square, square + numbers[terms])
        found = unit.kept(over * self._inverse(under)) if self.reciprocal else over / under
        found = found + shift
        return (unit.kept(found * data if self.curve.times else found),)

    def _inverse(self, divisor: Values) -> Values:
        inverse = (numpy.int32(self.reciprocal) - divisor.view(numpy.int32)).view(numpy.float32)
        one = numpy.float32(1)
        for _ in range(2):
            rest = self.unit.multiply_add(-inverse, divisor, one)
            rest = self.unit.multiply_add(rest, rest, rest)
            inverse = self.unit.multiply_add(inverse, rest, inverse)
        return inverse
