# SPDX-License-Identifier: MIT
"""QuantizeLinear of `armv7m` by a guess and one key against its numpy meaning, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from armv7m_harness import BOARD, PORTABLE, Case, of_this_library
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.quantize import QuantizeLinear

NAME = "quantize_int8"
SCALES = (0.05, 0.0517, 1.0, 0.00390625, 3.3e-5, 1e20, 2e-30, 0.0235294, 7.1)


def quantize_case(seed: int, count: int, scale: float) -> Case:
    """Floats beside every step, beyond all of them, and those that are no numbers."""
    random = Randomness(seed)
    ends = numpy.float32([numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38])
    near = numpy.float32(scale) * numpy.float32(random.numbers.integers(-600, 600, count) / 2)
    values = numpy.concatenate([ends, near, numpy.float32(scale * 100) * random.float32(count)])[:count]
    values = numpy.where(random.numbers.random(len(values)) < 0.5, numpy.nextafter(values, numpy.float32(0)), values)
    zero_point = numpy.array(random.choice(-128, -3, 0, 127), numpy.int8)
    given = [constant("scale", numpy.array(scale, numpy.float32)), constant("zero_point", zero_point)]
    return case(QuantizeLinear(0, DType.int8), [Tensor("x", values.shape, DType.float32), *given], [values])


def candidates():
    return of_this_library(quantize_case(seed, 800 + seed, scale) for seed, scale in enumerate(SCALES))


@needs_emulator
@pytest.mark.parametrize("flags", [(), PORTABLE], ids=["assembly", "portable"])
def test_stored_values_equal_the_meaning_on_a_cortex_m3(flags):
    cases = candidates()
    assert {entry.kernel.name for entry in cases} == {NAME}
    assert run(cases, *flags, board=BOARD) == []


class WithFpuCase(Case):
    features = Case.features | {"fpu"}


def test_few_values_an_fpu_and_the_least_flash_are_left_to_the_other_kernels():
    entry, few = candidates()[0], of_this_library([quantize_case(1, 63, 0.05)])[0]
    small = Case(replace(entry.view, objective="size"), entry.values)
    for other in (few, small, WithFpuCase(entry.view, entry.values)):
        with pytest.raises(AssertionError, match="no kernel"):
            _ = other.kernel
