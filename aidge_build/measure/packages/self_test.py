# SPDX-License-Identifier: MIT
"""N_self_test.c: a few inferences with results computed by numpy, so that a board says whether it computes the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.measure.packages.seeded import INCREMENT, MULTIPLIER, SEED, expression, seeded_vectors
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.program import Program
from aidge_build.run.verify.compare import FLOAT_TOLERANCE
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import Vectors, model_inputs

MOST_VECTORS = 4
MOST_BYTES = 8192  # of stored numbers, unless one vector alone has more


@dataclass(frozen=True)
class Side:
    """An input or output of the self-test. `drawn` is the C expression of an element if C makes the inputs; else `lines` are the
    stored numbers of all vectors. Floats may be `largest` (one per vector) times the tolerance away."""

    variable: str
    c_type: str
    elements: int
    lines: tuple[str, ...] = ()
    drawn: str = ""
    largest: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelfTest:
    """The values of the template: `count` vectors, `values` numbers that are compared. `needs_math`: NAN and INFINITY are among
    them."""

    count: int
    values: int
    inputs: tuple[Side, ...]
    outputs: tuple[Side, ...]
    needs_math: bool
    multiplier: int = MULTIPLIER
    increment: int = INCREMENT
    seed: int = SEED
    tolerance: str = repr(FLOAT_TOLERANCE)


def self_test_of(program: Program, arrays: Mapping[str, numpy.ndarray] | None) -> SelfTest:
    """Returns the self-test with the first vectors of `arrays` (x, or x_<input>), or with seeded ones that C makes by itself;
    AidgeError (VECTORS) if the numpy backend cannot compute the seeded ones."""
    view = program.view
    given = [view.tensor(name) for name in view.given]
    handed_out = [view.tensor(name) for name in view.handed_out]
    if arrays is None:
        count = _count(sum(tensor.size_bytes for tensor in handed_out), MOST_VECTORS)
        vectors = seeded_vectors(given, count)
    else:
        all_vectors = model_inputs(arrays, view)
        there = len(next(iter(all_vectors.values())))
        count = _count(sum(tensor.size_bytes for tensor in (*given, *handed_out)), min(there, MOST_VECTORS))
        vectors = {name: values[:count] for name, values in all_vectors.items()}
    wanted = _computed(program, vectors, arrays is None)
    inputs = [
        _drawn(index, tensor) if arrays is None else _stored("input", index, tensor, vectors[tensor.name])
        for index, tensor in enumerate(given)
    ]
    outputs = [_stored("output", index, tensor, wanted[tensor.name]) for index, tensor in enumerate(handed_out)]
    texts = [line for side in (*inputs, *outputs) for line in side.lines]
    return SelfTest(
        count=count,
        values=count * sum(side.elements for side in outputs),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        needs_math=any("NAN" in text or "INFINITY" in text for text in texts),
    )


def _count(bytes_of_vector: int, most: int) -> int:
    return max(1, min(most, MOST_BYTES // max(1, bytes_of_vector)))


def _computed(program: Program, vectors: Vectors, seeded: bool) -> Vectors:
    try:
        return run_as_kernels(program, vectors)
    except (AidgeError, IndexError, ValueError, OverflowError, FloatingPointError) as error:
        if not seeded:
            raise
        raise AidgeError(
            f"the numpy backend cannot compute the self-test's seeded inputs: {error}",
            code="VECTORS",
            hint="--io-data F.npz names inputs that the model is for",
        ) from error


def _drawn(index: int, tensor: Tensor) -> Side:
    return Side(f"input_{index}", tensor.dtype.c_type, max(1, tensor.elements), drawn=expression(tensor))


def _stored(word: str, index: int, tensor: Tensor, values: numpy.ndarray) -> Side:
    rows = [tensor.to_stored(numpy.asarray(one, tensor.dtype.numpy)).reshape(-1) for one in values]
    largest: tuple[str, ...] = ()
    if tensor.dtype in (DType.float32, DType.float64) and word == "output":
        finite = [row[numpy.isfinite(row)] for row in rows]
        largest = tuple(repr(float(numpy.abs(row).max(initial=numpy.finfo(numpy.float32).tiny))) for row in finite)
    lines = Array("", numpy.concatenate(rows), "").lines()
    return Side(f"{word}_{index}", tensor.dtype.c_type, max(1, tensor.elements), tuple(lines), largest=largest)
