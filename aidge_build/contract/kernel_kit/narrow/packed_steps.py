# SPDX-License-Identifier: MIT
"""Products of int8 levels and packed weights with scales of 16 bits, in the order of the kernels (`Call.steps`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.packed_product import PackedProduct
from aidge_build.operators.matmul_nbits import levels_of_blocks

_WORD = (1 << 32) - 1


@dataclass(frozen=True, eq=False)
class LevelProducts:
    """`scales` [blocks, columns] are integers of 16 bits. `exponents` are those of the kernel's `shifts`: of the sums, then of
    each block. A product of two scales has `low_bits` in its second part, and is divided by 2^`shift`."""

    product: PackedProduct
    scales: numpy.ndarray
    exponents: numpy.ndarray
    shift: int
    low_bits: int

    def forward(self, data: numpy.ndarray, *_: object) -> tuple[numpy.ndarray, ...]:
        """Returns the result."""
        product = self.product
        levels, units = levels_of_blocks(data.reshape(-1, product.depth), product.block)
        patterns = units.view(numpy.uint32).astype(numpy.int64)
        is_finite, powers = numpy.isfinite(units).all(axis=1), numpy.where(units > 0, patterns >> 23, 0)
        row_powers = powers.max(axis=1, initial=0)
        significands = ((patterns & 0x7FFFFF | 0x800000) >> 7) + 1 >> 1
        sums = numpy.zeros((len(levels), product.columns), numpy.int64)
        for block, weights in enumerate(product.weights):
            of_block = levels[:, block].astype(numpy.int64) @ (weights - product.zero_points[block][:, None]).T
            scaled = self._scaled(of_block, significands[:, block, None] * self.scales[block])
            shifts = numpy.minimum(self.exponents[1 + block] + row_powers - powers[:, block], 31)
            sums += scaled >> shifts[:, None]
        found = _floats(sums, row_powers[:, None] + self.exponents[0])
        found[~is_finite] = numpy.nan
        found = found + product.bias if product.has_bias else found
        return (found.reshape(*data.shape[:-1], product.columns),)

    def _scaled(self, sums: numpy.ndarray, factors: numpy.ndarray) -> numpy.ndarray:
        if not self.low_bits:
            return sums * (factors + (1 << self.shift - 1) >> self.shift)
        below = (factors << self.low_bits & _WORD) >> self.shift
        return (sums * below >> self.low_bits) + sums * (factors >> self.shift)


def _floats(sums: numpy.ndarray, powers: numpy.ndarray) -> numpy.ndarray:
    """sums * 2^(powers - 158), rounded to 24 bits, half away from zero; 0 or infinite where that is no normal float."""
    sizes = numpy.abs(sums)
    lengths = numpy.frexp(sizes.astype(numpy.float64))[1]
    powers = powers - (32 - lengths)
    rounded = (sizes << 32 - lengths & 0x7FFFFFFF) + 128 >> 8
    patterns = numpy.where(powers > 253, 0x7F800000, (powers << 23) + rounded)
    patterns = numpy.where((sums == 0) | (powers <= 0), 0, patterns) | (sums < 0) * 0x80000000
    return patterns.astype(numpy.uint32).view(numpy.float32)
