# SPDX-License-Identifier: MIT
"""Bytes with the weights of two outputs for one tap: the low field unsigned, the high one with its sign.

| product of the data with | gives |
|---|---|
| the byte, as int8 | 16 * the sum of the high output + the sum of the low output |
| its low 4 bits | the sum of the low output |

One AND unpacks both: the difference of the two products is 16 times the sum of the high output.
"""

from __future__ import annotations

import numpy

from .assembly import Assembler

BITS = 4
CENTRE = 1 << BITS - 1  # what an unsigned number has more than the high field that stores it
MASK = (1 << BITS) - 1


def packed(low: numpy.ndarray, high: numpy.ndarray) -> numpy.ndarray:
    """Numbers from 0 to 15 of two outputs as bytes; the high ones less 8."""
    return (low & MASK | (high - CENTRE & MASK) << BITS).astype(numpy.uint8)


def emit_mask(emit: Assembler, mask: str) -> None:
    """A vector for `emit_low`."""
    emit(f"vmov.i8 {mask}, #{MASK}")


def emit_low(emit: Assembler, low: str, weights: str, mask: str) -> None:
    """The numbers of the low output of 16 taps."""
    emit(f"vand {low}, {weights}, {mask}")
