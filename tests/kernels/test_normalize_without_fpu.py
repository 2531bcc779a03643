# SPDX-License-Identifier: MIT
"""float32 normalization of rows in integers, for cores without an FPU: as near to the numpy meaning as float32, on this machine
and on a core without long products."""

from __future__ import annotations

import dataclasses
import os

import harness
import helium_harness
import numpy
import pytest
from random_tensors import Randomness

from aidge_build.graph.tensor import constant
from aidge_build.operators.normalize import LayerNormalization, RMSNormalization

STRESS = "AIDGE_STRESS" in os.environ
ERROR = 1e-6  # of what a value is made of
DIMS = ((4, 8), (3, 64), (2, 3, 33), (5, 130), (2, 1000), (1, 4096), (3, 5, 2, 12))


class NarrowCase(helium_harness.Case):
    library_name, features = "ref", frozenset({"narrow"})


def normalization(made, seed: int, values: numpy.ndarray | None = None, epsilon: float = 1e-5):
    """Rows of all sizes and distances from 0, of one value, of zeros; parameters of all sizes."""
    random = Randomness(seed)
    dims = DIMS[seed % len(DIMS)]
    axis = 2 if len(dims) == 4 else len(dims) - 1
    if values is None:
        sizes, offsets = (random.choice(1e-8, 1e-3, 1.0, 70.0, 1e12) for _ in range(2))
        values = (sizes * random.float32(*dims) + offsets * random.integer(0, 1)).astype(numpy.float32)
        values[0] = (values[0], values[0, ..., :1], 0 * values[0])[seed % 3]
    kind = RMSNormalization if seed % 4 == 3 else LayerNormalization
    parameters = [random.choice(1e-3, 1.0, 900.0) * random.float32(*dims[axis:]) for _ in range(2)]
    parameters[1] = parameters[1] * (seed % 5 != 4)
    names = "s" if kind is RMSNormalization or seed % 7 == 6 else "sb"
    tensors = [constant(name, given.astype(numpy.float32)) for name, given in zip(names, parameters)]
    return made(kind(axis, epsilon), [Randomness(0).real(*dims), *tensors], [values])


def furthest(entry, found: numpy.ndarray) -> float:
    """The largest error, in parts of what float32 can be blamed for: the rounding of a value before its mean is taken away."""
    operator, (data, scale, *bias) = entry.view.operator, [numpy.float64(value) for value in entry.values]
    axes = tuple(range(operator.axis, data.ndim))
    is_centred = isinstance(operator, LayerNormalization)
    centred = data - (data.mean(axes, keepdims=True) if is_centred else 0)
    inverse = 1 / numpy.sqrt(numpy.square(centred).mean(axes, keepdims=True) + operator.epsilon)
    wanted = centred * inverse * scale + (bias[0] if bias else 0)
    normal = numpy.maximum(
        abs(centred * inverse).max(axes, keepdims=True), 1
    )  # smaller only where epsilon is most of the variance
    size = (abs(data).max(axes, keepdims=True) * inverse + normal) * abs(scale).max()
    size = size + (abs(bias[0]).max() if bias else 0) + 1e-30
    return float((abs(found - wanted) / size).max())


@pytest.mark.parametrize("flags", [(), ("-O2", "-fsanitize=undefined", "-fno-sanitize-recover")], ids=str)
def test_rows_are_normalized_as_nearly_as_in_float32(flags):
    cases = [normalization(harness.case, seed) for seed in range(63 if STRESS else 21)]
    assert {entry.kernel.name for entry in cases} == {"normalize_fixed"}
    found = harness.run(cases, *flags)
    assert max(furthest(entry, result) for entry, (result,) in zip(cases, found, strict=True)) < ERROR


@helium_harness.needs_emulator
def test_cores_without_long_products_are_as_near():
    def made(*given) -> NarrowCase:
        entry = harness.case(*given)
        return NarrowCase(entry.view, entry.values)

    cases = []
    for seed in range(14):
        random = Randomness(seed)
        values = 5 * random.float32(*DIMS[seed % len(DIMS)]) + random.integer(-3, 3)
        cases.append(normalization(made, seed, values.astype(numpy.float32)))
    assert helium_harness.run(cases, board="rp2040") == []


def test_rows_with_infinite_or_enormous_values_are_normalized_in_float32():
    values = numpy.array([[1e30], [1e-30], [numpy.inf], [2.0]]) * numpy.arange(1, 9)
    entry = normalization(harness.case, 0, values.astype(numpy.float32))
    (found,) = harness.run([entry])[0]
    assert numpy.isnan(found[2]).all() and numpy.isfinite(found[[0, 1, 3]]).all()
    assert furthest(harness.Case(entry.view, (entry.values[0][1:2], *entry.values[1:])), found[1:2]) < ERROR


def test_what_integers_do_not_hold_is_left_to_float32():
    entry = normalization(harness.case, 0)
    (kernel,) = [each for each in harness.library().kernels_for("LayerNormalization", ()) if each.name == "normalize_fixed"]

    def refused(**changes) -> str:
        return kernel.spec.rejection(dataclasses.replace(entry.view, **changes), frozenset(), "onnx")

    operator, (data, scale, *bias) = entry.view.operator, entry.view.inputs
    assert refused() == ""
    assert "the core has an FPU" in refused(features=frozenset({"fpu"}))
    assert "--optimize size" in refused(objective="size")
    assert "epsilon is 0" in refused(
        node=dataclasses.replace(entry.view.node, operator=dataclasses.replace(operator, epsilon=0.0))
    )
    tiny = constant("s", numpy.full(scale.dims, 1e-30, numpy.float32))
    assert "very small" in refused(inputs=(data, tiny, *bias))
    broken = constant("s", numpy.full(scale.dims, numpy.nan, numpy.float32))
    assert "not finite" in refused(inputs=(data, broken, *bias))
