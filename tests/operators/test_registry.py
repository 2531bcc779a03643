# SPDX-License-Identifier: MIT
"""What every operator gets for free: its samples are tried for shape, type, purity and gradient. No operator is named here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators import operator_classes
from aidge_build.operators.base import Operator, as_tuple
from aidge_build.operators.sample import Sample

STEP = 1e-6
SAMPLES = {cls.__name__: cls.samples() for cls in operator_classes()}


def tensors(sample: Sample) -> list[Tensor | None]:
    """The inputs of a sample as types: its float64 is float32 in a model; integers that index or bound are known."""
    return [None if value is None else Tensor(f"x{index}", value.shape, DType.float32 if value.dtype.kind == "f" else DType(value.dtype.name))
            for index, value in enumerate(sample.inputs)]


@pytest.mark.parametrize("name", sorted(name for name, samples in SAMPLES.items() if samples))
def test_the_shape_rule_says_what_forward_gives_and_its_inputs_stay_as_they_are(name):
    for sample in SAMPLES[name]:
        before = [None if value is None else value.copy() for value in sample.inputs]
        results = as_tuple(sample.operator.forward(*sample.inputs))
        assert all(value is None or numpy.array_equal(value, copy) for value, copy in zip(sample.inputs, before))
        inferred = sample.operator.infer(tensors(sample))
        assert [one.dims for one in inferred] == [result.shape for result in results]
        for one, result in zip(inferred, results):
            assert one.dtype.is_float if result.dtype.kind == "f" else one.dtype.numpy == result.dtype


@pytest.mark.parametrize("name", sorted(name for name, samples in SAMPLES.items() if samples and samples[0].operator.has_backward()))
def test_backward_gives_the_numeric_gradient(name):
    for sample in SAMPLES[name]:
        check_gradient(sample)


def check_gradient(sample: Sample) -> None:
    """Compare `backward` with central differences of sum(g * y) in float64, for a random g; refuse an absent gradient that is not 0."""
    operator, inputs = sample.operator, [None if value is None else numpy.array(value) for value in sample.inputs]
    outputs = as_tuple(operator.forward(*inputs))
    random = numpy.random.default_rng(1)
    weights = tuple(random.uniform(-1, 1, output.shape) if output.dtype.kind == "f" else numpy.zeros(output.shape) for output in outputs)
    gradients = operator.backward(weights, inputs, outputs)
    assert len(gradients) == len(inputs)
    for index, (value, gradient) in enumerate(zip(inputs, gradients)):
        if value is None or value.dtype.kind != "f":
            assert gradient is None
            continue
        wanted = numpy.reshape(list(differences(operator, inputs, index, weights)), value.shape)
        given = numpy.zeros(value.shape) if gradient is None else gradient
        assert given.shape == value.shape
        numpy.testing.assert_allclose(given, wanted, rtol=1e-6, atol=1e-7, err_msg=f"input {index} of {operator}")


def differences(operator: Operator, inputs: list[numpy.ndarray | None], index: int, weights: tuple[numpy.ndarray, ...]) -> Iterator[float]:
    """The numeric derivative of sum(g * y) by each element of one input."""
    def weighted(value: numpy.ndarray) -> float:
        results = as_tuple(operator.forward(*inputs[:index], value, *inputs[index + 1:]))
        return sum(float((weight * result).sum()) for weight, result in zip(weights, results) if result.dtype.kind == "f")

    for place in numpy.ndindex(inputs[index].shape):
        above, below = inputs[index].copy(), inputs[index].copy()
        above[place] += STEP
        below[place] -= STEP
        yield (weighted(above) - weighted(below)) / (above[place] - below[place])


def test_every_operator_that_has_a_backward_has_samples_for_it():
    assert [cls.__name__ for cls in operator_classes() if cls.has_backward() and not cls.samples()] == []


def test_samples_reach_every_input():
    """An operator's samples together give every input that it can have: none has a gradient that nobody checks."""
    for cls in operator_classes():
        given = [len(sample.inputs) for sample in cls.samples() if sample.inputs and sample.inputs[-1] is not None]
        signature = cls.forward.__code__
        if given and cls.has_backward() and not signature.co_flags & 4:
            assert max(given) == signature.co_argcount - 1, cls.__name__
