# SPDX-License-Identifier: MIT
"""Sums, differences and products of int8 tensors with random numbers: equal dims, tensors that repeat, constants."""

from __future__ import annotations

import math

from random_tensors import Randomness

from aidge_build.graph.tensor import constant
from aidge_build.operators.binary import Add, Mul, Sub

EQUAL = ((1, 5), (3, 7, 11), (1, 4, 3, 3), (1, 32), (2, 129), (1, 1), (1, 17, 1, 1), (1, 64, 8, 8))
REPEATING = (
    ((1, 8, 3, 5), (1, 8, 1, 1)),
    ((2, 5, 4, 4), (2, 5, 1, 1)),
    ((2, 17, 3, 2), (1, 17, 1, 1)),
    ((1, 4, 1, 1), (1, 4, 7, 2)),
    ((3, 6, 9), (1, 1, 9)),
    ((2, 12), (1, 12)),
    ((1, 6, 5, 5), (1, 1, 5, 5)),
    ((2, 3, 4, 6), (2, 1, 4, 6)),
    ((1, 7, 1), (1, 7, 40)),  # one value for each row
    ((3, 1, 5), (1, 9, 5)),  # both repeat
    ((1, 6, 1), (1, 1, 33)),
    ((1, 2, 300), (1, 2, 1)),  # rows beyond the scratch, in pieces
    ((2, 1, 290), (1, 3, 1)),
    ((4, 3, 2), (4, 1, 2)),  # short rows
    ((60, 1, 2), (1, 3, 1)),
    ((1, 3, 1, 2), (2, 1, 2, 1)),
    ((1, 1, 6, 5), (1, 9, 6, 5)),
    ((1, 6, 1), (33,)),  # fewer axes
    ((2, 5, 12), (5, 1)),
)


def binary(case, seed, operator_class, first_dims, second_dims, low=-math.inf, high=math.inf):
    """A node made by `case` of a harness; every third second tensor is constant."""
    random = Randomness(seed)
    first, second = random.data(*first_dims, name="a"), random.data(*second_dims, name="b")
    values = [random.int8(*first_dims), random.int8(*second_dims)]
    if random.integer(0, 2) == 0:
        second, values = constant("b", values[1], second.quantization), values[:1]
    around = 0.2 if operator_class is Mul else 0.08
    return case(operator_class(minimum=low, maximum=high), [first, second], values, quantization=random.quantization(around))


def binaries(case, count):
    """At least `count` nodes for each way of repeating; the clamps vary."""
    clamps = ((-math.inf, math.inf), (-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.5))
    made = [binary(case, seed, Add, (1, 32), (1, 32)) for seed in (254, 270)]  # sums that need 20 fraction bits
    for seed in range(count):
        operator_class, limits = (Add, Mul, Sub)[seed % 3], clamps[seed // 3 % len(clamps)]
        dims = EQUAL[seed % len(EQUAL)]
        pair = [
            binary(case, seed, operator_class, dims, dims, *limits),
            binary(case, 500 + seed, operator_class, *REPEATING[seed % len(REPEATING)], *limits),
        ]
        made += pair[:: -1 if seed % 2 else 1]  # so that every other one is of both kinds
    return made
