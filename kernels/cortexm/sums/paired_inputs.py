# SPDX-License-Identifier: MIT
"""Sums of a row of inputs by products of pairs, half as many (S. Winograd, "A new algorithm for inner product", 1968).

For inputs x, y with weights v, w, the sum x * v + y * w is (x + w) * (y + v) - x * y - v * w. The instruction that unpacks a
weight adds an input to it; the sum of x * y is the same for all outputs of a row, and the sum of v * w is known: biases are less
by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from .offset_weights import SUM


def less_products(biases: list[int], rows: numpy.ndarray, order: Sequence[int], step: int) -> list[int]:
    """The biases of a group, each `step`-th of them less by the products of its weights [channels, taps]; of 4 taps the first two
    are paired with the others. Taps of sums are not paired."""
    quads = numpy.where(numpy.array(order) == SUM, 0, rows).reshape(len(rows), -1, 4)
    products = (quads[:, :, :2] * quads[:, :, 2:]).sum(axis=(1, 2))
    return [int(bias - (products[index] if index % step == 0 else 0)) for index, bias in enumerate(biases)]
