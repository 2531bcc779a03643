# SPDX-License-Identifier: MIT
"""The integers of normalize_fixed_float32.h in numpy: rows normalized by cores without an FPU, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.float_layers import NormalizedRows

_LEAST_EXPONENT, _MOST_EXPONENT, _FIXED_EXPONENT = 96, 180, 155  # as the C has them
_LOW = 0xFFFF
Values = numpy.ndarray


@dataclass(frozen=True, eq=False)
class FixedRows:
    """The operations of the layer (`Call.steps`). `shape` are the fields of aidge_ref_fixed_normalize; `scale` and `bias` are the
    parameters in integers; `plain` computes rows of very small or large numbers; `is_narrow`: the core has no long product."""

    shape: Mapping[str, int]
    scale: Values
    bias: Values | None
    plain: NormalizedRows
    is_narrow: bool

    def forward(self, data: Values, *parameters: Values | None) -> tuple[Values, ...]:
        """Returns the result."""
        (found,) = self.plain.forward(data, *parameters)
        rows, results = data.reshape(-1, self.shape["length"]), found.reshape(-1, self.shape["length"])
        for row, result in zip(rows, results):
            exponent = int((row.view(numpy.uint32) << numpy.uint32(1)).max()) >> 24
            if _LEAST_EXPONENT <= exponent <= _MOST_EXPONENT:
                result[:] = self._row(row, exponent)
        return (results.reshape(data.shape),)

    def _row(self, row: Values, exponent: int) -> Values:
        shape, unit = self.shape, exponent - _FIXED_EXPONENT
        patterns = row.view(numpy.uint32).astype(numpy.int64)
        shifts = exponent + 3 - ((patterns >> 23) & 0xFF)
        sizes = numpy.where(shifts > 31, 0, ((patterns << 8 & 0xFFFFFFFF) | 0x80000000) >> numpy.minimum(shifts, 31))
        values = numpy.where(patterns >> 31 != 0, -sizes, sizes)
        values = values - (self._mean(int(values.sum())) if self.plain.has_mean else 0)
        square_shift = shape["square_shift"]
        squares = int(((values >> square_shift) ** 2).sum())
        factor, power = self._inverse(squares, 2 * (square_shift + unit))
        up = 30 - int(numpy.bitwise_or.reduce(numpy.where(values < 0, ~values, values))).bit_length()
        shift = shape["value_bits"] + 32 + unit - up + power
        left, right = min(max(shift, 0), 31), min(max(-shift, 0), 31)
        high = self._upper_signed(_wrapped(values << up), factor)
        normal = _wrapped(high << left) >> right
        products = self._upper_signed(normal, self.scale.astype(numpy.int64)) >> shape["product_shift"]
        return _floats(products if self.bias is None else products + self.bias, shape["result_bits"])

    def _mean(self, total: int) -> int:
        mean, exponent = self._over_length(abs(total))
        size = mean >> -exponent if exponent > -32 else 0
        return -size if total < 0 else size

    def _over_length(self, total: int) -> tuple[int, int]:
        excess = total.bit_length() - 32
        leading = total >> excess if excess > 0 else total << -excess if total else 0
        return self._upper(leading, self.shape["inverse_length"]), excess + 32 - self.shape["length_bits"]

    def _inverse(self, squares: int, unit: int) -> tuple[int, int]:
        mean, of_mean = self._over_length(squares)
        of_epsilon = self.shape["epsilon_exponent"]
        of_mean += unit
        of_sum = of_mean if mean and of_mean > of_epsilon else of_epsilon
        total = _moved_right(self.shape["epsilon"], of_sum - of_epsilon)
        total += _moved_right(mean, of_sum - of_mean) if mean else 0
        left = 32 - total.bit_length()
        left -= (of_sum - left) & 1
        root = self._inverse_root(total << left if left >= 0 else total >> 1)
        return min(root, 0x7FFFFFFF), -46 - int((of_sum - left) / 2)

    def _inverse_root(self, value: int) -> int:
        root = 2289969127 - self._upper(value, 1308569120)
        for _ in range(3):
            square = self._upper(root, root)
            rest = 0xC0000000 - (self._upper(square, value) << 2)
            root = self._upper(root, rest) << 1
        return root

    @staticmethod
    def _upper(a: int, b: int) -> int:
        return a * b >> 32

    def _upper_signed(self, a: Values, b: Values | int) -> Values:
        if not self.is_narrow:
            return (a * b) >> 32
        return (a >> 16) * (b >> 16) + ((a >> 16) * (b & _LOW) >> 16) + ((a & _LOW) * (b >> 16) >> 16)


def _moved_right(value: int, bits: int) -> int:
    return value >> bits if bits < 32 else 0


def _wrapped(values: Values) -> Values:
    """Returns the low 32 bits as integers with signs."""
    return values.astype(numpy.int32).astype(numpy.int64)


def _floats(values: Values, bits: int) -> Values:
    """Returns value / 2^bits, ties away from 0."""
    sizes = numpy.abs(values)
    widths = numpy.frexp(sizes.astype(numpy.float64))[1]
    excess = numpy.maximum(widths - 24, 0)
    rounded = (sizes + numpy.where(excess > 0, 1 << numpy.maximum(excess - 1, 0), 0)) >> excess
    return numpy.ldexp(numpy.copysign(rounded.astype(numpy.float32), values), excess - bits).astype(numpy.float32)
