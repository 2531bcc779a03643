# SPDX-License-Identifier: MIT
"""Tests each operator without a test of its own: its samples are tried for shape, type, purity and gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator, as_tuple
from aidge_build.operators.sample import Sample

STEP = 1e-6
RELATIVE, ABSOLUTE = 1e-6, 1e-7  # central differences in float64 are better than that away from kinks


def findings(operator: type[Operator]) -> tuple[str, ...]:
    """Returns the faults of the operator, one line each; none if its samples are as its class says."""
    samples = operator.samples()
    if operator.has_backward() and not samples and not operator.straight_through:
        return (f"{operator.__name__} has a backward, but no samples to check it on",)
    return tuple(f"{sample.operator}: {finding}" for sample in samples for finding in _of_sample(sample))


def _of_sample(sample: Sample) -> Iterator[str]:
    before = [None if value is None else value.copy() for value in sample.inputs]
    try:
        results = as_tuple(sample.operator.forward(*sample.inputs))
        inferred = sample.operator.infer(_types(sample))
    except AidgeError as error:
        yield str(error)
        return
    if any(value is not None and not numpy.array_equal(value, copy) for value, copy in zip(sample.inputs, before)):
        yield "forward changes its inputs"
    said, given = [list(one.dims) for one in inferred], [list(result.shape) for result in results]
    if said != given:
        yield f"infer says {said}, forward gives {given}"
    for one, result in zip(inferred, results):
        if not (one.dtype.is_float if result.dtype.kind == "f" else one.dtype.numpy == result.dtype):
            yield f"infer says {one.dtype.name}, forward gives {result.dtype}"
    if sample.operator.has_backward():
        yield from _of_gradients(sample, results)


def _types(sample: Sample) -> list[Tensor | None]:
    """Returns the inputs of a sample as tensors of a model; float64 becomes float32."""

    def dtype(value: numpy.ndarray) -> DType:
        return DType.float32 if value.dtype.kind == "f" else DType(value.dtype.name)

    return [
        None if value is None else Tensor(f"x{index}", value.shape, dtype(value)) for index, value in enumerate(sample.inputs)
    ]


def _of_gradients(sample: Sample, results: Sequence[numpy.ndarray]) -> Iterator[str]:
    """Compares `backward` with central differences of sum(g * y) for a random g; an absent gradient counts as 0."""
    inputs = [None if value is None else numpy.array(value) for value in sample.inputs]
    random = numpy.random.default_rng(1)
    weights = tuple(
        random.uniform(-1, 1, result.shape) if result.dtype.kind == "f" else numpy.zeros(result.shape) for result in results
    )
    gradients = sample.operator.backward(weights, inputs, results)
    if len(gradients) != len(inputs):
        yield f"backward gives {len(gradients)} gradients for {len(inputs)} inputs"
        return
    for index, (value, gradient) in enumerate(zip(inputs, gradients)):
        if value is None or value.dtype.kind != "f":
            if gradient is not None:
                yield f"backward gives a gradient for input {index}, which has none"
            continue
        given = numpy.zeros(value.shape) if gradient is None else numpy.asarray(gradient)
        wanted = numpy.reshape(list(_differences(sample.operator, inputs, index, weights)), value.shape)
        if given.shape != value.shape:
            yield f"the gradient of input {index} has the dims {list(given.shape)}, wants {list(value.shape)}"
        elif not numpy.allclose(given, wanted, RELATIVE, ABSOLUTE):
            worst = int(numpy.abs(given - wanted).argmax())
            yield (
                f"the gradient of input {index} is {given.reshape(-1)[worst]:.6g} at element {worst}, "
                f"numerically {wanted.reshape(-1)[worst]:.6g}"
            )


def _differences(
    operator: Operator, inputs: list[numpy.ndarray | None], index: int, weights: Sequence[numpy.ndarray]
) -> Iterator[float]:
    """Returns the numeric derivative of sum(g * y) by each element of one input."""

    def weighted(value: numpy.ndarray) -> float:
        results = as_tuple(operator.forward(*inputs[:index], value, *inputs[index + 1 :]))
        return sum(float((weight * result).sum()) for weight, result in zip(weights, results) if result.dtype.kind == "f")

    for place in numpy.ndindex(inputs[index].shape):
        above, below = inputs[index].copy(), inputs[index].copy()
        above[place] += STEP
        below[place] -= STEP
        yield (weighted(above) - weighted(below)) / (above[place] - below[place])
