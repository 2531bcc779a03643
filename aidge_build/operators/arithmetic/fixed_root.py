# SPDX-License-Identifier: MIT
"""1 / sqrt(n) as a 31-bit multiplier and a shift, by five steps of Newton's method in integers, as TensorFlow Lite has it."""

from __future__ import annotations

from aidge_build.operators.arithmetic.fixed_multiplier import high_product, shifted

STEPS = 5
LARGEST = (1 << 31) - 1
HALF_THREE = 3 << 27  # 3 / 2 with 28 bits after the point
HALF_ROOT = 1518500250  # sqrt(2) / 2 with 31 bits after the point
_ONE = 1 << 28


def inverse_root(number: int) -> tuple[int, int]:
    """Returns (m, shift) with m * 2^(shift - 31) about 1 / sqrt(number), for an int32 >= 0; 0 counts as 1."""
    if number <= 1:
        return LARGEST, 0
    right = 11
    while number >= 1 << 29:
        number, right = number // 4, right + 1
    pairs = (31 - number.bit_length()) // 2 - 1
    number, right = number << (2 * pairs), right - pairs
    value = number >> 1
    half, root = int(shifted(value, 1)), _ONE
    for _ in range(STEPS):
        cube = _widened(_product(_product(root, root), root), 6)
        root = _widened(_product(HALF_THREE, root) - _product(half, cube), 3)
    root = _product(root, HALF_ROOT)
    return (root << -right, 0) if right < 0 else (root, -right)


def _product(first: int, second: int) -> int:
    return int(high_product(first, second))


def _widened(value: int, bits: int) -> int:
    return max(-LARGEST - 1, min(LARGEST, value << bits))
