# SPDX-License-Identifier: MIT
"""Functions from float32 to int8 by their steps, and from int8 to float32 by a table, for libraries with a kernel for them."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.float_thresholds import number_of
from aidge_build.operators.real_table import RealTable
from aidge_build.operators.staircase import Staircase

LARGEST = 0x7F7FFFFF
EVEN = 12


def operator(seed):
    """Steps in one octave or in many, evenly (seed EVEN) or not, on one side of 0 or on both."""
    random = numpy.random.default_rng(seed)
    count = (1, 2, 9, 255, 270, 700)[seed % 6]
    places = random.uniform(*((-3, 5), (0.5, 90), (-7e-3, -2e-3))[seed % 3], count)
    places = places if seed % 4 else random.normal(0, 1, count) ** 5
    places = numpy.linspace(-2.98, 4.97, 600) if seed == EVEN else places
    keys = numpy.unique(numpy.array(places, numpy.float32))
    patterns = keys.view(numpy.int32).astype(numpy.int64)
    keys = numpy.unique(numpy.where(patterns < 0, patterns ^ 0x7FFFFFFF, patterns))
    return Staircase(tuple(keys.tolist()), tuple(random.integers(-128, 128, len(keys) + 1).tolist()))


def staircases(case, seeds=range(EVEN + 1)):
    """All steps with their neighbours, and numbers of every size."""
    for seed in seeds:
        made, random = operator(seed), numpy.random.default_rng(seed)
        keys = numpy.array(made.keys)
        numbers = numpy.concatenate(
            [keys - 1, keys, keys + 1, random.integers(-1 - LARGEST, LARGEST + 1, 200), [-1, 0, -1 - LARGEST, LARGEST]]
        )
        values = number_of(numbers)
        yield case(made, [Tensor("x", values.shape, DType.float32)], [values], quantization=per_tensor(0.1, 3))


def real_tables(case):
    """All values, and counts that fill no lanes."""
    for seed, count in enumerate((1, 3, 4, 5, 256, 515)):
        random = numpy.random.default_rng(seed)
        values = numpy.roll(numpy.resize(numpy.arange(-128, 128), count), seed).astype(numpy.int8)
        made = RealTable(tuple(random.normal(0, 3, 256).astype(numpy.float32).tolist()))
        yield case(made, [Tensor("x", values.shape, DType.int8, quantization=per_tensor(0.1, 3))], [values])
