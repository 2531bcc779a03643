# SPDX-License-Identifier: MIT
"""Layers of `armv6m` and `armv7m` that compute each value by itself, against their numpy meaning, bit for bit: functions of one
int8 value by a table, and QuantizeLinear by a guess and one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import armv6m_harness
import armv7m_harness
import numpy
import pytest
from helium_harness import Case, case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.activation import HardSwish, LeakyReLU, Sigmoid, Tanh
from aidge_build.operators.quantize import QuantizeLinear

OPERATORS = (Sigmoid(), Tanh(), HardSwish(), LeakyReLU(alpha=0.1))
COUNTS = (1, 7, 8, 9, 15, 16, 17, 31, 32, 50, 257)  # around turns of 8 and of 16 values
SCALES = (0.05, 0.0517, 1.0, 0.00390625, 3.3e-5, 1e20, 2e-30, 0.0235294, 7.1)


def tables() -> Iterable[Case]:
    for seed, count in enumerate(COUNTS):
        random = Randomness(seed)
        data, values = random.data(1, count), [random.int8(1, count)]
        yield case(OPERATORS[seed % len(OPERATORS)], [data], values, quantization=random.quantization(0.02))


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


def quantizations() -> Iterable[Case]:
    return (quantize_case(seed, 800 + seed, scale) for seed, scale in enumerate(SCALES))


def in_armv6m(cases: Iterable[Case]) -> list[Case]:
    return [*map(armv6m_harness.taken, cases)]


LIBRARIES = {"armv6m": (in_armv6m, armv6m_harness), "armv7m": (armv7m_harness.of_this_library, armv7m_harness)}
KERNELS: dict[str, Callable[[], Iterable[Case]]] = {"table_int8": tables, "quantize_int8": quantizations}


def candidates() -> list[Case]:
    """For other tests, too."""
    return [entry for taken, _ in LIBRARIES.values() for cases in KERNELS.values() for entry in taken(cases())]


each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_library = pytest.mark.parametrize("library", LIBRARIES)


@needs_emulator
@each_kernel
@each_library
def test_values_equal_the_meaning_on_the_emulated_core(library, kernel):
    taken, harness = LIBRARIES[library]
    cases = taken(KERNELS[kernel]())
    assert {entry.kernel.name for entry in cases} == {kernel}
    assert run(cases, board=harness.BOARD) == []


class WithFpu(armv7m_harness.Case):
    features = armv7m_harness.Case.features | {"fpu"}


class NarrowWithFpu(armv6m_harness.Case):
    features = armv6m_harness.Case.features | {"fpu"}


@pytest.mark.parametrize("library, with_fpu", [("armv6m", NarrowWithFpu), ("armv7m", WithFpu)])
def test_few_values_an_fpu_and_the_least_flash_are_left_to_other_kernels(library, with_fpu):
    entry, few = LIBRARIES[library][0]([*quantizations()][:1] + [quantize_case(1, 63, 0.05)])
    small = type(entry)(replace(entry.view, objective="size"), entry.values)
    for other in (few, small, with_fpu(entry.view, entry.values)):
        with pytest.raises(AssertionError, match="no kernel"):
            _ = other.kernel
