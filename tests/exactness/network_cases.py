# SPDX-License-Identifier: MIT
"""150 inputs of our own for each int8 network of MLPerf Tiny: its stored vectors perturbed, random ones, adversarial ones."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache

import numpy

from aidge_build.contract.reference.execution import prepare
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.shared import int8_model, vectors

COUNT = 50  # of each kind
PERTURBATION = 8  # levels at most


def perturbed(random: numpy.random.RandomState, stored: numpy.ndarray, number: int) -> numpy.ndarray:
    """A stored vector, each value up to `PERTURBATION` levels off."""
    return stored.astype(int) + random.randint(-PERTURBATION, PERTURBATION + 1, stored.shape)


def full_range(random: numpy.random.RandomState, stored: numpy.ndarray, number: int) -> numpy.ndarray:
    """Any int8 values."""
    return random.randint(-128, 128, stored.shape)


def adversarial(random: numpy.random.RandomState, stored: numpy.ndarray, number: int) -> numpy.ndarray:
    """In turn: one value everywhere, only extremes, a comb of extremes, a ramp, a stored vector far too loud."""
    places = numpy.arange(stored.size).reshape(stored.shape)
    match number % 5:
        case 0:
            return numpy.full(stored.shape, random.randint(-128, 128))
        case 1:
            return numpy.where(random.randint(0, 2, stored.shape) == 1, 127, -128)
        case 2:
            return numpy.where(places % random.randint(2, 9) == 0, 127, -128)
        case 3:
            return places * 255 // max(1, stored.size - 1) - 128
        case _:
            return stored.astype(int) * random.randint(2, 9)


KINDS: dict[str, Callable] = {"perturbed": perturbed, "random": full_range, "adversarial": adversarial}


@cache
def inputs(model: str, kind: str) -> tuple[numpy.ndarray, ...]:
    """The `COUNT` inputs of this kind, in the dims of the stored vectors."""
    random = numpy.random.RandomState(zlib.crc32(f"{model} {kind}".encode()))
    stored = numpy.load(vectors(model))["x"]
    return tuple(
        numpy.clip(KINDS[kind](random, stored[number % len(stored)], number), -128, 127).astype(numpy.int8)
        for number in range(COUNT)
    )


def run_of(model: str) -> Callable[[numpy.ndarray], numpy.ndarray]:
    """The network in the numpy backend: its output in one row."""
    path = int8_model(model)
    view = simplify(import_onnx(path.read_bytes(), path.name, builtin_operators(), {}, {})[0])
    execution, (source,), (result,) = prepare(view), view.inputs, view.outputs
    dims = view.tensor(source).dims
    return lambda x: execution.forward(execution.context({}), {source: x.reshape(dims)})[result].reshape(-1)
