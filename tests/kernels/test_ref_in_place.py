# SPDX-License-Identifier: MIT
"""What kernels of `ref` promise the planner: outputs at the place of an input, and outputs that follow their input at a
distance."""

from __future__ import annotations

import numpy
import pytest
from harness import case, differing, far, run
from random_tensors import Randomness
from test_ref_elementwise import FUNCTIONS, binary_cases
from test_ref_linear import EDGES, float32_convolutions, int8_case, random_edge
from test_ref_pools_and_moves import pools

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.activation import PReLU
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Div, Mul, Sub

FLAGS = ((), ("-std=c99", "-O3"))


def promised(entry) -> tuple[int, ...]:
    return entry.kernel.node_class.demands(entry.stored).in_place


def int8_cases():
    for seed, operator in enumerate(FUNCTIONS):
        random = Randomness(seed)
        data = random.data(1, 3, 5, 7)
        yield case(operator, [data], [random.int8(*data.dims)], quantization=random.quantization(0.02))
    yield from binary_cases((Add, Sub, Mul), 60)


def float_cases():
    random = numpy.random.default_rng(3)
    x = Tensor("x", (2, 3, 4, 5), DType.float32)

    def values(*dims):
        return random.normal(size=dims or x.dims).astype(numpy.float32) * 3

    for operator in FUNCTIONS:
        if operator.type not in ("Ceil", "Floor", "Round", "Erf"):
            yield case(operator, [x], [values()])
    for operator in (Add(), Sub(), Mul(), Div()):
        for dims in ((2, 3, 4, 5), (1, 3, 1, 1), (5,)):
            yield case(operator, [x, Tensor("z", dims, DType.float32)], [values(), values(*dims)])
            yield case(operator, [Tensor("z", dims, DType.float32), x], [values(*dims), values()])
    yield case(PReLU(), [x, constant("slope", values(3, 1, 1))], [values()])
    numbers = [constant(name, numpy.abs(values(3)) + 0.1) for name in ("scale", "bias", "mean", "variance")]
    yield case(BatchNormalization(), [x, *numbers], [values()])


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("made, wrong", [(int8_cases, differing), (float_cases, far)])
def test_an_input_may_be_overwritten_where_the_kernel_says_so(made, wrong, flags):
    cases = list(made())
    for position in (0, 1):
        allowed = [entry for entry in cases if position in promised(entry)]
        assert len(allowed) >= 8
        assert wrong(allowed, run(allowed, *flags, overwritten=position)) == []


def test_an_input_that_is_broadcast_or_constant_is_never_promised():
    for entry in [*int8_cases(), *float_cases()]:
        for position in promised(entry):
            assert entry.view.inputs[position].elements == entry.view.outputs[0].elements
            assert not entry.view.inputs[position].is_constant


def raster_cases():
    for seed, edge in enumerate([*EDGES, *filter(None, map(random_edge, range(150)))]):
        yield int8_case(seed, *edge)
    for seed in range(3):
        random = Randomness(seed)
        for dims, operator in pools(random):
            quantization = random.quantization()
            same = quantization if "Max" in operator.type else random.quantization()
            yield case(
                operator, [Tensor("x", dims, DType.int8, quantization=quantization)], [random.int8(*dims)], quantization=same
            )


def float_raster_cases():
    yield from float32_convolutions()
    random = Randomness(8)
    for dims, operator in pools(random):
        yield case(operator, [random.real(*dims)], [random.float32(*dims)])


def lead_of(entry) -> int:
    return entry.kernel.node_class.demands(entry.stored).overlap[0][1]


@pytest.mark.parametrize(
    "made, wrong, bytes_each, seen", [(raster_cases, differing, 1, 20), (float_raster_cases, far, 4, 8)], ids=["int8", "float32"]
)
def test_an_output_may_follow_its_input_at_the_distance_that_the_kernel_says(made, wrong, bytes_each, seen):
    cases = [entry for entry in made() if entry.kernel.node_class.demands(entry.stored).overlap]
    assert len(cases) >= 60
    for flags in FLAGS:
        assert wrong(cases, run(cases, *flags, lead=lead_of)) == []
    closer = run(cases, lead=lambda entry: max(0, lead_of(entry) - bytes_each * entry.view.outputs[0].dims[1]))
    assert len(wrong(cases, closer)) >= seen
